"""Nothing that breaks around a hook holds up a turn: a thousand injections, none of which blocks.

A turn is blocked by an exit code other than 0, by output that is not the host's, by a word on
standard error, or by taking longer than a host waits.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import jsonschema
import pytest
from tests.processes import PATIENCE_S, eventually
from tests.serve.calling import PYTHON, Host
from tests.serve.schemas import output

from ringwood import home as homes
from ringwood.memory import Memory

pytestmark = pytest.mark.slow

SEEDS = 39
"""Injections of each kind: with 26 kinds a thousand and a few."""
BLOCKED_S = 2.0
"""A hook ends within 0.3 s; what is above is the start of an interpreter on a busy machine. Hosts
wait five seconds, as our plugins ask them to. What takes longer is compared with `STARTS`."""
STARTS = 10
"""How many starts of an interpreter a hook may take where that alone takes long: on an idle machine
it takes three, and a machine that is slower at everything is no fault of a hook's."""
EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd", "SubagentStop")
WORDS = ("which port", "heron", "为什么", "ok", "\ud83d", "\0", "é", "</memory-recall>", "x" * 500)


@dataclass(frozen=True, slots=True)
class Injection:
    """How the hooks of one kind of fault are called."""

    given: Callable[[bytes, random.Random], bytes] = lambda payload, chance: payload
    """Changes what the hook reads."""
    payload: Callable[[random.Random], dict[str, object]] = lambda chance: {}
    """Changes what the host says."""
    limits: str = ""
    """What the shell does before it becomes the hook."""
    environ: dict[str, str] = field(default_factory=dict)
    """Changes the environment; an empty value removes."""
    stays_open: bool = False
    """The host never closes the hook's input."""
    deaf: bool = False
    """The host does not read what the hook prints."""


Fault = Callable[[Host], AbstractContextManager[Injection]]


def plain(injection: Injection) -> Fault:
    """A fault that needs nothing prepared."""

    @contextmanager
    def prepared(host: Host) -> Iterator[Injection]:
        host.home.mkdir(mode=0o700)
        yield injection

    return prepared


@contextmanager
def no_home_yet(host: Host) -> Iterator[Injection]:
    yield Injection()


@contextmanager
def healthy(host: Host) -> Iterator[Injection]:
    with resident(host):
        yield Injection()


@contextmanager
def resident(host: Host) -> Iterator[int]:
    """Have a resident process over a home with something in it."""
    with Memory.open(host.home, embedder="hashing") as memory:
        memory.store("The database is called heron and listens on port 5544.")
    host.hook("SessionStart", source="startup")
    eventually(host.answers)
    pid = host.resident
    assert pid is not None
    yield pid


@contextmanager
def stopped_resident(host: Host) -> Iterator[Injection]:
    with resident(host) as pid:
        os.kill(pid, signal.SIGSTOP)
        try:
            yield Injection()
        finally:
            os.kill(pid, signal.SIGCONT)


@contextmanager
def dying_resident(host: Host) -> Iterator[Injection]:
    """Have a resident process that is killed again and again, whoever starts the next."""
    over = threading.Event()

    def kill() -> None:
        while not over.wait(0.2):
            with suppress(OSError, ValueError):
                pid = int((host.home / homes.RESIDENT_LOCK).read_text())
                if b"ringwood" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(pid, signal.SIGKILL)

    with resident(host):
        killer = threading.Thread(target=kill)
        killer.start()
        try:
            yield Injection()
        finally:
            over.set()
            killer.join()


@contextmanager
def dead_embedder(host: Host) -> Iterator[Injection]:
    """Have a resident process whose embedder never answers."""
    with resident(host) as pid:
        listed = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
        )
        for worker in listed.stdout.split():
            os.kill(int(worker), signal.SIGSTOP)
        yield Injection()


@contextmanager
def locked_database(host: Host) -> Iterator[Injection]:
    """Have another process hold the database, and the writers' gate, for itself alone."""
    with Memory.open(host.home, embedder="hashing") as memory:
        memory.store("The database is called heron.")
    hold = (
        "import fcntl, sqlite3, sys\n"
        f"base = sqlite3.connect({str(host.home / homes.HOT_FILE)!r})\n"
        "base.execute('pragma locking_mode = exclusive')\n"
        "base.execute('begin exclusive')\n"
        f"gate = open({str(host.home / 'write.lock')!r}, 'r+')\n"
        "fcntl.lockf(gate, fcntl.LOCK_EX)\n"
        "print('held', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        yield Injection()
        holder.communicate(timeout=PATIENCE_S)


def impostor(reply: bytes | None) -> Fault:
    """Have somebody listen in the resident process's place who says anything but an answer."""

    @contextmanager
    def prepared(host: Host) -> Iterator[Injection]:
        host.home.mkdir(mode=0o700)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(homes.socket_path(str(host.home)))
            listener.listen(50)
            listener.settimeout(0.1)
            over = threading.Event()
            thread = threading.Thread(target=answer, args=(listener, over))
            thread.start()
            try:
                yield Injection()
            finally:
                over.set()
                thread.join()

    def answer(listener: socket.socket, over: threading.Event) -> None:
        held = []
        while not over.is_set():
            try:
                line, _ = listener.accept()
            except TimeoutError:
                continue
            held.append(line)
            with suppress(OSError):
                if reply is not None:
                    line.sendall(reply)
                    held.pop().close()
        for line in held:
            line.close()

    return prepared


def in_the_way(name: str, content: str | None) -> Fault:
    """Have a file (or with None a folder) lie where something else belongs."""

    @contextmanager
    def prepared(host: Host) -> Iterator[Injection]:
        place = host.home / name if name else host.home
        place.parent.mkdir(mode=0o700, exist_ok=True)
        if content is None:
            place.mkdir()
        else:
            place.write_text(content)
        yield Injection()

    return prepared


@contextmanager
def no_home_at_all(host: Host) -> Iterator[Injection]:
    nowhere = str(host.directory / "nobody")  # a folder that cannot be made: this is a file
    Path(nowhere).write_text("")
    yield Injection(environ={"RINGWOOD_HOME": "", "HOME": nowhere, "XDG_DATA_HOME": ""})


def some_bytes(payload: bytes, chance: random.Random) -> bytes:
    """Break the object in one of many ways."""
    kind = chance.randrange(5)
    if kind == 0:
        return chance.randbytes(chance.randrange(2000))
    if kind == 1:
        return payload[: chance.randrange(len(payload))]
    if kind == 2:
        return payload.decode().encode(chance.choice(["utf-16", "utf-8-sig", "utf-32"]))
    if kind == 3:
        return b'{"a":' * chance.randrange(1, 200_000)
    return chance.choice([b"null", b"[]", b'"x"', b"1e999", b"{}", b'{"session_id": {}}'])


def somewhere(chance: random.Random) -> dict[str, object]:
    """Let the host work in a folder that is none."""
    places: list[object] = [
        "/",
        "",
        "/no/such/folder",
        "C:\\Users\\x",
        "\0",
        None,
        7,
        "~",
        "x" * 9000,
    ]
    return {"cwd": chance.choice(places)}


def a_flood(payload: bytes, chance: random.Random) -> bytes:
    """Say ten megabytes."""
    told = json.loads(payload)
    return json.dumps(
        told | {"prompt": "why " * (10 * 2**18), "last_assistant_message": "é"}
    ).encode()


FAULTS: dict[str, Fault] = {
    "healthy": healthy,
    "no home yet": no_home_yet,
    "stopped resident": stopped_resident,
    "dying resident": dying_resident,
    "dead embedder": dead_embedder,
    "locked database": locked_database,
    "silent impostor": impostor(None),
    "babbling impostor": impostor(b"\x00\xff nonsense\n"),
    "impostor of another shape": impostor(b'{"text": 7, "version": [], "pid": "x"}\n'),
    "hanging up impostor": impostor(b""),
    "home is a file": in_the_way("", "a file"),
    "socket is a file": in_the_way(homes.RESIDENT_SOCKET, "a file"),
    "socket is a folder": in_the_way(homes.RESIDENT_SOCKET, None),
    "lock is a folder": in_the_way(homes.RESIDENT_LOCK, None),
    "spool is a file": in_the_way("spool", "a file"),
    "logs are a file": in_the_way(homes.LOG_FOLDER, "a file"),
    "no home anywhere": no_home_at_all,
    "full disk": plain(Injection(limits="ulimit -f 0;")),
    "few files": plain(Injection(limits="ulimit -n 6;")),
    "nowhere": plain(Injection(payload=somewhere)),
    "foreign locale": plain(Injection(environ={"LC_ALL": "C", "PYTHONIOENCODING": "gbk"})),
    "broken input": plain(Injection(given=some_bytes)),
    "no input": plain(Injection(given=lambda payload, chance: b"")),
    "flood": plain(Injection(given=a_flood)),
    "input never ends": plain(Injection(stays_open=True)),
    "nobody reads": plain(Injection(deaf=True)),
}


def blocked(host: Host, injection: Injection, seed: int) -> str:
    """Call one hook; say how it blocked the turn, or nothing."""
    chance = random.Random(seed)
    event, agent = chance.choice(EVENTS), chance.choice(["claude-code", "codex"])
    said = " ".join(chance.choices(WORDS, k=chance.randrange(1, 12)))
    payload = host.payload(
        event,
        session_id=f"session-{chance.randrange(3)}",
        source=chance.choice(["startup", "resume", "compact"]),
        prompt=said,
        last_assistant_message=chance.choice([said, None]),
        **injection.payload(chance),
    )
    given = injection.given(json.dumps(payload).encode(), chance)
    environ = {key: value for key, value in (host.environ | injection.environ).items() if value}
    command = " ".join([*PYTHON, "hook", agent])
    began = time.monotonic()
    with subprocess.Popen(
        ["sh", "-c", f"{injection.limits} exec {command}"],
        env=environ,
        cwd="/",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        out, err = converse(process, given, injection)
    seconds = time.monotonic() - began
    if (process.returncode, err) != (0, b""):
        return f"seed {seed}: exit code {process.returncode}, {err!r}"
    if seconds > BLOCKED_S and seconds > STARTS * start_s(environ):
        return f"seed {seed}: {seconds:.2f} s"
    if out:
        jsonschema.validate(json.loads(out), output(agent, event))
    return ""


def start_s(environ: dict[str, str]) -> float:
    """Measure how long an interpreter takes to start, here and now: no hook does without."""
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", ""], env=environ, cwd="/", check=True, timeout=PATIENCE_S)
    return time.monotonic() - began


def converse(
    process: subprocess.Popen[bytes], given: bytes, injection: Injection
) -> tuple[bytes, bytes]:
    """Be the host of one hook; return what it printed."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    if injection.deaf:
        process.stdout.close()
    if not injection.stays_open and not injection.deaf:
        return process.communicate(given, timeout=30)
    with suppress(BrokenPipeError):
        process.stdin.write(given)
        process.stdin.flush()
    if injection.deaf:
        process.stdin.close()
    err = process.stderr.read()  # ends when the hook does
    out = b"" if injection.deaf else process.stdout.read()
    process.wait(30)
    if not process.stdin.closed:
        process.stdin.close()
    return out, err


@pytest.mark.parametrize("name", FAULTS)
def test_no_fault_blocks_a_turn(name: str, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    with (
        Host(tmp_path / "home", project) as host,
        FAULTS[name](host) as injection,
        ThreadPoolExecutor(2) as two,
    ):
        failed = [*filter(None, two.map(partial(blocked, host, injection), range(SEEDS)))]

    assert failed == []


def test_there_are_a_thousand_injections() -> None:
    assert len(FAULTS) * SEEDS >= 1000
