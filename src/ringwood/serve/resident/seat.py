"""The seat of the resident process: whoever holds the lock of a home is the one, and listens.

The lock is the system's and ends with the process that holds it, however it ends. The socket beside
it may be left over from a process that was killed: the next holder of the lock replaces it.
"""

from __future__ import annotations

import fcntl
import os
import socket
from contextlib import suppress
from pathlib import Path

from ringwood import home as homes
from ringwood.errors import HomeError, refusal

_BACKLOG = 64


class TakenError(Exception):
    """Another process has the seat."""

    def __init__(self, pid: int | None) -> None:
        """Say who, where that is known."""
        super().__init__(f"process {pid} serves this home")
        self.pid = pid


class Seat:
    """A lock and a socket, held until `leave` or the end of the process."""

    def __init__(self, home: str) -> None:
        """Take the seat of a home.

        Raises:
            TakenError: when another process has it.
            StorageError: when the disk refuses.
            HomeError: when there is no private place for the socket.
        """
        homes.create_home(home)
        self._lock_path = Path(home) / homes.RESIDENT_LOCK
        self._socket_path = Path(homes.socket_path(home))
        try:
            self._lock = self._locked()
            try:
                self.listener = self._listening(home)
            except BaseException:
                os.close(self._lock)
                raise
        except OSError as error:
            raise refusal(error, f"The seat of {home} cannot be taken") from error
        self._socket_id = _identity(self._socket_path)

    def is_held(self) -> bool:
        """Say whether lock and socket are still where others look for them."""
        return (
            _identity(self._lock_path) == _identity(self._lock)
            and _identity(self._socket_path) == self._socket_id
        )

    def leave(self) -> None:
        """Listen no more, and let another have the seat. Idempotent."""
        self.listener.close()
        if self._lock < 0:
            return
        if self._socket_id is not None and _identity(self._socket_path) == self._socket_id:
            with suppress(OSError):
                self._socket_path.unlink()
        os.close(self._lock)
        self._lock = -1

    def _locked(self) -> int:
        """Open and lock the file; what is written in it is for people."""
        lock = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(lock, 0)
            os.pwrite(lock, f"{os.getpid()}\n".encode("ascii"), 0)
        except BlockingIOError as error:
            holder = os.pread(lock, 32, 0).strip()
            os.close(lock)
            raise TakenError(int(holder) if holder.isdigit() else None) from error
        except OSError:
            os.close(lock)
            raise
        return lock

    def _listening(self, home: str) -> socket.socket:
        """Put a socket where hooks look for it, in a folder that nobody else may enter."""
        folder = self._socket_path.parent
        if str(folder) != home:
            with suppress(FileExistsError):
                folder.mkdir(mode=0o700)
            if not homes.is_ours_alone(str(folder)):
                raise HomeError(
                    f"{folder} is not ours alone, and the path of {home} is too long for a socket.",
                    mend=f"remove {folder}, or choose a home with a shorter path",
                )
        self._socket_path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.bind(str(self._socket_path))
            self._socket_path.chmod(0o600)
            listener.listen(_BACKLOG)
            listener.setblocking(False)
        except BaseException:
            listener.close()
            raise
        return listener


def _identity(file: Path | int) -> tuple[int, int] | None:
    """Tell a file from every other; None where there is none."""
    try:
        found = os.fstat(file) if isinstance(file, int) else file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
