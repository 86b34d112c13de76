"""Writers wait for each other, in turn and not for ever; readers wait for nobody."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest
from tests.engine.making import found, store
from tests.processes import eventually

from ringwood.engine.base import Engine
from ringwood.engine.sqlite import gate, open_engine
from ringwood.errors import BusyError, NoHomeError

HOLD = """
import sys
from pathlib import Path
from ringwood.engine.sqlite import open_engine
engine = open_engine(Path(sys.argv[1]), create=False)
with engine.writing() as writer:
    writer.set_meta("holder", "in")
    print("held", flush=True)
    sys.stdin.readline()
"""

FORK_AND_DIE = """
    import os, signal, time
    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(0)
    print(child, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""

WAIT = """
import sys
from pathlib import Path
from ringwood.engine.sqlite import open_engine
engine = open_engine(Path(sys.argv[1]), create=False)
with engine.writing() as writer:
    writer.set_meta("waiter", "had its turn")
engine.close()
"""

LINE_IS_EMPTY = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 0, 1)  # all but the gate itself
"""

WRITE_MANY = """
import sys
from pathlib import Path
from ringwood.engine.sqlite import open_engine
engine = open_engine(Path(sys.argv[1]), create=False)
print("ready", flush=True)
sys.stdin.readline()
for i in range(int(sys.argv[3])):
    with engine.writing() as writer:
        writer.set_meta(f"{sys.argv[2]}.{i}", "done")
engine.close()
"""


@contextmanager
def another_writer(home: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that is in the middle of a transaction until its input ends."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    try:
        yield holder
    finally:
        holder.communicate("\n", timeout=20)


@contextmanager
def somebody_in_line(home: Path, engine: Engine) -> Iterator[subprocess.Popen[str]]:
    """A process that waits to write, behind a transaction of this one that has just ended."""
    with engine.writing() as writer:
        writer.set_meta("holder", "out")
        waiter = subprocess.Popen([sys.executable, "-c", WAIT, str(home)], text=True)
        try:
            eventually(lambda: not is_empty_line(home))
            waiter.send_signal(signal.SIGSTOP)
        except BaseException:
            waiter.kill()
            waiter.wait()
            raise
    try:
        yield waiter
    finally:
        waiter.send_signal(signal.SIGCONT)
        waiter.wait(20)


def is_empty_line(home: Path) -> bool:
    command = [sys.executable, "-c", LINE_IS_EMPTY, str(home / "write.lock")]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


@pytest.mark.parametrize("timeout_s", [0.0, 0.2])
def test_a_writer_gives_up_in_time_when_another_process_writes(
    home: Path, engine: Engine, timeout_s: float
) -> None:
    with another_writer(home):
        started = time.monotonic()
        with pytest.raises(BusyError) as caught, engine.writing(timeout_s=timeout_s) as writer:
            writer.set_meta("k", "v")
        assert time.monotonic() - started >= timeout_s
        assert caught.value.mend
        with pytest.raises(BusyError), engine.writing("cold", timeout_s=timeout_s) as writer:
            writer.count_access([1])
        with engine.reading() as reader:  # and reading goes on, from before
            assert reader.meta("holder") is None
    with engine.reading() as reader:
        assert reader.meta("holder") == "in"
    store(engine, "afterwards")


def test_opening_and_reading_wait_for_no_writer(home: Path, engine: Engine) -> None:
    store(engine, "alpha")
    with another_writer(home) as holder:
        second = open_engine(home, create=False)
        assert found(second, "alpha") != ()
        assert holder.poll() is None  # it was writing all the while
        second.close()


def test_a_writer_that_gave_up_does_not_keep_the_gate(home: Path, engine: Engine) -> None:
    """The thread that still waits for the file lets it go at once when it gets it."""
    for _ in range(3):
        with another_writer(home), pytest.raises(BusyError), engine.writing(timeout_s=0.01):
            pass
    with another_writer(home):
        pass
    store(engine, "mine")


def test_a_writer_gives_up_in_time_when_another_thread_writes(engine: Engine) -> None:
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with engine.writing():
            entered.set()
            leave.wait(20)

    holder = threading.Thread(target=hold)
    holder.start()
    assert entered.wait(20)
    with pytest.raises(BusyError), engine.writing(timeout_s=0.05):
        pass
    leave.set()
    holder.join()
    store(engine, "afterwards")


def test_a_program_that_knows_no_gate_is_waited_for_too(home: Path, engine: Engine) -> None:
    other = apsw.Connection(str(home / "memory.db"))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(BusyError), engine.writing(timeout_s=0.05):
        pass
    threading.Timer(0.2, other.execute, ["ROLLBACK"]).start()
    store(engine, "in the end")
    assert found(engine, "end") != ()
    other.close()


def test_two_engines_on_one_home_take_turns(home: Path, engine: Engine) -> None:
    """Record locks belong to the process: nothing but the shared gate keeps these two apart."""
    second = open_engine(home, create=False)
    with engine.writing() as writer:
        writer.set_meta("k", "first")
        with pytest.raises(BusyError), second.writing(timeout_s=0.05):
            pass
    second.close()  # closing may not drop the lock of the first either
    with engine.writing():
        busy = subprocess.run(
            [sys.executable, "-c", HOLD.replace(".writing()", ".writing(timeout_s=0)"), str(home)],
            capture_output=True,
            text=True,
            check=False,
        )
    assert "BusyError" in busy.stderr


@pytest.mark.slow
def test_eight_processes_write_at_once_and_none_is_turned_away(home: Path, engine: Engine) -> None:
    writes = 60
    started = [
        subprocess.Popen(
            [sys.executable, "-c", WRITE_MANY, str(home), str(number), str(writes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(8)
    ]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in started:  # all are ready: let them go at once
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in started:
        process.communicate(timeout=120)
    assert [process.returncode for process in started] == [0] * len(started)
    with engine.reading() as reader:
        done = [reader.meta(f"{n}.{i}") for n in range(len(started)) for i in range(writes)]
    assert done == ["done"] * len(done)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_the_gate_is_free_again_when_its_holder_is_killed(home: Path, engine: Engine) -> None:
    with another_writer(home) as holder:
        holder.kill()
        holder.wait()
        store(engine, "next")
    with engine.reading() as reader:
        assert reader.meta("holder") is None


def test_a_holder_that_is_stopped_is_waited_for_within_bounds_only(
    home: Path, engine: Engine
) -> None:
    with another_writer(home) as holder:
        holder.send_signal(signal.SIGSTOP)
        try:
            with pytest.raises(BusyError), engine.writing(timeout_s=0.2):
                pass
            assert found(engine, "nothing") == ()
        finally:
            holder.send_signal(signal.SIGCONT)
    store(engine, "afterwards")
    assert found(engine, "afterwards") != ()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="has no line")
def test_who_has_waited_for_long_is_not_overtaken_by_a_newcomer(
    home: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = {}
    with somebody_in_line(home, engine):
        for fair_s in (3600.0, 0.0):  # what counts as long: the first is the control
            monkeypatch.setattr(gate, "_FAIR_S", fair_s)
            started = time.monotonic()
            with engine.writing(timeout_s=1.0):
                waits[fair_s] = time.monotonic() - started
    assert waits[3600.0] < 1.0 <= waits[0.0]
    with engine.reading() as reader:
        assert reader.meta("waiter") == "had its turn"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="has no line")
def test_somebody_in_line_who_is_stopped_keeps_nobody_out(
    home: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "_FAIR_S", 0.0)
    monkeypatch.setattr(gate, "_PATIENCE_S", 0.2)
    with somebody_in_line(home, engine) as waiter:
        for number in range(3):
            with engine.writing() as writer:
                writer.set_meta("k", str(number))
        with engine.reading() as reader:
            assert (reader.meta("k"), reader.meta("waiter")) == ("2", None)
        assert waiter.poll() is None
    with engine.writing() as writer:
        writer.set_meta("k", "3")
    eventually(lambda: is_empty_line(home))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="has no line")
def test_somebody_in_line_who_is_killed_leaves_no_place_behind(home: Path, engine: Engine) -> None:
    with somebody_in_line(home, engine) as waiter:
        assert not is_empty_line(home)
        waiter.kill()
        waiter.send_signal(signal.SIGCONT)
        waiter.wait(20)
        assert is_empty_line(home)


# From 3.12 on, forking with threads running warns; the waiter of a gate may be one.
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_that_outlives_the_holder_does_not_keep_the_gate(home: Path) -> None:
    """It inherits the open file; a lock by `flock` would stay with it."""
    forking = HOLD.replace("    sys.stdin.readline()", FORK_AND_DIE)
    open_engine(home, create=True).close()
    holder = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", forking, str(home)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    child = int(holder.stdout.readline())
    try:
        assert holder.wait(20) == -signal.SIGKILL
        os.kill(child, 0)  # it lives
        with open_engine(home, create=False).writing(timeout_s=5) as writer:
            writer.set_meta("k", "v")
    finally:
        os.kill(child, signal.SIGKILL)
        holder.stdout.close()


def test_writers_with_different_gate_files_still_keep_apart(home: Path, engine: Engine) -> None:
    """Somebody tidied up: the next that opens the home makes another file, and has another gate."""
    with another_writer(home):
        (home / "write.lock").unlink()
        second = open_engine(home, create=False)
        with pytest.raises(BusyError), second.writing(timeout_s=0.2):
            pass
    with second.writing() as writer:
        writer.set_meta("k", "second")
    with engine.writing() as writer:
        writer.set_meta("l", "first")
    with engine.reading() as reader:
        assert (reader.meta("k"), reader.meta("l")) == ("second", "first")
    second.close()


def test_a_home_that_was_renamed_is_gone_there_and_whole_here(home: Path, engine: Engine) -> None:
    store(engine, "before")
    elsewhere = home.rename(home.with_name("elsewhere"))
    with pytest.raises(NoHomeError), engine.writing(timeout_s=1):
        pass
    moved = open_engine(elsewhere, create=False)
    store(moved, "after")
    assert [len(found(moved, word)) for word in ("before", "after")] == [1, 1]
    moved.close()
    assert not home.exists()
