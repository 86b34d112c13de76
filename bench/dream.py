"""How long a dream takes, and what it takes for the same.

python -m bench.dream [--nodes N ...] [--large N]

The store is made of sentences of chance: a fifth of its notes say what another one says. `--large`
measures the comparison alone, which is the part that grows with the square, on rows of chance.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

from bench.report import machine
from ringwood.embed.base import Anchors
from ringwood.memory import Memory
from ringwood.types import TIERS
from ringwood.upkeep.dreaming.pairs import nearest_pairs
from ringwood.upkeep.dreaming.sameness import near_key
from ringwood.write.draft import Draft, Intake
from ringwood.write.ingest import ingest
from ringwood.write.link import LinkOptions

PAIRS = Path(__file__).resolve().parents[1] / "tests" / "upkeep" / "pairs"
WORDS = 4000
"""Words that sentences are made of: as few as a project has."""
DIM = 256
"""Columns of the rows of chance: those of the hashing embedder."""
_BATCH = 500


def main() -> None:
    """Measure what the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="*", default=[10_000])
    parser.add_argument("--large", type=int, default=0)
    given = parser.parse_args()
    print(machine())
    _pairs()
    for nodes in given.nodes:
        _dream(nodes)
    if given.large:
        _compare(given.large)


def _pairs() -> None:
    for half, name in enumerate(("tuned", "held out")):
        found = []
        for kind in ("same", "other"):
            lines = (PAIRS / f"{kind}.txt").read_text("utf-8").rstrip("\n").split("\n")[half::2]
            pairs = [line.replace("\\n", "\n").split("|") for line in lines]
            merged = sum(near_key(one) == near_key(other) for one, other in pairs)
            found.append(f"{merged} of {len(pairs)} that are {kind}")
        print(f"pairs, {name}: merged {', '.join(found)}")


def _dream(nodes: int) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory.open(Path(folder) / "home", embedder="hashing") as memory,
    ):
        _fill(memory, nodes // 2)
        memory.wait(3600)
        for run in ("first", "second"):
            begun = perf_counter()
            done = memory.dream(everything=True)
            print(
                f"{nodes} nodes, {run} dream: {perf_counter() - begun:.1f} s,"
                f" {done.merged} merged, {done.added} edges added, {done.removed} removed"
            )
        [kept] = memory.dreams()
        begun = perf_counter()
        undone = memory.undo()
        size = sum(memory.stats().tiers[tier]["bytes"] for tier in TIERS)
        print(
            f"{nodes} nodes, undo: {perf_counter() - begun:.1f} s, {undone.restored} restored;"
            f" the journal took {kept.bytes / 1e6:.2f} MB beside {size / 1e6:.1f} MB"
        )


def _fill(memory: Memory, notes: int) -> None:
    chance = random.Random(7)
    words = ["".join(chance.choices("abcdefghiklmnoprstuvw", k=6)) for _ in range(WORDS)]
    said = [" ".join(chance.choices(words, k=14)) for _ in range(notes * 4 // 5)]
    said += [f"The {text}!" for text in said[: notes - len(said)]]
    memory.store("to begin with")
    engine, now = memory._opened.engine(), memory.recent()[0].created_at
    for start in range(0, len(said), _BATCH):
        drafts = [
            Draft(text, "global", "person", source=f"{start + number}")
            for number, text in enumerate(said[start : start + _BATCH])
        ]
        ingest(engine, drafts, Intake(now))
    memory.store("to end with")


def _compare(nodes: int) -> None:
    rows = np.random.default_rng(7).standard_normal((nodes, DIM)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    begun = perf_counter()
    anchors = Anchors(0.0, 0.4, 0.8)
    found = nearest_pairs(rows, np.arange(nodes), anchors, LinkOptions())
    seconds = perf_counter() - begun
    print(f"{nodes} nodes, comparison alone: {seconds:.0f} s, {len(found)} pairs")


if __name__ == "__main__":
    main()
