"""Files that are there whole or not at all, also after a power cut.

    draft -> sync -> rename -> sync of the folder

On a hook's path: standard library only, without dataclasses, typing or enum.
"""

from __future__ import annotations

import errno
import io
import os
from types import TracebackType

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
# What a file system says that keeps names in its own way, and has no sync for a folder.
_NO_SUCH_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS)


class replacing:
    """Write a file that takes its name when it is whole: yields its draft, open, 0600.

    The draft has a name that nobody else takes, and is gone where anything fails; what had the name
    before is then untouched. Only where the very last step fails, the sync of the folder, has the
    new file taken its place, and a power cut may bring the old one back.

    Raises:
        OSError: when the disk refuses.
    """

    def __init__(
        self,
        path: str,
        *,
        draft: str | None = None,
        folder: int | None = None,
        draft_folder: int | None = None,
        synced: bool = True,
    ) -> None:
        """Say what is written; nothing is opened.

        Args:
            path: the name that it takes.
            draft: what it is called until then; None: by `draft_of`, beside it.
            folder: descriptor of the folder that `path` begins in; None: the working directory.
            draft_folder: the same of `draft`.
            synced: False for what nobody would miss after a power cut: a sync may take long.
        """
        self._path = path
        self._folder = folder
        self._draft = draft_of(path) if draft is None else draft
        self._draft_folder = draft_folder
        self._synced = synced

    def __enter__(self) -> io.BufferedWriter:
        handle = os.open(self._draft, _NEW_FILE, 0o600, dir_fd=self._draft_folder)
        self._file = os.fdopen(handle, "wb")
        return self._file

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        placed = False
        try:
            if kind is None:
                self._place()
                placed = True
        finally:
            if not placed:
                self._give_up()
        if placed and self._synced:
            sync_folder(os.path.dirname(self._path) if self._folder is None else self._folder)

    def _place(self) -> None:
        self._file.flush()
        if self._synced:
            os.fsync(self._file.fileno())
        self._file.close()
        os.replace(self._draft, self._path, src_dir_fd=self._draft_folder, dst_dir_fd=self._folder)

    def _give_up(self) -> None:
        """Leave nothing; a disk that refuses that too has told why already."""
        for step in (self._file.close, lambda: os.unlink(self._draft, dir_fd=self._draft_folder)):
            try:  # noqa: SIM105 - contextlib costs a hook more than this module does
                step()
            except OSError:
                pass


def draft_of(path: str) -> str:
    """Name a draft of a file, beside it; no two have the same name."""
    return f"{path}.{os.urandom(4).hex()}.new"


def sync_folder(folder: str | int) -> None:
    """Make the names in a folder durable, where there is such a thing.

    Syncing a file makes durable what it holds; that it has a name is written in its folder.

    Args:
        folder: its path, empty for the working directory; or its descriptor.

    Raises:
        OSError: when the disk refuses.
    """
    if not hasattr(os, "O_DIRECTORY"):
        return
    if isinstance(folder, int):
        _sync(folder)
        return
    try:
        handle = os.open(folder or os.curdir, _FOLDER)
    except PermissionError:  # somebody else's, which we may go through and not list
        return
    try:
        _sync(handle)
    finally:
        os.close(handle)


def _sync(handle: int) -> None:
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NO_SUCH_SYNC:
            raise


def sync_tree(folder: str) -> None:
    """Make durable all files and names below a folder that nobody writes to.

    Raises:
        OSError: when the disk refuses.
    """
    if hasattr(os, "sync"):
        # Once for all, so that nothing is left to be written one by one. It keeps quiet about what
        # could not be written; syncing a file after it does not.
        os.sync()
    for place, _, names in os.walk(folder, topdown=False, onerror=_refuse):
        for name in names:
            handle = os.open(os.path.join(place, name), os.O_RDWR)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        sync_folder(place)


def _refuse(error: OSError) -> None:
    raise error
