"""A home that may be read and not written: another user's, or on a read-only file system.

Nothing is made beside the files, no lock among them. So nothing keeps their owner from writing
meanwhile, if there is one: every reading takes a connection of its own, and one that was overtaken
by a write is no answer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from ringwood.engine.sqlite import files
from ringwood.engine.sqlite.connection import identity_of, log_bytes, no_home, read_only
from ringwood.engine.sqlite.engine import SqliteEngine
from ringwood.engine.sqlite.files import Attached
from ringwood.engine.sqlite.gate import Gate
from ringwood.errors import BusyError
from ringwood.types import Tier

_Stamp = tuple[int, int, int]
"""Size and change of a file, and the size of its log."""


class ClosedGate(Gate):
    """A gate that lets nobody in, and needs no file."""

    def __init__(self, path: Path) -> None:
        """Name the file that a gate would have; it is not made."""
        self.path = path
        self.identity = identity_of(path)

    def acquire(self, timeout_s: float) -> None:
        """Say that nothing can be written.

        Raises:
            ReadOnlyError: always.
        """
        raise read_only(self.path.parent)

    def release(self) -> None:
        """Do nothing: nobody is in."""

    def try_turn(self, timeout_s: float) -> bool:
        """Say that there is nobody to be kept out."""
        return False


class ReadOnlyEngine(SqliteEngine):
    """An `Engine` whose writing raises `ReadOnlyError`."""

    writable = False

    def __init__(self, paths: Mapping[Tier, Path]) -> None:
        self._stamps: dict[int, tuple[_Stamp, ...]] = {}  # by connection that is in use
        super().__init__(paths, ClosedGate(paths["hot"].with_name("write.lock")))

    def _take(self, without: Collection[Tier] = ()) -> Attached:
        with self._lock:
            self._check_open()
        if not files.exists(self._paths["hot"]):
            raise no_home(self._paths["hot"].parent)
        stamps = self._stamps_now()
        attached = files.open_read_only(self._paths, without)
        self._stamps[id(attached.connection)] = stamps
        return attached

    def _give_back(self, attached: Attached) -> None:
        before = self._stamps.pop(id(attached.connection))
        attached.connection.close()
        if before != self._stamps_now():
            raise BusyError(
                f"{self._paths['hot'].parent} was written while it was read",
                mend="call again: this user may not lock it, and so reads between two writes",
            )

    def _stamps_now(self) -> tuple[_Stamp, ...]:
        return tuple(_stamp(path) for path in self._paths.values())

    def _after_fork_in_child(self) -> None:
        self._start(ClosedGate(self._gate.path))


def _stamp(path: Path) -> _Stamp:
    try:
        status = path.stat()
    except OSError:
        return (0, 0, 0)
    return status.st_size, status.st_mtime_ns, log_bytes(path)
