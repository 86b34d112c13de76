"""A wall clock that is set, under real processes: nothing is lost, moved, disordered or stopped.

Each process has a wall clock of its own, which stands before the system's and can be set while it
runs; the monotonic clock is the system's. `tests/upkeep/test_clock.py` has the rule by itself.
"""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ringwood.memory import Memory

ROOT = Path(__file__).resolve().parents[2]

CLOCK = """
import datetime, json, sys, time
real, days = time.time, [0.0]

class Wall(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(time.time(), tz)

datetime.datetime = Wall
time.time = lambda: real() + 86_400 * days[0]
time.time_ns = lambda: int(1e9 * time.time())

from ringwood.memory import Memory
home, *words = sys.argv[1:]
"""
"""Begins a process whose wall clock is `days[0]` days ahead of the system's."""

CONVERSE = """
from tests.cases.speaking import say
for turn in range(3):
    for kind, set_to in (("person", 0.0), ("assistant", float(words[0]))):
        days[0] = set_to
        say(home, kind, f"Turn {turn} of the {kind}.", session="pots")
"""
ASK = """
days[0] = float(words[0])
with Memory.open(home, embedder="hashing") as memory:
    hits = memory.recall("pump").hits
    ages = [(Wall.now(datetime.timezone.utc) - hit.created_at).total_seconds() for hit in hits]
    print(json.dumps([[hit.signals.recency, hit.score, age] for hit, age in zip(hits, ages)]))
"""
ROTATE = """
with Memory.open(home, embedder="words") as memory:
    told = []
    for word in words:
        days[0] = float(word)
        done, stats = memory.rotate(), memory.stats()
        doubted = stats.clock_doubted_at is not None
        told.append([sum(done.moved.values()), done.waiting, list(done.notes), doubted])
print(json.dumps(told))
"""
KEEP = """
from ringwood.upkeep.schedule import Job, Schedule, UpkeepOptions
runs = []
with Memory.open(home, embedder="words") as memory:
    memory.create()
    options = UpkeepOptions(start_delay_s=0.05)
    jobs = [Job("shared", 0.2, lambda stopping: runs.append(1)),
            Job("own", 0.2, lambda stopping: runs.append(2), shared=False)]
    schedule = Schedule(home, memory._opened.engine, jobs, options)
    schedule.start()
    told = []
    for word in words:
        days[0] = float(word)
        runs.clear()
        begun = time.monotonic()
        while min(runs.count(1), runs.count(2)) < 2 and time.monotonic() < begun + 30:
            time.sleep(0.02)
        took_s = time.monotonic() - begun
        told.append([runs.count(1), runs.count(2), took_s])
    schedule.stop()
    schedule.join(30.0)
print(json.dumps(told))
"""


def run(code: str, home: Path, *words: str) -> Any:  # noqa: ANN401 - what JSON says
    """Run a process with a clock of its own; return what it says."""
    done = subprocess.run(
        [sys.executable, "-c", CLOCK + code, str(home), *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout or "null")


@pytest.fixture
def aged(tmp_path: Path) -> Path:
    """A home in use, with sixty notes of the last days."""
    home = tmp_path / "home"
    with Memory.open(home, embedder="words") as memory:
        for number in range(60):
            at = datetime.now(UTC) - timedelta(days=number / 10)
            memory.store(f"The pump of hall {number}.", at=at)
        memory.rotate()
    return home


@pytest.mark.parametrize("days", [-40, pytest.param(730, marks=pytest.mark.slow)])
def test_turns_keep_their_order_while_the_clock_jumps(tmp_path: Path, days: int) -> None:  # res-09
    home = tmp_path / "home"
    run(CONVERSE, home, str(days))

    with Memory.open(home, embedder="words") as memory:
        memory.take_in(everything=True)
        cards = sorted(memory.recent(), key=lambda card: int(card.id))
        texts = [memory.read(card.path).source for card in cards]

    assert len(texts) == 3
    for turn, text in enumerate(texts):
        asked = text.index(f"Turn {turn} of the person.")
        assert asked < text.index(f"Turn {turn} of the assistant.")
        assert text.count("Turn ") == 2


@pytest.mark.parametrize("days", [-40, pytest.param(40, marks=pytest.mark.slow)])
def test_an_age_is_never_below_zero(tmp_path: Path, days: int) -> None:  # res-09
    home = tmp_path / "home"
    with Memory.open(home, embedder="hashing") as memory:
        memory.store("The pump leaks.")
        memory.store("A pump is mended.")

    told = run(ASK, home, str(days))

    assert len(told) == 2
    for recency, score, age_s in told:
        assert (age_s < 0) == (days < 0)  # the control: by this clock it was written later
        assert (recency == 1.0) if days < 0 else (0.0 < recency < 0.5)
        assert 0.0 < score < 2.0


def test_a_clock_that_went_back_moves_nothing_early(aged: Path) -> None:  # res-09
    [[moved, _, notes, doubted]] = run(ROTATE, aged, "-40")

    assert (moved, doubted) == (0, True)
    assert "was in use on" in notes[0]


def test_a_clock_two_years_ahead_moves_nothing_in_bulk_and_says_so(aged: Path) -> None:  # res-10
    hour = 1.01 / 24
    jumped, again, back, ahead, later = run(ROTATE, aged, "730", "730", "0", "730", f"{730 + hour}")

    for moved, waiting, notes, doubted in (jumped, again, ahead):
        assert (moved, waiting, doubted) == (0, 60, True)
        assert "60 of 60 hot documents became due at once" in notes[0]
    assert back == [0, 0, [], False]
    assert later[0] == 60  # the control: it rotates by a clock that has been so for an hour


@pytest.mark.slow
def test_jobs_come_round_whatever_the_wall_clock_does(tmp_path: Path) -> None:  # res-09, res-10
    """The jobs are due by the wall clock, or by none; waiting is done by the monotonic one."""
    told = run(KEEP, tmp_path / "home", "0", "-40", "0", "730", "-40")

    for shared, own, took_s in told:
        assert shared >= 2, told
        assert own >= 2, told
        assert max(shared, own) <= 4 + took_s / 0.2, "none comes round without a pause"
