"""The floor: how many answerable questions keep their answer, how many others get nothing.

    python -m bench.floor [FILE...] [--embedder words|bundled] [--paragraphs 120] [--questions 150]

The first paragraphs of a SQuAD-shaped set are stored through the real path. Asked are questions
that they answer, and as many whose paragraphs were left out. Printed is, for each floor, the share
of the first that keep their paragraph and the share of the second that get nothing.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.report import SHARED, machine
from bench.words import Question, load
from ringwood.memory import Memory
from ringwood.recall.budget import Budget

FLOORS = [round(0.05 * step, 2) for step in range(3, 15)]
WIDE = Budget(max_nodes=50, max_chars=1_000_000, max_node_chars=100)
GAP = 30
"""Paragraphs left out between stored and asked-about ones: neighbours share their article."""


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    default = [SHARED / "retrieval" / f"xquad_{each}.dev.json" for each in ("en", "zh")]
    parser.add_argument("files", nargs="*", type=Path, default=default)
    parser.add_argument("--embedder", default="words")
    parser.add_argument("--paragraphs", type=int, default=120)
    parser.add_argument("--questions", type=int, default=150)
    given = parser.parse_args()
    print(f"{machine()}; embedder {given.embedder}")
    print("| set | | " + " | ".join(f"{floor:.2f}" for floor in FLOORS) + " |")
    print("|---|---|" + "---|" * len(FLOORS))
    for file in given.files:
        paragraphs, questions = load(file)
        stored, limit = given.paragraphs, given.questions
        answered = [each for each in questions if each.paragraph < stored][:limit]
        strange = [each for each in questions if each.paragraph >= stored + GAP][:limit]
        with tempfile.TemporaryDirectory() as home:
            kept, empty = _run(home, paragraphs[:stored], answered, strange, given.embedder)
        name = file.name.removesuffix(".json")
        kept_from = [sum(value >= floor for value in kept) / len(kept) for floor in FLOORS]
        empty_from = [sum(value < floor for value in empty) / len(empty) for floor in FLOORS]
        for label, shares in (("answer kept", kept_from), ("nothing found", empty_from)):
            print(f"| {name} | {label} | " + " | ".join(f"{share:.2f}" for share in shares) + " |")


def _run(
    home: str,
    paragraphs: Sequence[str],
    answered: Sequence[Question],
    strange: Sequence[Question],
    embedder: str,
) -> tuple[list[float], list[float]]:
    """Return the evidence of each right answer, and the best evidence of each strange question."""
    with Memory.open(home, "set", embedder, wait_s=0.0) as memory:
        for number, text in enumerate(paragraphs):
            memory.store(text, source=str(number))
        memory.wait(3600.0)
        sources = {str(each.id): each.source for each in memory.recent(limit=1_000_000)}

        def best(question: Question, wanted: str | None) -> float:
            hits = memory.recall(question.text, budget=WIDE, floor=0.0, counted=False).hits
            return max(
                (
                    hit.signals.evidence
                    for hit in hits
                    if wanted is None or sources[hit.document] == wanted
                ),
                default=0.0,
            )

        kept = [best(each, str(each.paragraph)) for each in answered]
        empty = [best(each, None) for each in strange]
    return kept, empty


if __name__ == "__main__":
    main()
