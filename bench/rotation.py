"""Rotation and compaction: seconds, bytes and peak memory for a home of many nodes.

    python -m bench.rotation [--nodes 100000]

Notes of ten nodes each and of all ages up to a year are stored, with vectors of the hashing
embedder and a similar edge a node, drawn by lot: finding those one by one is not what is measured
here. So most nodes lack edges when they are moved, as in real notes. Then the home is rotated and
compacted by the real command, each time in a process of its own. Beside it stands a home in which
only those notes were stored that stay hot.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter
from typing import Any

from bench.report import machine
from ringwood.embed.hashing import HashingEmbedder
from ringwood.engine.sqlite import open_engine
from ringwood.memory import Memory
from ringwood.types import SIMILAR, Edge
from ringwood.write.draft import Draft, Intake
from ringwood.write.embedding import embedded_texts, text_digest
from ringwood.write.ingest import ingest

NODES_OF_A_NOTE = 10
OLDEST_DAYS = 360
NOW = datetime.now(UTC)
HOT_SINCE = NOW - timedelta(days=30)
BATCH = 200
FILES = {"hot": "memory.db", "warm": "memory-warm.db", "cold": "memory-cold.db"}


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=100_000)
    given = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder), given.nodes // NODES_OF_A_NOTE)


def run(folder: Path, count: int) -> None:
    """Fill a home, rotate and compact it, and fill another with what stayed hot."""
    home = folder / "home"
    fill(home, list(notes(count)))
    print("| step | hot | warm | cold | seconds | peak memory |")
    print("|------|----:|-----:|-----:|--------:|------------:|")
    tell("filled", home)
    for step in ("compact", "rotate", "compact", "rotate"):
        seconds, peak = command(step, home)
        tell(step, home, seconds, peak)
    fill(folder / "fresh", [note for note in notes(count) if is_young(note)])
    command("compact", folder / "fresh")
    tell("only what stayed hot, in a home of its own, compacted", folder / "fresh")
    with Memory.open(home) as memory:
        tiers = memory.stats().totals.tiers
    print(", ".join(f"{tier}: {each.nodes:,} nodes" for tier, each in tiers.items()))


def notes(count: int) -> Iterator[Draft]:
    """Make notes of ten nodes, oldest first; the same ones for the same count."""
    chance = random.Random(7)
    words = [f"{a}{b}{c}" for a in "bdfgklmn" for b in "aeiou" for c in ("lt", "rn", "sk", "mp")]
    for number in range(count):
        parts = [
            f"Entry {number} {part}: " + " ".join(chance.choices(words, k=24)) + "."
            for part in range(NODES_OF_A_NOTE - 1)
        ]
        yield Draft(
            text=f"# Note {number}\n\n" + "\n\n".join(parts) + "\n",
            space="global",
            actor="person",
            source=f"note {number}",
            created_at=NOW - timedelta(days=OLDEST_DAYS * (1 - (number + 0.5) / count)),
        )


def is_young(note: Draft) -> bool:
    """Say whether a note stays hot."""
    return note.created_at is not None and note.created_at >= HOT_SINCE


def fill(home: Path, drafts: Sequence[Draft]) -> None:
    """Store notes with their vectors, and with edges to nodes before them."""
    with Memory.open(home, embedder="hashing") as memory:
        memory.store("# First\n\nIt makes the home.", at=NOW)
    engine = open_engine(home, create=False)
    embedder = HashingEmbedder()
    chance = random.Random(8)
    before: list[int] = []
    for start in range(0, len(drafts), BATCH):
        batch = ingest(engine, drafts[start : start + BATCH], Intake(NOW, "pending"))
        for each in batch:
            assert each.document is not None
            with engine.reading() as reader:
                card = reader.documents([each.document])[each.document]
                texts = embedded_texts(reader.nodes_of(card.id))
            rows = dict(zip(texts, embedder.embed_passages(list(texts.values())), strict=True))
            digests = {node: text_digest(text) for node, text in texts.items()}
            edges = [Edge(chance.choice(before), node, SIMILAR, 0.8) for node in texts if before]
            with engine.writing() as writer:
                writer.put_vectors(card.id, card.sha256, embedder.identity, rows, digests, edges)
            before += texts
    engine.close()


def command(name: str, home: Path) -> tuple[float, int]:
    """Run a command; return its seconds, and the peak memory in bytes of all until now."""
    line = [sys.executable, "-m", "ringwood", name, "--home", str(home), "--json", "--quiet"]
    begun = perf_counter()
    done = subprocess.run(line, stdout=subprocess.PIPE, check=True)
    seconds = perf_counter() - begun
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    answer: dict[str, Any] = json.loads(done.stdout)
    for note in answer["notes"]:
        print(f"{name}: {note}", file=sys.stderr)
    if "edges" in answer:
        print(f"{name}: {answer['moved']}, {answer['edges']} edges found", file=sys.stderr)
    return seconds, peak


def tell(step: str, home: Path, seconds: float = 0.0, peak: int = 0) -> None:
    """Print a row of the table."""
    sizes = [
        sum(file.stat().st_size for file in home.glob(f"{name}*")) / 1e6 for name in FILES.values()
    ]
    columns = [f"{size:,.1f} MB" for size in sizes]
    columns += [f"{seconds:.1f}" if seconds else "", f"{peak / 1e6:,.0f} MB" if peak else ""]
    print(f"| {step} | " + " | ".join(columns) + " |", flush=True)


if __name__ == "__main__":
    main()
