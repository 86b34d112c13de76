"""Many sessions, and processes that are killed: nothing acknowledged is lost, nothing is left."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import pytest
from tests.processes import eventually
from tests.serve.calling import PYTHON, Host

from ringwood import home as homes
from ringwood.capture import spool
from ringwood.memory import Memory

pytestmark = pytest.mark.slow

FACT = "The staging database is called heron and listens on port 5544."
QUESTION = "On which port does the staging database listen?"
SESSIONS = 200
KILLED = 40
"""Exchanges in whose course something is killed."""


@pytest.mark.parametrize("embedder", ["hashing", "bundled"])
def test_the_first_prompt_recalls_two_seconds_after_a_cold_start(
    embedder: str, tmp_path: Path
) -> None:
    with Memory.open(tmp_path / "home", embedder=embedder, wait_s=60.0) as memory:
        memory.store(FACT)
    tries = []
    for attempt in range(3):  # a busy machine may be late once
        with Host(tmp_path / "home", tmp_path, RINGWOOD_EMBEDDER=embedder) as host:
            assert not host.answers()
            host.hook("SessionStart", source="startup", session_id=f"s{attempt}")
            time.sleep(2.0)
            told = host.hook("UserPromptSubmit", prompt=QUESTION, session_id=f"s{attempt}")
        tries.append("heron" in told.context)
        if tries[-1]:
            break

    assert any(tries)


def processes_of(place: Path) -> list[int]:
    """List the processes whose environment names a folder: hooks, residents and their workers."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if bytes(place) in (each / "environ").read_bytes() and int(each.name) != os.getpid():
                found.append(int(each.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="counts processes in /proc")
def test_two_hundred_sessions_leave_no_process_behind(tmp_path: Path) -> None:
    hosts = []
    for number in range(4):
        project = tmp_path / f"project-{number}"
        project.mkdir()
        home = tmp_path / f"home-{number}"
        hosts.append(Host(home, project, RINGWOOD_SERVE_IDLE_S="3", RINGWOOD_EMBEDDER="hashing"))

    def one_session(number: int) -> None:
        host, session = hosts[number % len(hosts)], f"session-{number}"
        host.hook("SessionStart", source="startup", session_id=session)
        host.say(f"Remember the number {number}.", f"Noted {number}.", session=session, turn="1")
        host.hook("SessionEnd", reason="other", session_id=session)

    with ThreadPoolExecutor(2) as two:
        list(two.map(one_session, range(SESSIONS)))

    assert len(processes_of(tmp_path)) <= 2 * len(hosts)  # residents, and workers of theirs
    eventually(lambda: processes_of(tmp_path) == [])
    for host in hosts:
        assert spool.waiting(str(host.home)) == []
        with Memory.open(host.home, embedder="words") as memory:
            assert memory.stats().totals.states == {"ready": SESSIONS // len(hosts)}


@contextmanager
def numbered(host: Host) -> Iterator[list[tuple[str, bool]]]:
    """Collect what was said, and whether a hook acknowledged it; end all processes afterwards."""
    try:
        yield []
    finally:
        eventually(lambda: are_ended(host))


def are_ended(host: Host) -> bool:
    """End what works for a home; a hook that has been answered may just be starting a resident."""
    host.end_resident()
    for pid in processes_of(host.home):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    return processes_of(host.home) == []


def killed_hook(host: Host, event: str, chance: random.Random, **payload: object) -> bool:
    """Call a hook and perhaps kill it on the way; say whether it ended by itself."""
    given = json.dumps(host.payload(event, **payload)).encode()
    with subprocess.Popen(
        [*PYTHON, "hook", "claude-code"],
        env=host.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        with suppress(BrokenPipeError):
            process.stdin.write(given)
            process.stdin.close()
        if chance.random() < 0.4:
            time.sleep(chance.random() * 0.15)
            process.kill()
        return process.wait(30) == 0


def kill_resident(host: Host) -> None:
    with suppress(OSError, ValueError):
        pid = int((host.home / homes.RESIDENT_LOCK).read_text())
        if pid in processes_of(host.home):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds processes in /proc")
@pytest.mark.parametrize("seed", range(2))
def test_what_was_acknowledged_is_there_once_whoever_was_killed(seed: int, host: Host) -> None:
    chance = random.Random(seed)
    word = (f"w{seed}x{number:04d}" for number in count())
    with numbered(host) as said:
        host.hook("SessionStart", source="startup")
        for number in range(KILLED):
            turn = {"session_id": f"s{number % 3}", "prompt_id": f"p{number}"}
            prompt, reply = next(word), next(word)
            kept = killed_hook(host, "UserPromptSubmit", chance, prompt=f"Note {prompt}", **turn)
            said.append((prompt, kept))
            if chance.random() < 0.3:
                kill_resident(host)
            kept = killed_hook(host, "Stop", chance, last_assistant_message=f"Kept {reply}", **turn)
            said.append((reply, kept))
            if chance.random() < 0.3:
                kill_resident(host)
    with Memory.open(host.home, embedder="hashing", wait_s=30.0) as memory:
        memory.take_in(everything=True)
        view = memory.within(directory=str(host.directory))
        texts = [view.read(f"{each.space}:{each.path}").source for each in view.recent(limit=500)]
    everything = "\n".join(texts)

    acknowledged = [name for name, kept in said if kept]
    assert KILLED // 2 < len(acknowledged) < 2 * KILLED  # some were killed, and not all
    assert [name for name in acknowledged if everything.count(name) != 1] == []
    assert [name for name, _ in said if everything.count(name) > 1] == []
