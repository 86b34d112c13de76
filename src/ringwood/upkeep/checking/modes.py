"""Who may read the files of a home: its owner alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ringwood.errors import StorageError

_OTHERS = 0o077


def open_to_others(home: str) -> Iterator[str]:
    """Yield the home, and the files and folders right in it, that others may read or enter.

    What lies deeper is kept by the folder around it. Nothing where the system knows no such modes.

    Raises:
        StorageError: when the home cannot be looked into.
    """
    if os.name != "posix":
        return
    folder = Path(home)
    try:
        paths = [folder, *sorted(folder.iterdir())]
    except OSError as error:
        raise StorageError(
            f"The home {home} cannot be looked into: {error.strerror}.",
            mend="check the disk and its permissions, then call again",
        ) from error
    for path in paths:
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            continue  # a log that was emptied meanwhile
        if mode & _OTHERS and not path.is_symlink() and not path.is_socket():
            yield str(path)


def close_to_others(home: str) -> int:
    """Take from others what they may do; return how many paths that changed.

    Raises:
        StorageError: when the home is not this user's.
    """
    changed = 0
    for path in open_to_others(home):
        try:
            Path(path).chmod(Path(path).stat().st_mode & 0o700)
        except OSError as error:
            raise StorageError(
                f"{path} cannot be closed to other users: {error.strerror}.",
                mend="let its owner run `ringwood verify --mend`",
            ) from error
        changed += 1
    return changed
