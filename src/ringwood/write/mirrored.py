"""Reading the mirror back: every page that is ours, and of every other file why it is none.

Nothing is followed that leads elsewhere, nothing is written, and a file that cannot be read, or was
changed by hand, is listed and does no harm.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ringwood.errors import StorageError
from ringwood.write.mirror import file_name, folder_of
from ringwood.write.page import Page, PageError, read_page

MAX_BYTES = 1_000_000_000
"""Longer files hold none of our texts: the database takes none that long."""
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file of the mirror that is no page of ours, or not any more."""

    file: str
    """Its path, relative to the mirror."""
    reason: str
    """Why, for people: `its head was changed`."""


@dataclass(frozen=True, slots=True)
class Mirrored:
    """A page and where it lies."""

    file: str
    """Its path, relative to the mirror."""
    page: Page
    """What it holds."""


def mirror_files(root: str) -> Iterator[str]:
    """Yield every Markdown file of a mirror, relative to it, in order; none where there is none.

    Links are not followed.

    Raises:
        StorageError: when a folder cannot be read: what lies in it is not known to be gone.
    """

    def refuse(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise StorageError(
                f"The mirror cannot be read: {error.filename}: {error.strerror}.",
                mend="make its folders readable for their owner",
            ) from error

    for folder, folders, names in os.walk(root, onerror=refuse):
        folders.sort()
        for name in sorted(names):
            if name.endswith(".md"):
                yield Path(folder, name).relative_to(root).as_posix()


def read_mirror(root: str) -> Iterator[Mirrored | Skipped]:
    """Read every page of a mirror whose text is the one that its head names, one at a time.

    Raises:
        StorageError: when a folder cannot be read.
    """
    for file in mirror_files(root):
        try:
            page = read_mirrored(root, file)
        except PageError as error:
            yield Skipped(file, str(error))
            continue
        if page.is_whole:
            yield Mirrored(file, page)
        else:
            yield Skipped(file, "its text was changed: it is not the one that its head names")


def read_mirrored(root: str, file: str) -> Page:
    """Read one file of the mirror.

    Raises:
        PageError: when it is not there, is no page of ours, or lies with those of another space.
    """
    try:
        with folder_of(root, file, create=False) as (folder, name):
            handle = os.open(name, _READ, dir_fd=folder)
            with os.fdopen(handle, "rb") as opened:
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    raise PageError("it is no file")
                content = opened.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise PageError("it is not there") from error
    except OSError as error:
        raise PageError(f"it cannot be read: {error.strerror}") from error
    if len(content) > MAX_BYTES:
        raise PageError("it is longer than any text that is kept")
    try:
        page = read_page(content.decode())
    except UnicodeDecodeError as error:
        raise PageError("it is no UTF-8") from error
    if file.split("/")[0] != file_name(page.document.space):
        raise PageError("it lies in the folder of another space than its head names")
    return page
