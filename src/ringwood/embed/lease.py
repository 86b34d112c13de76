"""One worker of a home embeds with all cores; the lease says which."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from ringwood.errors import StorageError


class EmbeddingLease:
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

    def _lock(self) -> bool:
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StorageError(
                f"The file {self._path} cannot be opened: {error.strerror}.",
                mend="make the home writable for its owner; until then no vectors follow",
            ) from error
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):  # POSIX allows either for "somebody has it"
            os.close(descriptor)
            return False
        self._held = (descriptor, os.getpid())
        return True


_holders: dict[tuple[int, Path], EmbeddingLease] = {}
"""Who holds what, by process and file: an entry of a parent means nothing in its child."""
