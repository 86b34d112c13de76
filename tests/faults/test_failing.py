"""Whatever call fails, it is said in a way that can be acted on, and nothing earlier is lost.

The long part, with every call of every workload, is `scripts/torture failing`.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.faults import failing, judge, kills, tracing, workloads
from tests.faults.failing import Fault
from tests.faults.kills import Bench
from tests.faults.tracing import Point
from tests.faults.warm import ROOT

FAULTS = 2
"""Of each workload."""


SLOW = {"few mirrored", "few recalled", "few exported"}
"""Workloads that others stand for where time is short."""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    if reason := tracing.why_not():
        pytest.skip(reason)
    with kills.bench(tmp_path_factory.mktemp("failing")) as opened:
        yield opened


@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=[pytest.mark.slow] * (each in SLOW)) for each in workloads.SMALL],
)
def test_a_call_that_fails_is_told_and_nothing_is_lost(bench: Bench, name: str) -> None:
    chance = random.Random(name)
    faults = []
    for way in chance.sample(failing.ways_of(name), FAULTS):
        # Whether the last of them come depends on what threads get done meanwhile.
        calls = {kind: 1 + n // 2 for kind, n in failing.calls_of(bench, name, way).items()}
        faults.append(chance.choice(failing.faults_of(Counter(calls), 60, seed=2, way=way)))

    outcomes = failing.sweep(bench, name, faults)

    assert {each.fault: each.problems for each in outcomes if each.problems} == {}
    assert any(each.hit for each in outcomes)


def test_a_store_whose_sync_fails_is_not_acknowledged_and_the_next_one_is(
    bench: Bench,
) -> None:  # res-02
    fault = Fault(Point("fdatasync", 1), "EIO", goes_on=False, way="open")

    outcome = failing.spoil(bench, "few stored", fault)

    assert outcome.hit
    assert outcome.errors == ("storage",)
    assert outcome.problems == ()


@pytest.mark.parametrize(
    ("call", "error"), [("pwrite64", "EDQUOT"), ("fdatasync", "ENOSPC"), ("fdatasync", "EDQUOT")]
)
def test_a_quota_that_is_used_up_is_a_full_disk(bench: Bench, call: str, error: str) -> None:
    """Of SQLite, it is a disk that fails: it says `full` of a write that meets ENOSPC alone."""
    fault = Fault(Point(call, 1), error, goes_on=True, way="open")

    outcome = failing.spoil(bench, "few stored", fault)

    assert outcome.hit
    assert "disk_full" in outcome.errors
    assert outcome.problems == ()


def test_the_judge_finds_out_who_swallows_errors(bench: Bench) -> None:
    fault = Fault(Point("fdatasync", 1), "EIO", goes_on=True, way="open")

    outcome = failing.spoil(bench, "few stored", fault, failing.work_carelessly)

    assert outcome.hit
    assert any(map(judge.is_harm, outcome.problems))


def run_on_a_small_disk(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a disk of four megabytes of its own, or skip the test."""
    mounting = "mount -t tmpfs -o size=4m none ."
    unshare = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    try:
        probe = subprocess.run([*unshare, mounting], cwd=folder, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("needs unshare")
    if probe.returncode != 0:
        pytest.skip("nothing may be mounted here")
    looking = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"
    return subprocess.run(
        # The folder is entered once more: the mount lies over it.
        [*unshare, f'{mounting} && cd "$PWD" && exec "$@"', "sh", sys.executable, "-c", looking],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_full_disk_refuses_a_text_and_takes_it_when_there_is_room(
    tmp_path: Path,
) -> None:  # res-01
    done = run_on_a_small_disk(tmp_path, "from tests.faults.failing import fill; fill()")

    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["error"] == "disk_full"
    assert told["hits_while_full"] > 0
    assert told["kept"] == told["acknowledged"] > 3
    assert told["problems"] == []


OPEN_WITHOUT_ROOM = """
from pathlib import Path
from ringwood.errors import RingwoodError
from ringwood.memory import Memory
def code_of_opening():
    try:
        with Memory.open("home", embedder="words") as memory:
            return len(memory.recall("canary").hits)
    except RingwoodError as error:
        return error.code
with Memory.open("home", embedder="words") as memory:
    memory.store("The canary sings.")
try:
    with open("filling", "wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
except OSError:
    pass
told = code_of_opening()
Path("filling").unlink()
print(told, code_of_opening())
"""


def test_a_home_that_is_opened_on_a_disk_without_any_room_says_so(tmp_path: Path) -> None:
    done = run_on_a_small_disk(tmp_path, OPEN_WITHOUT_ROOM)

    assert done.stdout.split() == ["disk_full", "1"], done.stderr
