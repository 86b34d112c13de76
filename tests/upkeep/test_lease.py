"""A piece of upkeep has one holder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from ringwood.upkeep.lease import holder_of, holding

HOLD = """
import sys
from ringwood.upkeep.lease import holding
with holding(sys.argv[1], "rotate") as held:
    print(held, flush=True)
    sys.stdin.read()
"""


def test_a_killed_holder_leaves_nothing_locked(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline().strip() == "True"
        with holding(tmp_path, "rotate") as held:
            assert not held
        with holding(tmp_path, "dream") as held:
            assert held, "another piece of upkeep has a lease of its own"
        assert holder_of(tmp_path, "rotate") == other.pid

        other.kill()
        other.wait()

    with holding(tmp_path, "rotate") as held:
        assert held


def test_the_lease_is_let_go_when_the_work_ends_or_fails(tmp_path: Path) -> None:
    with holding(tmp_path, "rotate") as first, holding(tmp_path, "rotate") as second:
        assert first
        assert not second, "not even in the same process"
        assert holder_of(tmp_path, "rotate") == os.getpid()
    try:
        with holding(tmp_path, "rotate"):
            raise ValueError
    except ValueError:
        assert holder_of(tmp_path, "rotate") is None
