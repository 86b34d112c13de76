"""Read a folder of notes: which files, in which order, as which drafts."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from stat import S_ISREG

from pathspec import GitIgnoreSpec

from ringwood.errors import UsageError
from ringwood.parse.paths import slug
from ringwood.text.block import drop_block
from ringwood.text.clean import decode
from ringwood.write.draft import Draft

IGNORE_FILE = ".ringwoodignore"
ENDINGS = frozenset({".md", ".markdown", ".mdown", ".mkd", ".txt", ".text"})
"""Files that a folder import takes; a file that is named is taken whatever it ends in."""


@dataclass(frozen=True, slots=True)
class NoteOptions:
    """Limits of an import."""

    max_file_mb: float = 16.0
    """Larger files are skipped, and said so: no note is that long."""


@dataclass(frozen=True, slots=True)
class NoteFile:
    """A file to read."""

    path: Path
    """Its real path: the source key."""
    folder: str
    """Path above its document, from the folders below the imported one."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was not taken, and why."""

    file: str
    """Its path."""
    reason: str
    """A few words."""


def find(paths: Sequence[Path]) -> Iterator[NoteFile | Skipped]:
    """Walk files and folders in a fixed order, each file once.

    Hidden files and folders are passed over, links to folders are not followed, and in every
    folder `.ringwoodignore` is obeyed as `.gitignore` would be.

    Raises:
        UsageError: when a path does not exist.
    """
    for path in paths:
        try:
            path.absolute().stat()
        except (OSError, ValueError) as error:  # a name too long, a NUL, a directory that is gone
            reason = error.strerror if isinstance(error, OSError) else error
            raise UsageError(
                f"There is no file or folder {path}: {reason}.", mend="check the path"
            ) from error
    seen: set[Path] = set()
    for path in paths:
        found = _walk(path) if path.is_dir() else iter([NoteFile(_real(path), "")])
        for each in found:
            if isinstance(each, Skipped):
                yield each
            elif each.path not in seen:
                seen.add(each.path)
                yield each


def read(file: NoteFile, space: str, options: NoteOptions) -> Draft | Skipped:
    """Read one file as a draft, or say why not."""
    try:
        facts = file.path.stat()
        if not S_ISREG(facts.st_mode):
            return Skipped(str(file.path), "not a file")
        if facts.st_size > options.max_file_mb * 1_000_000:
            return Skipped(str(file.path), f"larger than {options.max_file_mb:g} MB")
        data = file.path.read_bytes()
    except OSError as error:
        return Skipped(str(file.path), f"cannot be read: {error.strerror}")
    decoded = decode(drop_block(data))  # what we listed ourselves is nobody's note
    if decoded is None:
        return Skipped(str(file.path), "not a text file")
    if not decoded.text.strip():
        return Skipped(str(file.path), "empty")
    return Draft(
        text=decoded.text,
        space=space,
        actor="import",
        stem=file.path.stem,
        folder=file.folder,
        source=source_key(file.path),
        fallback_at=time_of(facts.st_mtime),
        repaired=decoded.repaired,
    )


def time_of(mtime: float) -> datetime | None:
    """Return a file's time, or None for one of those that no calendar has."""
    try:
        return datetime.fromtimestamp(mtime, UTC)
    except (OverflowError, OSError, ValueError):
        return None


def source_key(path: Path) -> str:
    """Return the source key of a file: its real path, undecodable bytes made visible."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _walk(root: Path) -> Iterator[NoteFile | Skipped]:
    """Walk one folder depth first, names in order. By a list, not by recursion: it may be deep."""
    rules: dict[Path, GitIgnoreSpec] = {}
    waiting = [root]
    while waiting:
        place = waiting.pop()
        try:
            folders, files = _listed(place)
            if place / IGNORE_FILE in files:
                rules[place] = _rules(place / IGNORE_FILE)
        except OSError as error:
            # Also where only the rules are unreadable: better nothing than what they leave out.
            yield Skipped(str(error.filename), f"cannot be read: {error.strerror}")
            continue
        waiting += [
            each for each in reversed(folders) if not _ignored(each, root, rules, is_folder=True)
        ]
        for path in files:
            if path.name.startswith(".") or _ignored(path, root, rules, is_folder=False):
                continue
            if path.is_symlink() and not _real(path).is_relative_to(_real(root)):
                # What a stranger's folder points at is not what a person asked to import.
                yield Skipped(str(path), "a link that leads out of the folder")
                continue
            if path.suffix.lower() not in ENDINGS:
                yield Skipped(str(path), f"not a note ({path.suffix or 'no ending'})")
                continue
            below = path.parent.relative_to(root).parts
            yield NoteFile(_real(path), "".join(f"/{slug(part)}" for part in below))


def _listed(place: Path) -> tuple[list[Path], list[Path]]:
    """List folders to enter and files, each in the order of names; links to folders are neither."""
    folders: list[Path] = []
    files: list[Path] = []
    with os.scandir(place) as entries:
        for entry in sorted(entries, key=lambda each: each.name):
            if entry.is_dir(follow_symlinks=False):
                if not entry.name.startswith("."):
                    folders.append(place / entry.name)
            elif not _leads_to_folder(entry):
                files.append(place / entry.name)
    return folders, files


def _leads_to_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads round in a circle, or to where we may not look
        return False


def _real(path: Path) -> Path:
    """Follow links; one that leads nowhere stays as it is, and is refused when it is read."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # before Python 3.13 a circle of links is a RuntimeError
        return path.absolute()


def _rules(file: Path) -> GitIgnoreSpec:
    """Read an ignore file; a line that is no pattern matches nothing, as with git."""
    if not S_ISREG(file.stat().st_mode):
        raise OSError(errno.EINVAL, "not a file", str(file))
    lines = file.read_text("utf-8", "replace").splitlines()
    return GitIgnoreSpec.from_lines(line for line in lines if _is_pattern(line))


def _is_pattern(line: str) -> bool:
    try:
        GitIgnoreSpec.from_lines([line])
    except (ValueError, re.error):
        return False
    return True


def _ignored(path: Path, root: Path, rules: dict[Path, GitIgnoreSpec], *, is_folder: bool) -> bool:
    """Ask the ignore files from the folder of a path up to the imported one."""
    for place in path.parents:
        if place in rules:
            name = path.relative_to(place).as_posix() + ("/" if is_folder else "")
            if rules[place].match_file(name):
                return True
        if place == root:
            break
    return False
