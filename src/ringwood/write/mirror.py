"""The Markdown mirror: every document as a file, for people, git and rebuilding.

    <home>/mirror/<space>/<path>.md

A file is written to a draft, synced and renamed, and its folder synced: what the database says of
the mirror holds after a power cut, and what was removed stays so. That a page is being written is
noted before: see `strays` for what becomes of one that no document had in the end. Folders are
opened one by one and never through a symbolic link: a link planted in the mirror leads nowhere.
Hand edits are not read back.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from ringwood import home as homes
from ringwood.durable import replacing, sync_folder
from ringwood.engine.base import Writer
from ringwood.errors import StorageError, refusal
from ringwood.types import Document
from ringwood.write.retry import Piece, begun

PAGE: Final = "page"
"""Notes of pages that are being written or removed, by `note_of`."""
MAX_NAME_BYTES = 200
"""File systems end at 255 bytes; the rest is for our endings."""
_RACES = 5
"""How often a file is tried again whose folder was removed meanwhile."""
_DRAFT = ".ringwood-draft-"
"""Drafts lie side by side in the mirror's own folder, where the next process finds all of them."""
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_MEANWHILE = "the memory is safe, the mirror catches up"


@dataclass(frozen=True, slots=True)
class MirrorOptions:
    """Whether there is a mirror."""

    enabled: bool = True
    """False: no file is written; what was written stays."""


def note_pages(writer: Writer, documents: Iterable[Document]) -> tuple[str, ...]:
    """Note that the pages of documents are about to be written or removed.

    Returns:
        The notes, to be dropped when the database knows of the pages again: `id:key:whose`. Two who
        are at one page have a note each, and neither drops that of the other.
    """
    now, whose = datetime.now(UTC), os.urandom(4).hex()
    notes = tuple(f"{each.id}:{page_key(mirror_path(each))}:{whose}" for each in documents)
    writer.put_attempts(begun(Piece(PAGE, note), None, now) for note in notes)
    return notes


def drop_notes(writer: Writer, notes: Iterable[str]) -> None:
    """Note that the database knows of pages again."""
    writer.drop_attempts(PAGE, notes)


def page_key(relative: str) -> str:
    """Name a page by a digest: its path would say words of a text that may be forgotten."""
    return hashlib.sha256(relative.encode()).hexdigest()[:32]


def mirror_path(document: Document) -> str:
    """Return a document's file, relative to the mirror: `space/folder/title.md`."""
    parts = [document.space, *document.path.strip("/").split("/")]
    return "/".join(file_name(part) for part in parts) + ".md"


def make_root(root: str) -> None:
    """Make the mirror's folder, if it is not there, and see that it is one.

    Raises:
        StorageError: when no file can be written in it, whichever.
    """
    homes.create_folder(root)
    try:
        with _root(root):
            pass
    except OSError as error:
        raise refusal(
            error,
            f"The mirror's folder {root} cannot be opened",
            meanwhile=_MEANWHILE,
        ) from error


def write_file(root: str, relative: str, content: str) -> None:
    """Replace one file of the mirror in one step.

    Raises:
        StorageError: when a folder or the file cannot be written, or a symbolic link is in the way.
    """
    for _ in range(_RACES):
        try:
            return _replace(root, relative, content)
        except FileNotFoundError:
            continue  # somebody removed the folder, empty for a moment, before our file was in it
        except OSError as error:
            raise _refused(root, relative, error) from error
    raise _refused(root, relative, FileNotFoundError(errno.ENOENT, "the folder keeps vanishing"))


def _replace(root: str, relative: str, content: str) -> None:
    with folder_of(root, relative, create=True) as (folder, name), _root(root) as top:
        draft = f"{_DRAFT}{os.urandom(4).hex()}"
        # Durable on return, folder and all: only then says the database that the file is there.
        with replacing(name, folder=folder, draft=draft, draft_folder=top) as file:
            file.write(content.encode())


def is_there(root: str, relative: str) -> bool:
    """Say whether there is a file, whatever it holds.

    Raises:
        StorageError: when its folder cannot be read.
    """
    try:
        with folder_of(root, relative, create=False) as (folder, name):
            os.stat(name, dir_fd=folder, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise _refused(root, relative, error) from error
    return True


def remove_drafts(root: str) -> None:
    """Remove what a killed process left half written; whoever is at it now begins again."""
    with suppress(OSError), _root(root) as top:
        drafts = [name for name in os.listdir(top) if name.startswith(_DRAFT)]
        for name in drafts:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=top)
        if drafts:
            sync_folder(top)


def remove_file(root: str, relative: str) -> bool:
    """Remove one file, all drafts, and the folders left empty; False when there is no file.

    Raises:
        StorageError: when the file is there and cannot be removed.
    """
    remove_drafts(root)
    try:
        with folder_of(root, relative, create=False) as (folder, name):
            os.unlink(name, dir_fd=folder)
            sync_folder(folder)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return False  # a folder of that name is none of ours
    except OSError as error:
        raise _refused(root, relative, error) from error
    parts = relative.split("/")[:-1]
    with suppress(OSError):
        while parts:
            with folder_of(root, "/".join(parts), create=False) as (folder, name):
                os.rmdir(name, dir_fd=folder)
                sync_folder(folder)
            parts.pop()
    return True


@contextmanager
def _root(root: str) -> Iterator[int]:
    top = os.open(root, _FOLDER)
    try:
        yield top
    finally:
        os.close(top)


@contextmanager
def folder_of(root: str, relative: str, *, create: bool) -> Iterator[tuple[int, str]]:
    """Open the folder of a file, following no link; yield its descriptor and the file's name."""
    *folders, name = relative.split("/")
    if create:
        homes.create_folder(root)
    here = os.open(root, _FOLDER)
    try:
        for part in folders:
            if create:
                with suppress(FileExistsError):
                    os.mkdir(part, 0o700, dir_fd=here)
                    sync_folder(here)
            below = os.open(part, _FOLDER, dir_fd=here)
            os.close(here)
            here = below
        yield here, name
    finally:
        os.close(here)


def file_name(part: str) -> str:
    """Make a path part a safe file name: ours are slugs already, a space's name may be anything."""
    safe = "".join(c if c.isalnum() or c in "-_~." else "-" for c in part).strip(".") or "-"
    if safe != part or len(safe.encode()) > MAX_NAME_BYTES:
        digest = hashlib.sha256(part.encode()).hexdigest()[:8]
        safe = f"{safe.encode()[: MAX_NAME_BYTES - 10].decode(errors='ignore')}-{digest}"
    return safe


def _refused(root: str, relative: str, error: OSError) -> StorageError:
    what = f"The mirror file {relative} under {root} cannot be written"
    return refusal(error, what, meanwhile=_MEANWHILE)
