"""What long work leaves over goes back to the system; recalls never wait for that."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ringwood.upkeep.slack import _trim

pytestmark = pytest.mark.skipif(
    _trim() is None or not Path("/proc/self/smaps_rollup").exists(),
    reason="needs Linux with glibc",
)

SLACK = 64 * 2**20
"""Bytes that are freed in pieces, between what stays."""
PROCESS = """
import sys
from pathlib import Path
from ringwood.memory import Memory
from ringwood.upkeep.slack import giving_back

def resident():
    lines = Path("/proc/self/smaps_rollup").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Rss:")) * 1024

home, slack, work = sys.argv[1], int(sys.argv[2]), sys.argv[3]
with Memory.open(home, embedder="words") as memory:
    memory.store("The heron keeps the ledger of the ferry.")
    memory.wait()
    pieces = [bytearray(16_000) for _ in range(slack // 16_000)]
    stays = pieces[::100]
    del pieces
    before = resident()
    exec(work)
    print(before - resident())
"""


def given_back(home: Path, work: str) -> int:
    """Leave slack in a process of its own, let it work, and return by what it is smaller then."""
    command = [sys.executable, "-c", PROCESS, str(home), str(SLACK), work]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize(
    "work",
    [
        *("rotate()", "compact()", "dream()", "verify(quick=True)"),
        *("salvage('hot', force=True)", "reindex('hashing')"),
    ],
)
def test_after_upkeep_memory_is_given_back(tmp_path: Path, work: str) -> None:
    assert given_back(tmp_path / "home", f"memory.{work}") > SLACK // 2


@pytest.mark.parametrize("work", ["recall('heron ledger')", "store('Another text.')"])
def test_who_waits_for_an_answer_does_not_wait_for_that(tmp_path: Path, work: str) -> None:
    """The control, too: nothing gives it back where nothing asks for it."""
    assert given_back(tmp_path / "home", f"memory.{work}") < SLACK // 2


def test_it_is_given_back_when_the_work_fails(tmp_path: Path) -> None:
    fails = "try:\n with giving_back(): 1 / 0\nexcept ZeroDivisionError: pass"
    assert given_back(tmp_path / "home", fails) > SLACK // 2
