"""Where events wait until they are stored: one small file each, durable before it is acknowledged.

    <home>/spool/<stamp>-<random>.json      an event; names sort in the order of arrival
    <home>/spool/bad/                        what could not be read, each with its reason beside it

On a hook's path: standard library only, without dataclasses, typing or enum.
"""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Iterable
from types import TracebackType

from ringwood import home as homes
from ringwood.capture.exchange import KINDS, Event
from ringwood.durable import replacing, sync_folder
from ringwood.errors import StorageError, refusal

try:
    import fcntl
except ImportError:  # Windows: two that drain at once store twice the same, which is one document
    fcntl = None  # type: ignore[assignment]

SPOOL_FOLDER = "spool"
BAD_FOLDER = "bad"

_EVENT = ".json"
_DRAFT = ".new"  # a file that is being written; a process that was killed may leave one
_REASON = ".reason"
_REMOVAL = "removal"  # lists files that are being removed, all or none of them
_LOCK = "lock"
_STALE_S = 3600.0  # a draft as old as this has nobody who writes it
_STAMP_DIGITS = 20
# What lies there is nothing that `append` writes: no file, or not this user's. Any other error says
# nothing about what the file holds: it is to be tried again, with all that belongs to it.
_FOREIGN = {errno.EISDIR, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.EACCES, errno.EPERM}
_FIELDS: dict[str, type | tuple[type, ...]] = {
    "host": str,
    "session": str,
    "sequence": str,
    "kind": str,
    "text": str,
    "at": (int, float),
    "space": (str, type(None)),
    "masked": int,
    "dropped": int,
}


def append(home: str, event: Event) -> str:
    """Write an event down and return its file's name: on return it survives a power cut.

    Makes the home's folder where it is missing, and nothing else of a home.

    Raises:
        StorageError: when the disk refuses. Then nothing was kept, and nothing torn is left.
    """
    folder = _prepare(home)
    content = json.dumps({field: getattr(event, field) for field in _FIELDS}).encode("ascii")
    try:
        name = f"{_next_stamp(folder):0{_STAMP_DIGITS}d}-{os.urandom(4).hex()}{_EVENT}"
        _write(folder, name, content)
    except OSError as error:
        raise refusal(
            error,
            f"What was said cannot be kept in {folder}",
            meanwhile="the conversation goes on without",
        ) from error
    return name


def waiting(home: str) -> list[str]:
    """List the names of the events that wait, oldest first. Empty where there is no spool.

    Raises:
        StorageError: when the folder cannot be read.
    """
    folder = os.path.join(home, SPOOL_FOLDER)
    names = _listing(folder)
    gone = set(_removal(folder)) if _REMOVAL in names else set()
    return sorted(name for name in names if _is_event(name) and name not in gone)


def read(home: str, name: str) -> Event | None:
    """Read an event; None where it is gone, or unreadable and now set aside with the reason.

    Raises:
        StorageError: when it could not be read for now: too many open files, a disk that fails.
    """
    folder = os.path.join(home, SPOOL_FOLDER)
    try:
        with open(os.path.join(folder, name), "rb") as file:
            return _event(json.loads(file.read()))
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno not in _FOREIGN:
            raise StorageError(
                f"The event {os.path.join(folder, name)} cannot be read for now: {error.strerror}.",
                mend="call again; where it stays so, check the disk, or move that file away",
            ) from error
        _set_aside(folder, name, f"cannot be read: {error.strerror}")
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        _set_aside(folder, name, f"is no event: {type(error).__name__}")
    return None


def set_aside(home: str) -> list[tuple[str, str]]:
    """List the events that could not be read, each with its reason."""
    folder = os.path.join(home, SPOOL_FOLDER, BAD_FOLDER)
    found = []
    for name in sorted(_listing(folder)):
        if _is_event(name):
            try:
                with open(os.path.join(folder, name + _REASON), encoding="utf-8") as file:
                    found.append((name, file.read().strip()))
            except (OSError, ValueError):
                found.append((name, "unknown"))
    return found


def remove(home: str, names: Iterable[str]) -> None:
    """Remove events that are stored: after a crash all of them are gone, or none.

    Half of an exchange left behind would be taken for the whole. Names that are gone are passed
    over. Only for who drains.

    Raises:
        StorageError: when the disk refuses.
    """
    folder = os.path.join(home, SPOOL_FOLDER)
    going = [name for name in names if os.path.lexists(os.path.join(folder, name))]
    try:
        if len(going) > 1:
            homes.write_private(os.path.join(folder, _REMOVAL), json.dumps(going))
        _unlink(folder, going)
        if len(going) > 1:
            sync_folder(folder)
            _unlink(folder, [_REMOVAL])
    except OSError as error:
        raise refusal(error, f"The spool {folder} cannot be emptied") from error


def stamp_of(name: str) -> int:
    """Return when an event came in, from its file's name: nanoseconds since 1970.

    Later than the one before it, also where the clock was set back meanwhile.
    """
    return int(name[:_STAMP_DIGITS])


class draining:
    """Let one at a time empty the spool: yields False where another process or thread is at it.

    Whoever has it finishes first what a killed one left.

    Raises:
        StorageError: when the disk refuses that.
    """

    def __init__(self, home: str) -> None:
        """Name the home; nothing is opened."""
        self._folder = os.path.join(home, SPOOL_FOLDER)
        self._key: tuple[int, str] | None = None
        self._descriptor: int | None = None

    def __enter__(self) -> bool:
        if not os.path.isdir(self._folder):
            return True  # there is nothing to drain, and nobody to be kept out
        key = (os.getpid(), os.path.realpath(self._folder))
        # A record lock does not tell two threads apart, and a forked child does not inherit it.
        if _drainers.setdefault(key, self) is not self:
            return False
        self._key = key
        mine = False
        try:
            if self._lock():
                _clear(self._folder)
                mine = True
        except OSError as error:
            raise refusal(
                error,
                f"The spool {self._folder} cannot be put in order",
                meanwhile="until then what was said waits",
            ) from error
        finally:
            if not mine:
                self.__exit__(None, None, None)
        return mine

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        if self._key is not None:
            _drainers.pop(self._key, None)
            self._key = None

    def _lock(self) -> bool:
        """Take the lock between processes; False when another one has it."""
        if fcntl is not None:
            path = os.path.join(self._folder, _LOCK)
            try:
                self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise refusal(
                    error,
                    f"The file {path} cannot be opened",
                    meanwhile="until then what was said waits",
                ) from error
            try:
                fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except (BlockingIOError, PermissionError):  # POSIX allows either for "taken"
                return False
        return True


_drainers: dict[tuple[int, str], draining] = {}
"""Who drains what, by process and folder."""


def _prepare(home: str) -> str:
    """Return the spool's folder, made where it is missing."""
    folder = os.path.join(home, SPOOL_FOLDER)
    if not os.path.isdir(folder):
        homes.create_home(home)
        homes.create_folder(folder)
    return folder


def _next_stamp(folder: str) -> int:
    """Return now, in nanoseconds, or just after the newest event where the clock was set back."""
    newest = max(filter(_is_event, os.listdir(folder)), default=None)
    return max(0 if newest is None else stamp_of(newest) + 1, time.time_ns())


def _write(folder: str, name: str, content: bytes) -> None:
    """Write a file that is there whole or not at all, also after a power cut."""
    try:
        with replacing(os.path.join(folder, name)) as file:
            file.write(content)
    except BaseException:
        # What was not acknowledged must not turn up later: the host may deliver it again.
        _unlink(folder, [name])
        raise


def _unlink(folder: str, names: Iterable[str]) -> None:
    for name in names:
        try:  # noqa: SIM105 - contextlib costs a hook more than this module does
            os.unlink(os.path.join(folder, name))
        except FileNotFoundError:
            pass


def _is_event(name: str) -> bool:
    return name.endswith(_EVENT) and name[:_STAMP_DIGITS].isdigit()


def _event(fields: object) -> Event:
    """Make an event of what a file holds.

    Raises:
        ValueError: when it holds anything else.
    """
    if not isinstance(fields, dict) or set(fields) != set(_FIELDS):
        raise ValueError("other fields")
    if not all(isinstance(fields[field], kind) for field, kind in _FIELDS.items()):
        raise ValueError("a field of another type")
    if fields["kind"] not in KINDS:
        raise ValueError("another kind")
    return Event(**(fields | {"at": float(fields["at"])}))


def _set_aside(folder: str, name: str, reason: str) -> None:
    """Move a file that cannot be read out of the way of the others; where that fails it stays."""
    bad = os.path.join(folder, BAD_FOLDER)
    try:
        os.makedirs(bad, mode=0o700, exist_ok=True)
        os.rename(os.path.join(folder, name), os.path.join(bad, name))
        homes.write_private(os.path.join(bad, name + _REASON), reason + "\n")
    except (OSError, StorageError):
        return  # it is tried again with the next draining; the others go on


def _listing(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StorageError(
            f"The spool {folder} cannot be read: {error.strerror}.",
            mend=f"correct the permissions of {folder}",
        ) from error


def _removal(folder: str) -> list[str]:
    """Return the files that are being removed."""
    try:
        with open(os.path.join(folder, _REMOVAL), encoding="utf-8") as file:
            return [str(name) for name in json.load(file)]
    except (OSError, ValueError, TypeError):
        return []  # it was finished meanwhile


def _clear(folder: str) -> None:
    """Finish what a killed process left: a removal, and drafts that nobody writes any more."""
    names = os.listdir(folder)
    if _REMOVAL in names:
        _unlink(folder, [*_removal(folder), _REMOVAL])
    oldest = time.time() - _STALE_S
    for name in names:
        if name.endswith(_DRAFT):
            try:
                if os.stat(os.path.join(folder, name)).st_mtime < oldest:
                    _unlink(folder, [name])
            except FileNotFoundError:
                continue
