"""Cases of the kind START, and those of LOCK, WAL and SCOPE that a hook meets first.

Numbers are those of the published reports.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.processes import PATIENCE_S, eventually
from tests.serve.calling import Host

from ringwood import home as homes
from ringwood.capture import spool
from ringwood.memory import Memory
from ringwood.serve import hook

FACT = "The staging database is called heron and listens on port 5544."
QUESTION = "On which port does the staging database listen?"
TURN_S = 2.0
"""A hook has 0.3 s of its own; the rest is an interpreter's start on a busy machine."""


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    project = tmp_path / "project"
    project.mkdir()
    with Host(tmp_path / "home", project) as calling:
        yield calling


@contextmanager
def locked(home: Path) -> Iterator[None]:
    """Hold the write lock of a home from outside."""
    hold = (
        "import sqlite3, sys\n"
        f"base = sqlite3.connect({str(home / homes.HOT_FILE)!r}, isolation_level=None)\n"
        "base.execute('begin immediate')\n"
        "print('held', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        try:
            yield
        finally:
            holder.communicate(timeout=PATIENCE_S)


@contextmanager
def embedder_that_never_answers(resident: int) -> Iterator[None]:
    """Stop the embedding processes of a resident process: they take requests and say nothing."""
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(resident)], capture_output=True, text=True, check=False
    )
    workers = [int(each) for each in listed.stdout.split()]
    assert workers
    for worker in workers:
        os.kill(worker, signal.SIGSTOP)
    try:
        yield
    finally:
        for worker in workers:
            os.kill(worker, signal.SIGCONT)


def with_a_model(host: Host) -> int:
    """Fill the home of a host, and have a resident process that holds the bundled model."""
    host.environ["RINGWOOD_EMBEDDER"] = "bundled"
    with Memory.open(host.home, embedder="bundled", wait_s=60.0) as memory:
        memory.store(FACT)
    host.hook("SessionStart", source="startup")
    eventually(host.answers)
    eventually(lambda: host.ask("recall", session="warm", space=None, query=QUESTION)["text"])
    resident = host.resident
    assert resident is not None
    return resident


@pytest.mark.slow
def test_7_a_write_lock_held_from_outside_kills_nobody(host: Host) -> None:
    with Memory.open(host.home, embedder="hashing") as memory:
        memory.store(FACT)
    host.hook("SessionStart", source="startup")
    eventually(host.answers)
    resident = host.resident

    with locked(host.home):
        for number in range(5):
            call = host.hook("UserPromptSubmit", prompt=f"{QUESTION} ({number})", prompt_id="p")
            assert (call.code, call.err) == (0, b"")
            assert call.seconds < TURN_S
        host.hook("Stop", last_assistant_message="Port 5544, I think.", prompt_id="p")
        assert host.resident == resident

    eventually(lambda: host.settled(2))
    assert host.resident == resident


@pytest.mark.slow
def test_13_a_log_does_not_grow_with_processes_that_are_killed(host: Host) -> None:
    sizes = []
    for number in range(25):
        with host.serve() as process:
            eventually(host.answers)
            host.say(f"Remember the number {number}.", f"Noted {number}.", turn=f"p{number}")
            eventually(lambda: spool.waiting(str(host.home)) == [])
            process.kill()
            process.communicate()
        sizes.append(sum(each.stat().st_size for each in host.home.glob("*.db-wal")))

    assert max(sizes[-5:]) < 8 * 2**20
    assert max(sizes[-5:]) < 3 * max(sizes[5:10])  # and it has stopped growing
    with Memory.open(host.home, embedder="hashing", wait_s=30.0) as memory:
        assert sum(memory.spaces().values()) == 25


@pytest.mark.parametrize(
    "cwd", ["/", "", "/no/such/folder", "C:\\Users\\ada\\app", "\0", "~", None, 7]
)
def test_59_a_host_without_a_real_folder_works_in_the_space_of_everything(
    cwd: object, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")  # no resident process is started
    for where in (cwd, str(host.directory)):
        given = json.dumps(host.payload("UserPromptSubmit", prompt="Note it.", cwd=where))
        hook.answer(["claude-code", "--home", str(host.home)], given.encode(), time.monotonic())

    home = str(host.home)
    kept = [spool.read(home, name) for name in spool.waiting(home)]
    assert [event and event.space for event in kept] == [None, str(host.directory)]


@pytest.mark.slow
def test_85_an_embedder_that_never_answers_leaves_recall_by_words(host: Host) -> None:
    resident = with_a_model(host)

    with embedder_that_never_answers(resident):
        calls = [
            host.hook("UserPromptSubmit", prompt=QUESTION, session_id=f"s{number}")
            for number in range(5)
        ]

    assert all(call.code == 0 and call.seconds < TURN_S for call in calls)
    assert sum("heron" in call.context for call in calls) >= 3  # a busy machine may be late
    after = host.hook("UserPromptSubmit", prompt=QUESTION, session_id="after")
    assert after.code == 0


@pytest.mark.slow
def test_87_a_locked_database_and_a_dead_embedder_at_once_hold_up_nobody(host: Host) -> None:
    resident = with_a_model(host)

    with embedder_that_never_answers(resident), locked(host.home):
        calls = [
            host.hook("UserPromptSubmit", prompt=QUESTION, session_id=f"s{number}")
            for number in range(10)
        ]
        assert host.resident == resident  # its threads are free: nobody waits in it for long

    assert all(call.code == 0 and call.seconds < TURN_S for call in calls)
    assert sum("heron" in call.context for call in calls) >= 6
