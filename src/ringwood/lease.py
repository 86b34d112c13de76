"""A lock on a file in the home: whoever holds it does what only one process may do at a time.

The kernel frees it when its holder dies, however that happens, so nothing is ever left locked and
nothing has to be waited out.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from ringwood.errors import refusal

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


class Lease:
    """A lock on a file, held by one object of one process until it lets go or the process dies.

    `lockf` belongs to the process: a forked child never holds it, and does not keep it alive after
    the parent's death. For the same reason it does not tell two leases of one process apart, and
    closing any descriptor of the file lets go: the first of them keeps the others from opening it.
    """

    def __init__(self, path: Path) -> None:
        """Name the file; nothing is opened."""
        self._path = path.resolve()
        self._held: tuple[int, int] | None = None  # descriptor, and the process that locked it

    @property
    def held(self) -> bool:
        """Whether this object has the lease."""
        return self._held is not None and self._held[1] == os.getpid()

    def try_acquire(self) -> bool:
        """Take the lease unless somebody has it. Never waits; True when held already.

        Raises:
            ReadOnlyError: when this user may not write the home, or nobody may.
            StorageError: when the file can be neither opened nor made.
        """
        if self.held:
            return True
        place = (os.getpid(), self._path)
        if _holders.setdefault(place, self) is not self:
            return False
        locked = False
        try:
            locked = self._lock()
        finally:
            if not locked:
                del _holders[place]
        return locked

    def release(self) -> None:
        """Let go. Idempotent; in a forked child it forgets the parent's lease and leaves it be."""
        if self._held is None:
            return
        descriptor, process = self._held
        self._held = None
        os.close(descriptor)
        _holders.pop((process, self._path), None)

    def holder(self) -> int | None:
        """Return the id of the process that has the lease; None where nobody has it.

        Who asks for the lease in this very moment may be refused once: it is tried for that.
        """
        place = (os.getpid(), self._path)
        if _holders.setdefault(place, self) is not self or self.held:
            return os.getpid()
        try:
            descriptor = os.open(self._path, os.O_RDWR)
        except OSError:  # nobody ever had it, or nobody can have it
            return None
        else:
            try:
                return None if _try_lock(descriptor) else _process_in(descriptor)
            finally:
                os.close(descriptor)
        finally:
            del _holders[place]

    def _lock(self) -> bool:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
        try:
            descriptor = os.open(self._path, flags, 0o600)
        except OSError as error:
            raise refusal(
                error,
                f"The file {self._path} cannot be opened",
                meanwhile="until then nothing is done by the clock and no vectors follow",
            ) from error
        if not _try_lock(descriptor):
            os.close(descriptor)
            return False
        self._held = (descriptor, os.getpid())
        _sign(descriptor)
        return True


def _sign(descriptor: int) -> None:
    """Write down who holds a file, for people; a full disk keeps nobody from holding it."""
    with suppress(OSError):
        os.truncate(descriptor, 0)
        os.write(descriptor, b"%d\n" % os.getpid())


def _process_in(descriptor: int) -> int:
    """Read who holds a file; 0 where it is not told."""
    try:
        return int(os.read(descriptor, 32))
    except (OSError, ValueError):
        return 0


if sys.platform == "win32":

    def _try_lock(descriptor: int) -> bool:
        """Lock a byte beyond all content: the first ones stay readable for others."""
        try:
            os.lseek(descriptor, 1 << 30, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)
        return True

else:

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):  # POSIX allows either for "somebody has it"
            return False
        return True


_holders: dict[tuple[int, Path], Lease] = {}
"""Who holds what, by process and file: an entry of a parent means nothing in its child."""
