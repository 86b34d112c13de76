"""The writer's gate: one writer per home, in this process and across processes, in fair turns.

    first byte of a file: the gate            whoever has it locked writes
    byte N:               a place in line     asked for at nanosecond N of the system's clock

SQLite's own waiting backs off at random: under load one process got hundreds of turns while
another got one. A lock on a file alone is not fair either: who happens to run when it comes free
has it before those whom the system still has to wake. So writers stand in line. Each locks the byte
of the moment at which it asked, and waits for all bytes before that one, which are free when
everybody who asked earlier is done, or dead: the system frees what a process had locked. Who is
first takes the gate when it is free next. Nothing is ever written to the file.

A newcomer that finds the gate free goes in, line or not, for whoever is first may not be awake yet;
but not when somebody in line has waited for long. And a place in line gives no right: somebody who
is stopped there, but not dead, is passed by after a while.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ringwood.engine.sqlite.connection import identity_of, remaining
from ringwood.errors import BusyError, StorageError

try:
    import fcntl
except ImportError:  # Windows: SQLite's own lock still keeps writers apart, only less fairly
    fcntl = None  # type: ignore[assignment]

_FAIR_S = 0.1
"""How long who is in line is passed by newcomers that find the gate free: as long as eight busy
processes take for a round."""
_PATIENCE_S = 2.0
"""How long anybody stays in line behind somebody who does not move."""
_LOOK_S, _LOOK_AT_MOST_S = 0.001, 0.01
"""Pause between two looks of who is first in line, at first and after a while, seconds."""


class Gate:
    """A lock on a file, held by one thread of one process at a time.

    Record locks belong to the process, and closing any descriptor of the file drops them all.
    Therefore a process has one gate per file, from `gate_for`, and never closes it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._turn = threading.Lock()
        self._state = threading.Lock()  # of the two below
        self._place: int | None = None  # in line, of whoever has the turn
        self._waiter: _Waiter | None = None
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StorageError(
                f"cannot write to {path}: {error.strerror}",
                mend=f"make {path.parent} writable for its owner",
            ) from error
        self.identity = identity_of(path)

    def acquire(self, timeout_s: float) -> None:
        """Take the gate.

        Raises:
            BusyError: when it was not had in time.
            StorageError: when the file cannot be locked.
        """
        deadline = time.monotonic() + timeout_s
        if not self._turn.acquire(timeout=max(0.0, timeout_s)):
            raise self._busy()
        try:
            if fcntl is not None:
                self._line_up(deadline)
                self._enter(deadline)
        except BaseException as error:
            self._leave_line()
            self._turn.release()
            if isinstance(error, OSError):
                raise StorageError(
                    f"cannot lock {self.path}: {error.strerror}",
                    mend="keep the home on a local disk",
                ) from error
            raise

    def release(self) -> None:
        """Let the next writer in."""
        if fcntl is not None:
            self._unlock(0, 1)
            self._leave_line()
        self._turn.release()

    def try_turn(self, timeout_s: float) -> bool:
        """Keep this process's other threads from writing, unless one of them is at it."""
        return self._turn.acquire(timeout=timeout_s)

    def end_turn(self) -> None:
        """Let this process's threads write again."""
        self._turn.release()

    def _line_up(self, deadline: float) -> None:
        """Wait until nobody is in line before us, as long as patience lasts, if we have to."""
        with self._state:
            waiter = self._waiter
            if waiter is None:
                now = time.monotonic_ns()
                if self._passes(now):
                    return
                # A lock that blocks takes no timeout, so a thread does the blocking.
                waiter = self._waiter = _Waiter(self._descriptor, now, self._arrived)
                waiter.start()
            waiter.is_wanted = True
        try:
            waiter.done.wait(min(remaining(deadline), remaining(waiter.patient_until)))
        finally:
            with self._state:
                waiter.is_wanted = False
                if waiter.done.is_set():
                    self._waiter = None
                    self._place = waiter.place

    def _passes(self, now: int) -> bool:
        """Enter if the gate is free and nobody in line has waited for long."""
        long_ago = now - round(_FAIR_S * 1e9)
        if long_ago > 1:
            if not self._try_lock(1, long_ago):
                return False
            self._unlock(1, long_ago)
        return self._try_lock(0, 1)

    def _arrived(self, waiter: _Waiter) -> None:
        """Say that a waiter is at the head of the line, or cannot stand in it."""
        with self._state:
            waiter.done.set()
            if not waiter.is_wanted:  # whoever asked has the gate without, or has given up
                self._waiter = None
                self._unlock(waiter.place, 1)

    def _leave_line(self) -> None:
        with self._state:
            if self._place is not None:
                self._unlock(self._place, 1)
                self._place = None

    def _unlock(self, start: int, length: int) -> None:
        fcntl.lockf(self._descriptor, fcntl.LOCK_UN, length, start)

    def _enter(self, deadline: float) -> None:
        """Lock the gate itself, as soon as it is free."""
        pause_s = _LOOK_S
        while not self._try_lock(0, 1):
            left_s = remaining(deadline)
            if not left_s:
                raise self._busy()
            time.sleep(min(pause_s, left_s))
            pause_s = min(1.25 * pause_s, _LOOK_AT_MOST_S)

    def _try_lock(self, start: int, length: int) -> bool:
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, length, start)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def _busy(self) -> BusyError:
        return BusyError(
            f"another writer holds {self.path}",
            mend="call again: it waits for its turn; reading goes on meanwhile",
        )


class _Waiter(threading.Thread):
    """A thread that stands in line until everybody before it has left. At most one per gate."""

    def __init__(self, descriptor: int, place: int, arrived: Callable[[_Waiter], None]) -> None:
        super().__init__(name="ringwood-gate", daemon=True)
        self._descriptor = descriptor
        self._arrived = arrived
        self.place = place
        self.patient_until = time.monotonic() + _PATIENCE_S
        self.done = threading.Event()
        self.is_wanted = False

    def run(self) -> None:
        # Whoever cannot wait here, because the system takes it for a deadlock, goes without.
        with suppress(OSError):
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX, 1, self.place)
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX, self.place, 1)
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN, self.place - 1, 1)
        self._arrived(self)


_gates: dict[Path, Gate] = {}
_gates_lock = threading.Lock()


def gate_for(path: Path) -> Gate:
    """Get this process's gate for a file, made again when another file has taken its place."""
    path = path.resolve()
    with _gates_lock:
        gate = _gates.get(path)
        if gate is None or gate.identity != identity_of(path):
            gate = _gates[path] = Gate(path)
        return gate


def _forget_gates() -> None:
    """Start anew in a forked child: it inherits no record lock, but maybe a turn somebody had."""
    global _gates_lock
    _gates_lock = threading.Lock()
    _gates.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_gates)
