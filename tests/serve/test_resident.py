"""The resident process: one per home, there when it is asked, gone when it is not."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.processes import PATIENCE_S, eventually, is_alive
from tests.serve.calling import Host

from ringwood import home as homes
from ringwood.capture import spool
from ringwood.capture.exchange import Event
from ringwood.memory import Memory
from ringwood.serve.resident import wire

FACT = "The staging database is called heron and listens on port 5544."


@contextmanager
def serving(host: Host, *arguments: str, **environ: str) -> Iterator[subprocess.Popen[bytes]]:
    """Have a resident process that answers; it is gone afterwards."""
    process = host.serve(*arguments, **environ)
    try:
        eventually(host.answers)
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)


def ended(process: subprocess.Popen[bytes]) -> int:
    """Wait until a process has ended by itself; return its exit code."""
    process.communicate(timeout=PATIENCE_S)
    return process.returncode


def told(host: Host, query: str, *, session: str = "test:1") -> str:
    """Return what a prompt would be told."""
    text: str = host.ask("recall", session=session, space=None, query=query)["text"]
    return text


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """A host whose home holds one fact, in the space `global`, and is served."""
    folder = tmp_path_factory.mktemp("filled")
    with Memory.open(folder / "home", embedder="hashing") as memory:
        memory.store(FACT, title="Staging database")
    with Host(folder / "home", folder) as host, serving(host):
        yield host


def test_it_tells_a_prompt_what_the_home_holds_framed(filled: Host) -> None:
    known = told(filled, "on which port listens the staging database?", session="framed:1")
    unknown = told(filled, "how long do eggs boil?", session="framed:2")

    assert known.startswith("<memory-recall nonce=")
    assert "heron" in known
    assert unknown == ""


def test_it_tells_a_session_a_thing_once_until_the_host_compacts(filled: Host) -> None:
    query = "on which port listens the staging database?"
    first, second = told(filled, query), told(filled, query)
    elsewhere = told(filled, query, session="test:2")
    filled.ask("compacted", session="test:1")
    again = told(filled, query)

    assert "heron" in first
    assert "heron" not in second
    assert "heron" in elsewhere
    assert "heron" in again


def test_what_came_too_late_is_told_another_time(filled: Host) -> None:
    query = "on which port listens the staging database?"
    request = {"do": "recall", "session": "late:1", "space": None, "query": query}
    for _ in range(3):
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(homes.socket_path(str(filled.home)))
            wire.send(line, request, time.monotonic() + PATIENCE_S)

    eventually(lambda: "heron" in told(filled, query, session="late:1"))
    # One of the three may be withdrawn only now, on a machine that has much else to do.
    eventually(lambda: "heron" not in told(filled, query, session="late:1"))


def test_nobody_else_can_talk_to_it(filled: Host) -> None:
    place = Path(homes.socket_path(str(filled.home)))

    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    for each in (filled.home, *filled.home.rglob("*")):
        assert stat.S_IMODE(each.stat().st_mode) == (0o700 if each.is_dir() else 0o600), each
    assert (filled.home / homes.LOG_FOLDER / "resident.log").exists()


def test_a_session_is_told_the_same_of_a_space_until_that_changes(filled: Host) -> None:
    first, second = filled.ask("brief", space=None), filled.ask("brief", space=None)
    with Memory.open(filled.home, embedder="hashing") as memory:
        memory.store("Deploys go out on Tuesdays.", path="/ops/deploys")
    third = filled.ask("brief", space=None)

    assert first["text"] == second["text"] != third["text"]
    assert "global (1 document)" in first["text"]
    assert "global:/ops (1 document)" in third["text"]
    kept = Path(homes.brief_path(str(filled.home), None))
    assert kept.read_text() == third["text"]
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def test_a_request_it_cannot_serve_ends_nothing(filled: Host) -> None:
    assert filled.ask("dance")["error"] == "unknown"
    assert filled.ask("recall", session=7, space=["x"], query=None)["text"] == ""
    assert "error" not in filled.ask("hello")


def test_who_connects_and_says_nothing_keeps_nobody_waiting(filled: Host) -> None:
    silent = [socket.socket(socket.AF_UNIX) for _ in range(6)]
    try:
        for each in silent:
            each.settimeout(PATIENCE_S)
            each.connect(homes.socket_path(str(filled.home)))
        eventually(filled.answers)
    finally:
        for each in silent:
            each.close()
    assert "pid" in filled.ask("hello")


def test_a_line_without_end_is_hung_up_on(filled: Host) -> None:
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(PATIENCE_S)
        line.connect(homes.socket_path(str(filled.home)))
        endless = b"x" * wire.MAX_BYTES * 8
        with pytest.raises(ConnectionError):
            line.sendall(endless)
    assert "pid" in filled.ask("hello")


def test_a_second_one_ends_at_once_and_says_who_serves(host: Host) -> None:
    with serving(host) as first:
        second = host.serve("--json")
        out, err = second.communicate(timeout=PATIENCE_S)

        assert (second.returncode, err) == (0, b"")
        assert json.loads(out) == {"home": str(host.home), "pid": first.pid, "started": False}
        assert host.resident == first.pid


@pytest.mark.slow
def test_of_ten_that_start_at_once_one_serves(host: Host) -> None:
    started = [host.serve("--json") for _ in range(10)]
    eventually(host.answers)
    eventually(lambda: sum(each.poll() is None for each in started) == 1)
    (serving_one,) = [each for each in started if each.poll() is None]

    assert host.resident == serving_one.pid
    serving_one.send_signal(signal.SIGTERM)
    told_by = [json.loads(each.communicate(timeout=PATIENCE_S)[0]) for each in started]
    assert [each.returncode for each in started] == [0] * 10
    assert sum(each["started"] for each in told_by) == 1


def test_a_home_with_a_very_long_path_is_served_too(tmp_path: Path) -> None:
    deep = tmp_path / ("very-" * 20) / "home"

    with Host(deep, tmp_path) as host, serving(host) as process:
        place = Path(homes.socket_path(str(deep)))
        assert not place.is_relative_to(deep)
        assert homes.is_ours_alone(str(place.parent))
        assert host.resident == process.pid

    assert not place.exists()


def test_it_leaves_when_nobody_has_asked_for_a_while(host: Host) -> None:
    process = host.serve("--idle", "0.5")

    assert ended(process) == 0
    assert not Path(homes.socket_path(str(host.home))).exists()
    assert "leaving: idle" in (host.home / homes.LOG_FOLDER / "resident.log").read_text()


@pytest.mark.slow
def test_it_stays_while_it_is_asked(host: Host) -> None:
    with serving(host, "--idle", "2") as process:
        until = time.monotonic() + 4
        while time.monotonic() < until:
            host.ask("hello")
            time.sleep(0.1)

        assert process.poll() is None


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_well(number: signal.Signals, host: Host) -> None:
    process = host.serve()
    eventually(host.answers)

    process.send_signal(number)

    assert ended(process) == 0
    assert not host.answers()


@pytest.mark.slow
def test_one_that_was_killed_leaves_nothing_in_the_way(host: Host) -> None:
    killed = host.serve()
    eventually(host.answers)
    killed.kill()
    killed.communicate()
    assert Path(homes.socket_path(str(host.home))).is_socket()

    with serving(host) as next_one:
        assert host.resident == next_one.pid


@pytest.mark.slow
@pytest.mark.parametrize("in_the_way", ["file", "folder"])
def test_what_lies_where_the_socket_belongs(in_the_way: str, host: Host) -> None:
    host.home.mkdir(mode=0o700)
    place = Path(homes.socket_path(str(host.home)))
    if in_the_way == "folder":
        place.mkdir()
        process = host.serve("--json")
        out, _ = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 3
        assert json.loads(out)["error"]["code"] == "storage"
    else:
        place.write_text("not a socket")
        with serving(host) as process:
            assert host.resident == process.pid


@pytest.mark.slow
@pytest.mark.parametrize("lost", ["home", "lock", "socket"])
def test_it_leaves_when_its_place_is_gone(lost: str, host: Host) -> None:
    process = host.serve()
    eventually(host.answers)

    if lost == "home":
        shutil.rmtree(host.home)
    else:
        (host.home / f"resident.{'lock' if lost == 'lock' else 'sock'}").unlink()

    assert ended(process) == 0


@pytest.mark.slow
def test_one_that_lost_its_lock_does_not_take_the_socket_of_the_next(host: Host) -> None:
    lock = host.home / homes.RESIDENT_LOCK
    first = host.serve()
    eventually(host.answers)
    first.send_signal(signal.SIGSTOP)  # it does not notice yet
    lock.unlink()
    second = host.serve()
    try:
        eventually(lambda: lock.exists() and lock.read_text() == f"{second.pid}\n")
    finally:
        first.send_signal(signal.SIGCONT)
    assert ended(first) == 0
    eventually(host.answers)
    assert host.resident == second.pid
    second.send_signal(signal.SIGTERM)
    assert ended(second) == 0


@pytest.mark.slow
def test_asked_to_leave_it_has_left_when_it_answers(host: Host) -> None:
    with serving(host) as first:
        host.ask("leave")
        with serving(host) as second:  # at once, though the first may not have ended yet
            assert host.resident == second.pid
        assert ended(first) == 0


@pytest.mark.slow
def test_it_stores_what_comes_due_without_another_word(host: Host) -> None:
    with serving(host):
        for kind, text in (("person", "Which port?"), ("assistant", "Port 5544.")):
            spool.append(str(host.home), event(kind, text))
        host.ask("flush")

        eventually(host.settled)
        assert host.command("stats")["documents"] == 1


def test_what_was_left_in_the_spool_is_stored_when_it_starts(host: Host) -> None:
    for kind, text in (("person", "Which port?"), ("assistant", "Port 5544."), ("end", "")):
        spool.append(str(host.home), event(kind, text))

    with serving(host, "--home", "../home"):  # seen from where it starts, not where it goes
        eventually(host.settled)
        assert spool.waiting(str(host.home)) == []


@pytest.mark.slow
def test_the_embedding_workers_end_with_it(host: Host) -> None:
    with Memory.open(host.home, embedder="bundled") as memory:
        memory.store(FACT)
    process = host.serve(RINGWOOD_EMBEDDER="bundled")
    try:
        eventually(host.answers)
        eventually(lambda: "heron" in told(host, "the port of the staging database", session="a"))
        eventually(lambda: children_of(process.pid))
        workers = children_of(process.pid)
    finally:
        process.kill()
        process.communicate()

    eventually(lambda: not any(is_alive(each) for each in workers))


def children_of(pid: int) -> list[int]:
    """List the processes that a process started."""
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    return [int(each) for each in listed.stdout.split()]


def event(kind: str, text: str) -> Event:
    """Something that was said just now."""
    return Event(
        host="claude-code", session="s", sequence="1", kind=kind, text=text, at=time.time()
    )


@pytest.mark.slow
def test_it_looks_again_soon_where_another_process_was_at_the_spool(host: Host) -> None:
    with serving(host):
        host.ask("flush")
        with spool.draining(str(host.home)) as ours:
            assert ours
            for kind, text in (("person", "Which port?"), ("assistant", "Port 5544."), ("end", "")):
                spool.append(str(host.home), event(kind, text))
            host.ask("flush")
            time.sleep(4.0)  # longer than it looks again for what came lately
        eventually(host.settled, 20.0)
