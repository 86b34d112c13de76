"""Upkeep by the clock, in the processes that stay and after the answers of those that do not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

import pytest
from tests.processes import eventually
from tests.upkeep.aged import text_of

from ringwood.config import set_value
from ringwood.engine.attempts import Attempt
from ringwood.engine.sqlite import open_engine
from ringwood.memory import Memory
from ringwood.types import State
from ringwood.upkeep.lease import holding
from ringwood.write.draft import Draft, Intake
from ringwood.write.ingest import ingest

RINGWOOD = (sys.executable, "-P", "-m", "ringwood")
FRONT_ENDS = {
    "mcp": ("mcp", "--embedder", "hashing"),
    "dsh": ("dsh", "child"),
    "serve": ("serve",),
}
STAYING = ["mcp", *(pytest.param(each, marks=pytest.mark.slow) for each in ("dsh", "serve"))]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home whose timers are quick."""
    place = tmp_path / "home"
    with Memory.open(place, embedder="hashing", wait_s=20.0) as memory:
        memory.store("A note of today.")
    for key, value in (
        ("upkeep.start_delay_s", "0.1"),
        ("upkeep.retry_s", "0.5"),
        ("upkeep.rotate_every_s", "0.5"),
    ):
        set_value(str(place), key, value)
    return place


def fill(
    home: Path, number: int, *, age_days: float, state: State = "ready", first: int = 0
) -> None:
    """Put notes of an age into a home, as a process that ended at once does."""
    now = datetime.now(UTC)
    engine = open_engine(home, create=False)
    ingest(
        engine,
        [
            Draft(
                text=text_of(each),
                space="global",
                actor="person",
                source=f"note {each}",
                created_at=now - timedelta(days=age_days),
            )
            for each in range(first, first + number)
        ],
        Intake(now, state),
    )
    engine.close()


def tiers(home: Path) -> dict[str, int]:
    """Count the documents of each tier."""
    engine = open_engine(home, create=False)
    with engine.reading() as reader:
        found: dict[str, int] = {
            tier: each.documents for tier, each in reader.totals().tiers.items()
        }
    engine.close()
    return found


def states(home: Path) -> dict[str, int]:
    engine = open_engine(home, create=False)
    with engine.reading() as reader:
        found = dict(reader.totals().states)
    engine.close()
    return {state: number for state, number in found.items() if number}


def make_due(home: Path) -> None:
    """Let a rotation be due."""
    engine = open_engine(home, create=False)
    long_ago = datetime.now(UTC) - timedelta(days=1)
    with engine.writing() as writer:
        writer.put_attempts([Attempt("rotate", "", long_ago, long_ago)])
    engine.close()


@contextmanager
def running(home: Path, front_end: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a front end that stays, and end it as its host does."""
    command = [*RINGWOOD, *FRONT_ENDS[front_end], "--home", str(home)]
    pipe = subprocess.PIPE
    own = {name: value for name, value in os.environ.items() if "RINGWOOD" not in name}
    environ = own | {"DSH_HOME": str(home.parent / "dsh")}
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environ) as process:
        try:
            yield process
        finally:
            if front_end == "serve":
                process.send_signal(signal.SIGTERM)
            process.communicate(timeout=30.0)


def ringwood(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RINGWOOD, *arguments, "--home", str(home), "--embedder", "hashing"],
        capture_output=True,
        text=True,
        check=False,
        input="",
    )


@pytest.mark.parametrize("front_end", STAYING)
def test_a_process_that_stays_rotates_and_takes_up_what_others_left(
    front_end: str, home: Path
) -> None:
    fill(home, 3, age_days=60.0)
    with running(home, front_end):
        eventually(lambda: tiers(home)["warm"] == 3)
        fill(home, 3, age_days=0.0, state="pending", first=3)
        eventually(lambda: states(home).keys() == {"ready"})


@pytest.mark.slow
@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_what_is_off_stays_off(front_end: str, home: Path) -> None:
    set_value(str(home), "upkeep.rotate_every_s", "0")
    fill(home, 3, age_days=60.0)
    with running(home, front_end) as process:
        time.sleep(2.5)
        assert process.poll() is None
    assert tiers(home) == {"hot": 4, "warm": 0, "cold": 0}


def test_a_short_command_does_what_is_due_after_its_answer(home: Path) -> None:
    set_value(str(home), "upkeep.rotate_every_s", "3600")
    fill(home, 3, age_days=60.0)
    make_due(home)
    assert ringwood(home, "stats").returncode == 0
    assert tiers(home)["warm"] == 0, "who only looks moves nothing"

    answer = ringwood(home, "recall", "pump", "--space", "global", "--json")
    assert {hit["tier"] for hit in json.loads(answer.stdout)["hits"]} == {"hot"}
    assert tiers(home)["warm"] == 3

    stats = json.loads(ringwood(home, "stats", "--json").stdout)
    due = datetime.fromisoformat(stats["rotation"]["next_at"])
    assert timedelta(minutes=50) < due - datetime.now(UTC) <= timedelta(hours=1)

    set_value(str(home), "upkeep.rotate_every_s", "600")
    with Memory.open(home, embedder="hashing") as memory:
        shortened = memory.stats().rotation
    assert shortened is not None
    assert shortened.next_at - datetime.now(UTC) <= timedelta(minutes=10)
    set_value(str(home), "upkeep.rotate_every_s", "0")
    with Memory.open(home, embedder="hashing") as memory:
        assert memory.stats().rotation is None, "what is off is not due"


HOLD = """
import sys
from pathlib import Path
from ringwood.engine.sqlite import open_engine
engine = open_engine(Path(sys.argv[1]), create=False)
with engine.writing():
    print("go", flush=True)
    sys.stdin.read()
engine.close()
"""


@pytest.mark.slow
def test_a_recall_is_answered_while_another_process_keeps_the_write_lock(home: Path) -> None:
    fill(home, 3, age_days=60.0)
    make_due(home)
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "go\n"
        answer = ringwood(home, "recall", "pump", "--space", "global")
        assert (answer.returncode, holder.poll()) == (0, None), answer.stderr
        assert "Pump" in answer.stdout
        assert tiers(home)["warm"] == 0, "what was due could not be done"
        holder.communicate()
    assert ringwood(home, "recall", "pump", "--space", "global").returncode == 0
    assert tiers(home)["warm"] == 3, "the control: now it could"


def test_a_clock_that_is_doubted_moves_nothing_and_stats_says_so(home: Path) -> None:
    now = datetime.now(UTC)
    fill(home, 60, age_days=45.0)
    engine = open_engine(home, create=False)
    with engine.writing() as writer:
        writer.set_meta("rotated_at", (now - timedelta(days=40)).isoformat())
    engine.close()
    make_due(home)

    with Memory.open(home, wait_s=0.0) as memory:
        assert memory.stats().clock_doubted_at is None
        assert memory.do_due(within_s=20.0) == ("rotate",)
        doubted = memory.stats().clock_doubted_at
        assert doubted is not None
        assert doubted - now < timedelta(minutes=5)
    assert tiers(home)["warm"] == 0


def test_who_is_at_work_is_told(home: Path) -> None:
    with Memory.open(home, wait_s=0.0) as memory:
        assert memory.stats().holders == {}
        with holding(home, "dream"):
            assert memory.stats().holders == {"dream": os.getpid()}
        assert memory.stats().holders == {}


def seconds_of(memory: Memory, times: int) -> Sequence[float]:
    taken = []
    for number in range(times):
        began = time.perf_counter()
        assert memory.recall(f"pump in hall {number % 7}").hits
        taken.append(time.perf_counter() - began)
    return taken


@pytest.mark.slow
def test_a_recall_is_not_slowed_beyond_reason_while_the_timer_rotates(home: Path) -> None:
    fill(home, 1500, age_days=60.0)
    with Memory.open(home, wait_s=20.0) as memory:
        seconds_of(memory, 5)
        before = median(seconds_of(memory, 40))
        memory.keep_schedule()
        eventually(lambda: tiers(home)["warm"] > 0)
        during: list[float] = []
        while tiers(home)["warm"] < 1500:
            during += seconds_of(memory, 3)
        assert len(during) >= 6, "the rotation was over before anything was asked"
        assert median(during) < 10 * before
