"""Processes that are killed at any moment, two writers at once among them, and what they leave.

Kills at each call are in `tests/faults`; here chance has its way.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from tests.processes import eventually

from ringwood import home as homes
from ringwood.lease import Lease
from ringwood.memory import Memory

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals")

FILES = ("memory.db", "memory-warm.db", "memory-cold.db")
NURSERY = """
import os, random, signal, sys, time
from pathlib import Path
from ringwood.memory import Memory
home, acknowledged, seed, loops = sys.argv[1:]
chance = random.Random(int(seed))
log = os.open(acknowledged, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600)

def write_on(writer):
    memory = Memory.open(home, embedder="words")
    number = 0
    while True:
        text = f"Writer {writer} counts heron {number}."
        memory.store(text)
        os.write(log, f"{text}\\n".encode())
        number += 1

for loop in range(int(loops)):
    children = []
    for name in "ab":
        child = os.fork()
        if not child:
            write_on(f"{name}{loop}")
        children.append(child)
    time.sleep(chance.uniform(0.02, 0.4))
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    print(loop, flush=True)
    sys.stdin.readline()
"""
"""Lets two writers begin, again and again, and kills both; waits to be told to go on."""

STORE_AND_DIE = """
import os, sys
from ringwood.memory import Memory
memory = Memory.open(sys.argv[1], embedder="hashing", wait_s=0.0)
memory.store("# Pump\\n\\nThe pump leaks.\\n\\nIt is mended on Monday.", source="pump")
os.kill(os.getpid(), 9)
"""


def integrity(home: Path) -> set[str]:
    """Ask SQLite what it thinks of each file, which it opens as the next process would."""
    told = set()
    for name in FILES:
        if (home / name).exists():
            with closing(apsw.Connection(str(home / name))) as connection:
                told.add(str(connection.pragma("integrity_check")))
    return told


def texts_of(home: Path) -> list[str]:
    """Read every text, and let the mirror be brought up to date."""
    with Memory.open(home, embedder="words", wait_s=30.0) as memory:
        memory.recall("heron")
        eventually(lambda: memory.stats().unmirrored == 0, within_s=300.0)
        return sorted(memory.read(card.path).source for card in memory.recent(limit=100_000))


@pytest.mark.parametrize("loops", [8, pytest.param(300, marks=pytest.mark.slow)])
def test_two_writers_are_killed_again_and_again_and_every_text_is_there_also_from_the_mirror_alone(
    tmp_path: Path, loops: int
) -> None:  # CORRUPT 15, dur-01
    home, log = tmp_path / "home", tmp_path / "acknowledged"
    command = [sys.executable, "-c", NURSERY, str(home), str(log), "15", str(loops)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as nursery:
        assert nursery.stdin is not None
        assert nursery.stdout is not None
        for _ in range(loops):
            assert nursery.stdout.readline()
            assert integrity(home) <= {"ok"}
            nursery.stdin.write("\n")
            nursery.stdin.flush()
    acknowledged = log.read_text("utf-8").splitlines()
    assert len(acknowledged) > loops

    kept = texts_of(home)
    assert len(kept) == len(set(kept)) <= len(acknowledged) + 2 * loops  # two were under way
    assert set(acknowledged) <= set(kept)

    lost = random.Random(15).choice(list((home / "mirror").rglob("*.md")))
    [missing] = [text for text in kept if text in lost.read_text("utf-8")]
    lost.unlink()
    for path in home.glob("memory*.db*"):
        path.unlink()
    with Memory.open(home, embedder="words") as memory:
        memory.salvage()
    # The control: what the mirror has no page of does not come back.
    assert texts_of(home) == [text for text in kept if text != missing]


def test_a_document_that_was_pending_at_a_kill_is_embedded_once(tmp_path: Path) -> None:  # dur-10
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    embedding = Lease(home / homes.EMBEDDING_LOCK)
    assert embedding.try_acquire()  # so that its process cannot get as far as that
    died = subprocess.run([sys.executable, "-c", STORE_AND_DIE, str(home)], check=False)
    assert died.returncode == -signal.SIGKILL

    with Memory.open(home, embedder="hashing", wait_s=0.0) as memory:
        before = memory.stats().totals
        assert before.states == {"pending": 1}  # the control: there was something to do
        assert (before.tiers["hot"].nodes, before.tiers["hot"].vectors) == (3, 0)
        nodes = [node.id for node in memory.read("/pump").children]
        embedding.release()
        assert memory.recall("pump").hits  # whoever uses the home next sees to it
        eventually(lambda: memory.stats().totals.states == {"ready": 1})

        after = memory.stats().totals.tiers["hot"]
        assert after.vectors == after.nodes == 3
        assert [node.id for node in memory.read("/pump").children] == nodes
        assert memory.read("/pump").document.error is None
