"""The writer's gate: one writer per home, in this process and across processes, in fair turns.

SQLite's own waiting backs off at random: under load one process got hundreds of turns while
another got one. A blocking `lockf` on a file beside the databases is first come, first served.
It takes no timeout, so where the gate is held by another process a thread does the blocking.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from ringwood.engine.sqlite.connection import identity_of, remaining
from ringwood.errors import BusyError, StorageError

try:
    import fcntl
except ImportError:  # Windows: SQLite's own lock still keeps writers apart, only less fairly
    fcntl = None  # type: ignore[assignment]


class Gate:
    """A lock on a file, held by one thread of one process at a time.

    Record locks belong to the process, and closing any descriptor of the file drops them all.
    Therefore a process has one gate per file, from `gate_for`, and never closes it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._turn = threading.Lock()
        self._state = threading.Lock()
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
        """
        deadline = time.monotonic() + timeout_s
        if not self._turn.acquire(timeout=max(0.0, timeout_s)):
            raise self._busy()
        try:
            if fcntl is not None:
                self._lock_file(deadline)
        except BaseException:
            self._turn.release()
            raise

    def release(self) -> None:
        """Let the next writer in."""
        if fcntl is not None:
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN)
        self._turn.release()

    def try_turn(self, timeout_s: float) -> bool:
        """Keep this process's other threads from writing, unless one of them is at it."""
        return self._turn.acquire(timeout=timeout_s)

    def end_turn(self) -> None:
        """Let this process's threads write again."""
        self._turn.release()

    def _lock_file(self, deadline: float) -> None:
        with self._state:
            if self._waiter is None:
                if self._try_lock():
                    return
                self._waiter = _Waiter(self)
                self._waiter.start()
            waiter = self._waiter
            waiter.wanted = True
        waiter.done.wait(remaining(deadline))
        with self._state:
            waiter.wanted = False
            if not waiter.done.is_set():
                raise self._busy()
            self._waiter = None
        if waiter.error is not None:
            raise StorageError(
                f"cannot lock {self.path}: {waiter.error.strerror}",
                mend="keep the home on a local disk",
            ) from waiter.error

    def _try_lock(self) -> bool:
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def _block(self, waiter: _Waiter) -> None:
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX)
        except OSError as error:
            waiter.error = error
        with self._state:
            waiter.done.set()
            if not waiter.wanted:  # whoever asked has given up
                self._waiter = None
                if waiter.error is None:
                    fcntl.lockf(self._descriptor, fcntl.LOCK_UN)

    def _busy(self) -> BusyError:
        return BusyError(
            f"another writer holds {self.path}",
            mend="call again: it waits for its turn; reading goes on meanwhile",
        )


class _Waiter(threading.Thread):
    """A thread that blocks until the file is ours. At most one per gate."""

    def __init__(self, gate: Gate) -> None:
        super().__init__(name="ringwood-gate", daemon=True)
        self._gate = gate
        self.done = threading.Event()
        self.wanted = False
        self.error: OSError | None = None

    def run(self) -> None:
        self._gate._block(self)


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
