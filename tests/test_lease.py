"""One process at a time has what only one may do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ringwood.errors import StorageError
from ringwood.lease import Lease

HOLD = """
import sys
from pathlib import Path
from ringwood.lease import Lease
lease = Lease(Path(sys.argv[1]))
print(lease.try_acquire(), flush=True)
sys.stdin.read()
"""


def hold_elsewhere(path: Path) -> subprocess.Popen[str]:
    """Start a process that takes the lease and keeps it until its input ends."""
    return subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def taken_elsewhere(path: Path) -> bool:
    """Ask a second process whether it would get the lease."""
    with hold_elsewhere(path) as other:
        output, _ = other.communicate()
    return output.strip() == "False"


def test_a_second_process_is_refused_until_the_first_lets_go(tmp_path: Path) -> None:
    path = tmp_path / "embedding.lock"
    lease = Lease(path)

    assert lease.try_acquire()
    assert lease.try_acquire(), "asking again changes nothing"
    assert taken_elsewhere(path)

    lease.release()
    lease.release()
    assert not taken_elsewhere(path)


def test_death_frees_the_lease(tmp_path: Path) -> None:
    path = tmp_path / "embedding.lock"
    lease = Lease(path)
    with hold_elsewhere(path) as other:
        assert other.stdout is not None
        assert other.stdout.readline().strip() == "True"
        assert not lease.try_acquire()

        other.send_signal(signal.SIGKILL)
        other.wait()

        assert lease.try_acquire()
    lease.release()


def test_a_forked_child_neither_holds_nor_frees_the_lease(tmp_path: Path) -> None:
    path = tmp_path / "embedding.lock"
    lease = Lease(path)
    assert lease.try_acquire()

    child = os.fork()
    if child == 0:
        refused = not lease.held and not lease.try_acquire()
        lease.release()
        os._exit(0 if refused else 1)
    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 0
    assert lease.held
    assert taken_elsewhere(path)
    lease.release()


def test_the_file_is_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "embedding.lock"
    lease = Lease(path)

    assert lease.try_acquire()

    assert path.stat().st_mode & 0o777 == 0o600
    lease.release()


def test_two_leases_of_one_process_exclude_each_other(tmp_path: Path) -> None:
    path = tmp_path / "embedding.lock"
    first, second = Lease(path), Lease(path)

    assert first.try_acquire()
    assert not second.try_acquire()
    second.release()
    assert taken_elsewhere(path), "the refused one took nothing away"

    first.release()
    assert second.try_acquire()
    second.release()


def test_a_home_that_cannot_be_written_is_an_error_that_says_so(tmp_path: Path) -> None:
    lease = Lease(tmp_path / "gone" / "embedding.lock")

    with pytest.raises(StorageError, match="embedding"):
        lease.try_acquire()
    assert not lease.held


def test_a_lease_says_which_process_has_it(tmp_path: Path) -> None:
    path = tmp_path / "embedding.lock"
    lease = Lease(path)
    assert lease.holder() is None, "nobody ever had it"

    with hold_elsewhere(path) as other:
        assert other.stdout is not None
        assert other.stdout.readline().strip() == "True"
        assert lease.holder() == other.pid
        other.send_signal(signal.SIGKILL)
        other.wait()
    assert lease.holder() is None, "the dead hold nothing"

    assert lease.try_acquire()
    assert lease.holder() == Lease(path).holder() == os.getpid()
    assert taken_elsewhere(path), "asking took nothing away"
    lease.release()
