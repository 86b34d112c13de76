"""One process of a home embeds with all cores; the lease says which."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


class EmbeddingLease:
    """A lock on a file, held by a process until it lets go or dies.

    `lockf` belongs to the process: a forked child never holds it, and does not keep it alive after
    the parent's death. For the same reason two leases on one path inside a process do not exclude
    each other, and closing any descriptor of the file lets go: open the file nowhere else.
    """

    def __init__(self, path: Path) -> None:
        """Name the file; nothing is opened."""
        self._path = path
        self._held: tuple[int, int] | None = None  # descriptor, and the process that locked it

    @property
    def held(self) -> bool:
        """Whether this process has the lease."""
        return self._held is not None and self._held[1] == os.getpid()

    def try_acquire(self) -> bool:
        """Take the lease unless another process has it. Never waits; True when held already.

        Raises:
            OSError: when the file can be neither opened nor made.
        """
        if self.held:
            return True
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):  # POSIX allows either for "somebody has it"
            os.close(descriptor)
            return False
        self._held = (descriptor, os.getpid())
        return True

    def release(self) -> None:
        """Let go. Idempotent; in a forked child it forgets the parent's lease and leaves it be."""
        if self._held is None:
            return
        descriptor, _ = self._held
        self._held = None
        os.close(descriptor)
