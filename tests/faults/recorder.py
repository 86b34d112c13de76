"""Records what a process does to the files below a folder, in one order, for `disk.Disk` to play.

SQLite's files are recorded by a file system of SQLite's own kind (a VFS) that everybody in this
process opens files with meanwhile; all others by standing in for functions of `os`. A sync is
written down and not done: the disk of the machine has nothing to do with it.
"""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar

import apsw
from tests.faults.disk import (
    Change,
    Entry,
    Rename,
    Sync,
    SyncAll,
    SyncFolder,
    Target,
    Truncate,
    Write,
)

T = TypeVar("T")

_serial = itertools.count()
_BY_DIRECTORY = ("open", "unlink", "remove", "rmdir", "mkdir", "rename", "replace", "fsync", "sync")
_UNSAFE_NAME = (  # SQLite syncs the folder with the first sync of a file that it opened as one
    apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_SUPER_JOURNAL | apsw.SQLITE_OPEN_WAL
)


class Recorder:
    """The log of a folder. Safe from several threads."""

    def __init__(self, root: Path) -> None:
        """Begin with an empty folder."""
        self.root = root.resolve()
        self.log: list[Change] = []
        """What happened, the first first."""
        self.lock = RLock()
        """Held while something happens and is written down, so that the order is the true one."""
        self._files: dict[str, int] = {}
        self._folders: dict[str, str] = {"": ""}  # their keys
        self._made: set[str] = set()
        self._known: dict[int, bytes] = {}  # what is in the log of the files that are not SQLite's
        self._numbers = itertools.count()
        self.of_sqlite: set[int] = set()
        """Files that are never opened otherwise: closing one would drop SQLite's locks on it."""

    @property
    def now(self) -> int:
        """How many changes there were so far."""
        return len(self.log)

    def path_of(self, place: str | Path) -> str | None:
        """Say which path of ours a place is; None when it lies elsewhere."""
        whole = Path(place).absolute()
        return None if self.root not in whole.parents else str(whole.relative_to(self.root))

    def file(self, path: str) -> int:
        """Return the number of a file, written down as new when nobody knows it."""
        if path not in self._files:
            self._files[path] = next(self._numbers)
            self.log.append(Entry(*self._split(path), self._files[path]))
        return self._files[path]

    def is_known(self, path: str) -> bool:
        """Say whether a path leads to a file that is in the log."""
        return path in self._files

    def gone(self, path: str) -> None:
        """Write down that a name is no more."""
        self._files.pop(path, None)
        self._folders.pop(path, None)
        self.log.append(Entry(*self._split(path), None))

    def made(self, path: str) -> None:
        """Write down that a folder was made."""
        key = path
        while key in self._made:  # another one had the path before
            key += "~"
        self._made.add(key)
        self._folders[path] = key
        self.log.append(Entry(*self._split(path), key))

    def moved(self, old: str, new: str) -> None:
        """Write down that a file, or a folder with all that is in it, has another name."""
        target: Target = self._folders[old] if old in self._folders else self._files[old]
        entries = (Entry(*self._split(new), target), Entry(*self._split(old), None))
        self.log.append(Rename(entries))
        self._files = _carried(self._files, old, new)
        self._folders = _carried(self._folders, old, new)

    def synced(self, folder: str) -> None:
        """Write down that the names in a folder are durable."""
        self.log.append(SyncFolder(self._folders[folder]))

    def synced_all(self) -> None:
        """Write down that everything is durable."""
        for path in self._files:
            self.look(path)
        self.log.append(SyncAll())

    def is_folder(self, path: str) -> bool:
        """Say whether a path leads to a folder."""
        return path in self._folders

    def _split(self, path: str) -> tuple[str, str]:
        folder, _, name = path.rpartition("/")
        return self._folders[folder], name

    def look(self, path: str) -> None:
        """Write down what a file holds by now that is not one of SQLite's.

        Between two looks it is one write, of which a power cut may leave any part.
        """
        number = self.file(path)
        if number in self.of_sqlite:  # whatever is written to it is in the log already
            return
        content = (self.root / path).read_bytes()
        known = self._known.get(number, b"")
        if content != known:
            if len(content) < len(known):
                self.log.append(Truncate(number, len(content)))
            self.log.append(Write(number, 0, content))
            self._known[number] = content


@contextmanager
def recording(root: Path) -> Iterator[Recorder]:
    """Record all that happens below a folder, which is empty at first, until the end."""
    recorder = Recorder(root)
    vfs = _Vfs(recorder)
    try:
        with _standing_in(recorder):
            yield recorder
    finally:
        apsw.set_default_vfs("unix")
        vfs.unregister()


def _carried(known: dict[str, T], old: str, new: str) -> dict[str, T]:
    """Rename a path, and all below it."""
    moving = {path for path in known if path == old or path.startswith(f"{old}/")}
    kept = {path: value for path, value in known.items() if path not in moving | {new}}
    return kept | {new + path.removeprefix(old): known[path] for path in moving}


# -- SQLite's files --------------------------------------------------------------------------------


class _Vfs(apsw.VFS):
    """The system's own, with a look at what is asked of it."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__(f"recording-{next(_serial)}", "unix", makedefault=True)
        self._recorder = recorder

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        place = name.filename() if isinstance(name, apsw.URIFilename) else name
        path = None if place is None else self._recorder.path_of(place)
        if path is None:
            return apsw.VFSFile("unix", name, flags)
        with self._recorder.lock:
            return _VfsFile(self._recorder, path, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        with self._recorder.lock:
            super().xDelete(filename, syncdir)
            path = self._recorder.path_of(filename)
            if path is not None:
                self._recorder.gone(path)
                if syncdir:
                    self._recorder.synced(path.rpartition("/")[0])


class _VfsFile(apsw.VFSFile):
    """One open file."""

    def __init__(
        self,
        recorder: Recorder,
        path: str,
        name: str | apsw.URIFilename | None,
        flags: list[int],
    ) -> None:
        super().__init__("unix", name, flags)
        self._recorder = recorder
        self._number = recorder.file(path)
        recorder.of_sqlite.add(self._number)
        self._folder = path.rpartition("/")[0]
        creates = bool(flags[0] & apsw.SQLITE_OPEN_CREATE)
        self._names_first = creates and bool(flags[0] & _UNSAFE_NAME)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: ANN401 - a buffer; apsw's name
        with self._recorder.lock:
            super().xWrite(data, offset)
            self._recorder.log.append(Write(self._number, offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:
        with self._recorder.lock:
            super().xTruncate(newsize)
            self._recorder.log.append(Truncate(self._number, newsize))

    def xSync(self, flags: int) -> None:
        with self._recorder.lock:
            self._recorder.log.append(Sync(self._number))
            if self._names_first:
                self._recorder.synced(self._folder)
                self._names_first = False


# -- all others ------------------------------------------------------------------------------------


@contextmanager
def _standing_in(recorder: Recorder) -> Iterator[None]:
    """Have the functions of `os` that change files write down what they did."""
    watched = _Watched(recorder)
    own: dict[str, Callable[..., Any]] = {name: getattr(os, name) for name in _BY_DIRECTORY}
    try:
        for name in own:
            setattr(os, name, getattr(watched, name))
        yield
    finally:
        for name, function in own.items():
            setattr(os, name, function)


class _Watched:
    """Functions of `os`, each as it is, and in the log."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._open, self._unlink, self._rmdir = os.open, os.unlink, os.rmdir
        self._mkdir, self._replace, self._fsync = os.mkdir, os.replace, os.fsync

    def _path(self, place: Any, folder: int | None = None) -> str | None:  # noqa: ANN401 - as in os
        beside = Path() if folder is None else Path(f"/proc/self/fd/{folder}").readlink()
        return self._recorder.path_of(beside / os.fsdecode(place))

    def open(
        self,
        path: Any,  # noqa: ANN401 - as in os
        flags: int,
        mode: int = 0o777,
        *,
        dir_fd: int | None = None,
    ) -> int:
        with self._recorder.lock:
            ours = self._path(path, dir_fd) if flags & os.O_CREAT else None
            is_new = ours is not None and not self._recorder.is_known(ours)
            handle = self._open(path, flags, mode, dir_fd=dir_fd)
            if ours is not None and (is_new or flags & os.O_TRUNC):
                self._recorder.look(ours)
            return handle

    def unlink(self, path: Any, *, dir_fd: int | None = None) -> None:  # noqa: ANN401 - as in os
        with self._recorder.lock:
            ours = self._path(path, dir_fd)
            self._unlink(path, dir_fd=dir_fd)
            if ours is not None:
                self._recorder.gone(ours)

    remove = unlink

    def rmdir(self, path: Any, *, dir_fd: int | None = None) -> None:  # noqa: ANN401 - as in os
        with self._recorder.lock:
            ours = self._path(path, dir_fd)
            self._rmdir(path, dir_fd=dir_fd)
            if ours is not None:
                self._recorder.gone(ours)

    def mkdir(self, path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:  # noqa: ANN401 - as in os
        with self._recorder.lock:
            ours = self._path(path, dir_fd)
            self._mkdir(path, mode, dir_fd=dir_fd)
            if ours is not None:
                self._recorder.made(ours)

    def replace(
        self,
        src: Any,  # noqa: ANN401 - as in os
        dst: Any,  # noqa: ANN401 - as in os
        *,
        src_dir_fd: int | None = None,
        dst_dir_fd: int | None = None,
    ) -> None:
        with self._recorder.lock:
            old, new = self._path(src, src_dir_fd), self._path(dst, dst_dir_fd)
            if old is not None and not self._recorder.is_folder(old):
                self._recorder.look(old)
            self._replace(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
            if old is not None and new is not None:
                self._recorder.moved(old, new)

    rename = replace

    def fsync(self, fd: int) -> None:
        with self._recorder.lock:
            ours = self._path("", fd)
            if ours is None:
                self._sync_root(fd)
            elif stat.S_ISDIR(os.fstat(fd).st_mode):
                self._recorder.synced(ours)
            else:
                self._recorder.look(ours)
                self._recorder.log.append(Sync(self._recorder.file(ours)))

    def sync(self) -> None:
        with self._recorder.lock:
            self._recorder.synced_all()

    def _sync_root(self, fd: int) -> None:
        if os.path.samestat(os.fstat(fd), self._recorder.root.stat()):
            self._recorder.synced("")
        else:
            self._fsync(fd)
