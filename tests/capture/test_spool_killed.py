"""Whoever is killed while it keeps what was said loses nothing that it acknowledged."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ringwood.capture import spool

pytestmark = pytest.mark.slow

SPEAK = """
import os, sys
from ringwood.capture import spool
from ringwood.capture.exchange import Event
home, many = sys.argv[1], int(sys.argv[2])
for number in range(many):
    name = spool.append(home, Event(host="h", session="s", sequence=str(number), kind="person",
        text=f"{number} " + "word " * 4000, at=0.0))
    os.write(1, (name + "\\n").encode())
"""

CALLS = {
    "write": "write",
    "fsync": "fsync",
    "rename": "/^rename",
    "mkdir": "/^mkdir",
}
"""What changes a disk, as the tracer selects it."""


def check(home: str, acknowledged: list[str]) -> None:
    """Every acknowledged event is there, in order and whole; at most one more is."""
    waiting = spool.waiting(home)
    assert waiting[: len(acknowledged)] == acknowledged
    assert len(waiting) <= len(acknowledged) + 1
    for number, name in enumerate(waiting):
        found = spool.read(home, name)
        assert found is not None
        assert found.sequence == str(number)
        assert found.text == f"{number} " + "word " * 4000
    assert spool.set_aside(home) == []


@pytest.fixture(scope="module")
def tracer() -> str:
    """The program that kills at a system call; the test is skipped where it may not trace."""
    found = shutil.which("strace")
    if found is None:
        pytest.skip("needs strace")
    tried = subprocess.run([found, "-o", "/dev/null", "true"], capture_output=True, check=False)
    if tried.returncode != 0:
        pytest.skip("strace may not trace here")
    return found


@pytest.mark.parametrize("call", CALLS)
def test_a_process_killed_at_any_call_keeps_what_it_acknowledged(
    tracer: str, tmp_path: Path, call: str
) -> None:
    killed = 0
    for at in range(1, 20):
        home = str(tmp_path / str(at))
        injected = f"inject={CALLS[call]}:signal=KILL:when={at}"
        traced = [tracer, "-f", "-o", "/dev/null", "-e", f"trace={CALLS[call]}", "-e", injected]
        done = subprocess.run(
            [*traced, sys.executable, "-c", SPEAK, home, "2"],
            stdout=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
        )

        check(home, done.stdout.split())
        if done.returncode == 0:
            break
        killed += 1

    assert killed >= 2  # each of them is called for every event, or for both folders
    assert len(done.stdout.split()) == 2


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        ("write", "ENOSPC", "FullError"),
        ("fsync", "EDQUOT", "FullError"),
        ("rename", "EIO", "StorageError"),
        ("mkdir", "EROFS", "ReadOnlyError"),
    ],
)
def test_a_disk_that_refuses_is_told_and_keeps_nothing_torn(
    tracer: str, tmp_path: Path, call: str, error: str, told: str
) -> None:
    """A write is the first of the event; a sync and a renaming are that of its file."""
    home = str(tmp_path / "home")
    at = 2 if call == "fsync" else 1  # the first is of the home's folder
    injected = f"inject={CALLS[call]}:error={error}:when={at}"
    traced = [tracer, "-f", "-o", "/dev/null", "-e", f"trace={CALLS[call]}", "-e", injected]

    done = subprocess.run(
        [*traced, sys.executable, "-c", SPEAK, home, "1"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.stdout == ""
    assert f"ringwood.errors.{told}: " in done.stderr
    assert spool.waiting(home) == []
    assert [path.name for path in tmp_path.rglob("*.new")] == []


def test_a_process_killed_at_random_keeps_what_it_acknowledged(tmp_path: Path) -> None:
    chance = random.Random(20260301)
    kept = 0
    for attempt in range(20):
        home = str(tmp_path / str(attempt))
        speaker = subprocess.Popen(
            [sys.executable, "-c", SPEAK, home, "1000000"], stdout=subprocess.PIPE, text=True
        )
        assert speaker.stdout is not None
        first = speaker.stdout.readline()
        time.sleep(chance.uniform(0.0, 0.05))
        speaker.kill()
        acknowledged = (first + speaker.communicate()[0]).split("\n")
        assert speaker.returncode == -signal.SIGKILL

        check(home, [name for name in acknowledged if name.endswith(".json")])
        kept += len(acknowledged) - 1

    assert kept > 40


@pytest.mark.parametrize("call", ["unlink", "rename"])
def test_a_removal_killed_at_any_call_leaves_all_or_nothing(
    tracer: str, tmp_path: Path, call: str
) -> None:
    code = (
        "import json, sys\n"
        "from ringwood.capture import spool\n"
        "with spool.draining(sys.argv[1]):\n"
        "    spool.remove(sys.argv[1], json.loads(sys.argv[2]))\n"
    )
    seen = set()
    for at in range(1, 20):
        home = str(tmp_path / str(at))
        subprocess.run(
            [sys.executable, "-c", SPEAK, home, "3"], stdout=subprocess.DEVNULL, check=True
        )
        names = spool.waiting(home)
        injected = f"inject=/^{call}:signal=KILL:when={at}"
        traced = [tracer, "-f", "-o", "/dev/null", "-e", f"trace=/^{call}", "-e", injected]
        done = subprocess.run(
            [*traced, sys.executable, "-c", code, home, json.dumps(names)], check=False, timeout=60
        )

        with spool.draining(home) as mine:
            assert mine
            left = spool.waiting(home)
        assert left in ([], names)
        seen.add(len(left))
        if done.returncode == 0:
            break

    assert left == []
    assert seen == ({0, 3} if call == "rename" else {0})
