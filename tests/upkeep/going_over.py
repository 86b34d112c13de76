"""Processes that the tests of a running home start: one goes over, one asks without a pause.

python -m tests.upkeep.going_over over HOME EMBEDDER
python -m tests.upkeep.going_over ask HOME
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from tests.upkeep.reindexing import QUERIES

from ringwood.embed.hashing import HashingEmbedder
from ringwood.memory import Memory
from ringwood.types import Recall
from ringwood.write.template import SEPARATOR, embedded_text

DIMS = (256, 64)
"""Columns before and after."""
TOLERANCE = 0.012
"""Of a cosine by what 8 bits keep of a row. Those of the two embedders differ by more."""


def by_one_embedder(answer: Recall) -> int:
    """Return the columns of the embedder by which every hit was measured; 0: by neither alone."""
    # Paragraphs, whose texts are whole; one that a hop led to may not have been measured.
    direct = [hit for hit in answer.hits if hit.signals.hop == "direct"]
    hits = [hit for hit in direct if hit.kind == "paragraph"]
    texts = [embedded_text(hit.title_path.split(SEPARATOR), hit.text) for hit in hits]
    found = np.array([hit.signals.cosine_raw for hit in hits], dtype=float)
    for dim in DIMS:
        embedder = HashingEmbedder(dim)
        expected = embedder.embed_passages(texts) @ embedder.embed_query(answer.query)
        if hits and np.allclose(found, expected, atol=TOLERANCE):
            return dim
    return 0


def _over(home: str, embedder: str) -> None:
    with Memory.open(home, wait_s=0.0) as memory:
        memory.stats()
        _say("go")
        memory.reindex(embedder, on_nodes=lambda what, done, total: _say(what))


def _ask(home: str) -> None:
    """Ask until a file says stop; then say how often, by which embedder, and what went wrong."""
    asked = {str(dim): 0 for dim in (0, *DIMS)}
    wrong: list[str] = []
    stop = Path(home) / "stop"
    with Memory.open(home, wait_s=0.0) as memory:
        _say("go")
        while not stop.exists():
            for query in QUERIES:
                answer = memory.recall(query, floor=0.0, counted=False)
                wrong += answer.notes
                if not answer.hits:
                    wrong.append(f"nothing found: {query}")
                asked[str(by_one_embedder(answer))] += 1
    _say(json.dumps({"asked": asked, "wrong": wrong[:5]}))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    if sys.argv[1] == "over":
        _over(*sys.argv[2:])
    else:
        _ask(*sys.argv[2:])
