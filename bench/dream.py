"""How long a dream takes part by part, what it takes for the same, and what a kill costs it.

    python -m bench.dream [--nodes N ...] [--kill]

The store is made of sentences of chance, three of four in English, fifty to a subject; a fifth of
the notes say what another one says. They are stored without links, so that the dream finds and
writes every one. Each dream is the real command in a process of its own, of
which the peak memory is that process's alone. `--kill` ends one in the midst of each part, and
compares what the next one leaves with what an uninterrupted one left.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

from bench.report import machine
from ringwood.embed.hashing import HashingEmbedder
from ringwood.embed.meaning import Meaning
from ringwood.engine.sqlite import open_engine
from ringwood.memory import Memory
from ringwood.types import TIERS
from ringwood.upkeep.dreaming.sameness import near_key
from ringwood.write.draft import Draft, Intake
from ringwood.write.embedding import embedded_texts, text_digest
from ringwood.write.ingest import ingest

PAIRS = Path(__file__).resolve().parents[1] / "tests" / "upkeep" / "pairs"
NODES_OF_A_NOTE = 2
NOTES_OF_A_SUBJECT = 50
NOW = datetime(2026, 11, 1, tzinfo=UTC)
KILLED_AT = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Shares of an uninterrupted dream after which one is killed."""
_BATCH = 250


def main() -> None:
    """Measure what the arguments name."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--nodes", type=int, nargs="*", default=[10_000])
    parser.add_argument("--kill", action="store_true")
    given = parser.parse_args()
    pairs()
    for nodes in given.nodes:
        print(machine(), flush=True)
        with tempfile.TemporaryDirectory() as folder:
            run(Path(folder), nodes, kill=given.kill)


def pairs() -> None:
    """Say how many of the pairs are taken for the same."""
    for name, prefix, half in (
        ("tuned", "", slice(0, None, 2)),
        ("held out", "", slice(1, None, 2)),
        ("later", "later_", slice(None)),
    ):
        found = []
        for kind in ("same", "other"):
            lines = (PAIRS / f"{prefix}{kind}.txt").read_text("utf-8").rstrip("\n").split("\n")
            texts = [line.replace("\\n", "\n").split("|") for line in lines[half]]
            merged = sum(near_key(one) == near_key(other) for one, other in texts)
            found.append(f"{merged} of {len(texts)} that are {kind}")
        print(f"pairs, {name}: merged {', '.join(found)}")


def run(folder: Path, nodes: int, *, kill: bool) -> None:
    """Fill a home, dream twice and take the first dream back; kill others in copies of it."""
    home = folder / "home"
    fill(home, list(notes(nodes // NODES_OF_A_NOTE)))
    if kill:
        shutil.copytree(home, folder / "filled")
    first = dream(home, "first dream")
    again = dream(home, "second dream")
    assert (again["merged"], again["added"], again["removed"]) == (0, 0, 0)
    if kill:
        for share in KILLED_AT:
            shutil.copytree(folder / "filled", folder / "killed")
            resumed(folder / "killed", share, first)
            shutil.rmtree(folder / "killed")
    with Memory.open(home) as memory:
        [kept] = memory.dreams()
        size = sum(memory.stats().tiers[tier]["bytes"] for tier in TIERS)
        begun = perf_counter()
        undone = memory.undo()
        print(
            f"{nodes} nodes, undo: {perf_counter() - begun:.1f} s, {undone.restored} restored,"
            f" {undone.edges} edges put back or taken away; the journal took"
            f" {kept.bytes / 1e6:.1f} MB beside {size / 1e6:.0f} MB",
            flush=True,
        )


def notes(count: int) -> Iterator[Draft]:
    """Make notes, the same ones for the same count; the last fifth says what the first ones say."""
    chance = random.Random(7)
    subjects = [_vocabulary(chance) for _ in range(max(1, count // NOTES_OF_A_SUBJECT))]
    said = []
    for number in range(count * 4 // 5):
        latin, han = chance.choice(subjects)
        if number % 4 == 3:
            said.append("，".join("".join(chance.choices(han, k=8)) for _ in range(4)))
        else:
            said.append(" ".join(chance.choices(latin, k=14)))
    for number, text in enumerate(said):
        yield Draft(f"{text} {number}.", "global", "person", source=f"note {number}")
    for number in range(count - len(said)):
        text = said[number]
        again = f"请{text} {number}！" if number % 4 == 3 else f"The {text} {number}!"
        yield Draft(again, "global", "person", source=f"again {number}")


def _vocabulary(chance: random.Random) -> tuple[list[str], str]:
    """Choose the words of a subject, Latin and Han, of as many as a language has."""
    latin = ["".join(chance.choices("abcdefghiklmnoprstuvw", k=6)) for _ in range(30)]
    return latin, "".join(chr(chance.randrange(0x4E00, 0x9000)) for _ in range(40))


def fill(home: Path, drafts: Sequence[Draft]) -> None:
    """Store notes with their vectors, without links and without a mirror."""
    home.mkdir()
    (home / "config.toml").write_text("[mirror]\nenabled = false\n")
    with Memory.open(home, embedder="hashing") as memory:
        memory.store("It makes the home.", at=NOW)
    engine = open_engine(home, create=False)
    embedder = HashingEmbedder()
    identity = Meaning.of(embedder).identity
    for start in range(0, len(drafts), _BATCH):
        stored = ingest(engine, drafts[start : start + _BATCH], Intake(NOW, "pending"))
        with engine.writing() as writer, engine.reading() as reader:
            cards = reader.documents(each.document for each in stored if each.document is not None)
            for card in cards.values():
                texts = embedded_texts(reader.nodes_of(card.id))
                rows = dict(zip(texts, embedder.embed_passages(list(texts.values())), strict=True))
                digests = {node: text_digest(text) for node, text in texts.items()}
                writer.put_vectors(card.id, card.sha256, identity, rows, digests, ())
    engine.close()


def dream(home: Path, name: str) -> dict[str, Any]:
    """Dream by the real command, and print what it came to."""
    begun = perf_counter()
    with subprocess.Popen(_line(home), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        told: dict[str, Any] = json.loads(process.stdout.read())
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = perf_counter() - begun
    parts = ", ".join(f"{part} {took:.1f}" for part, took in told["timings_s"].items())
    print(
        f"{name}: {seconds:.1f} s ({parts}), {told['nodes']} nodes compared,"
        f" {told['nodes'] / seconds:.0f} a second, {told['merged']} merged,"
        f" {told['edges_before']} edges before and {told['edges_after']} after,"
        f" peak memory {used.ru_maxrss / 1000:.0f} MB",
        flush=True,
    )
    return told | {"took_s": seconds}


def resumed(home: Path, share: float, whole: dict[str, Any]) -> None:
    """Kill a dream, dream again, and say whether both together came to what one whole did."""
    with subprocess.Popen(_line(home), stdout=subprocess.DEVNULL) as process:
        sleep(whole["took_s"] * share)
        process.kill()
    told = dream(home, f"killed after {share:.0%}, next dream")
    assert told["edges_after"] == whole["edges_after"]
    assert told["nodes"] in (0, whole["nodes"])  # none: it was done before it was killed
    print(f"  {whole['merged'] - told['merged']} of {whole['merged']} merges outlived the kill")


def _line(home: Path) -> list[str]:
    return [
        *(sys.executable, "-m", "ringwood", "dream", "--all", "--no-wait"),
        *("--home", str(home), "--json", "--quiet"),
    ]


if __name__ == "__main__":
    main()
