"""Whether what is said may be kept: capture paused, here or everywhere, or a folder left out.

    <home>/paused            capture is paused everywhere
    <home>/paused-spaces     keys of the spaces where it is, as JSON strings, one a line

A `.ringwoodignore` in a folder or above it leaves the folder out. What cannot be read counts as a
no: a word too few is kept rather than one too many. Recall goes on in any case.

On a hook's path: standard library only, without dataclasses, typing or enum.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from fnmatch import fnmatchcase

from ringwood import home as homes
from ringwood.capture.space import space_key
from ringwood.errors import StorageError, refusal

PAUSED_FILE = "paused"
PAUSED_SPACES_FILE = "paused-spaces"
IGNORE_FILE = ".ringwoodignore"

_IGNORE_CHARS = 65_536  # of an ignore file: a clone may bring one of any size
_EVERYTHING = {"*", "**", ".", "", "**/*"}


def is_paused(home: str, directory: str) -> bool:
    """Say whether nothing may be captured in a working directory, for any of the reasons."""
    return is_paused_everywhere(home) or is_paused_here(home, directory) or is_left_out(directory)


def is_paused_everywhere(home: str) -> bool:
    """Say whether capture is paused in all spaces."""
    return os.path.lexists(os.path.join(home, PAUSED_FILE))


def is_paused_here(home: str, directory: str) -> bool:
    """Say whether capture is paused in the space of a directory by itself."""
    try:
        paused = _paused_spaces(home)
    except (OSError, ValueError):
        return True
    return bool(paused) and space_key(directory) in paused


def is_paused_in(home: str, key: str | None) -> bool:
    """Say whether capture is paused everywhere or in the space with a key; None is `global`'s."""
    try:
        return is_paused_everywhere(home) or key in _paused_spaces(home)
    except (OSError, ValueError):
        return True


def is_left_out(directory: str) -> bool:
    """Say whether a `.ringwoodignore` leaves a directory out; the last line that fits decides.

    The file of the directory itself is the last, and those above come first, from the person's home
    folder or the root folder down.
    """
    try:
        place = os.path.realpath(directory) if directory else ""
    except ValueError:  # a NUL or a lone surrogate: no folder at all
        place = ""
    left_out = False
    for parts, lines in _ignore_files(place) if place else ():
        for line in lines:
            pattern = line.strip()
            if not pattern or pattern.startswith("#"):
                continue
            wanted = not pattern.startswith("!")
            if _fits(pattern.removeprefix("!"), parts):
                left_out = wanted
    return left_out


def pause(home: str, directory: str | None) -> None:
    """Pause capture everywhere, or in the space of a directory. Idempotent.

    Raises:
        StorageError: when the disk refuses; then nothing is paused.
    """
    homes.create_home(home)
    if directory is None:
        homes.write_private(os.path.join(home, PAUSED_FILE), "")
        return
    paused = _mendable_spaces(home)
    _write_spaces(home, [*paused, space_key(directory)])


def resume(home: str, directory: str | None) -> None:
    """Let capture go on where `pause` stopped it, everywhere or in a space. Idempotent.

    Resuming everywhere leaves paused the spaces that were paused by themselves.

    Raises:
        StorageError: when the disk refuses; then it stays paused.
    """
    if directory is None:
        try:
            os.unlink(os.path.join(home, PAUSED_FILE))
        except FileNotFoundError:
            return
        except OSError as error:
            mend = f"remove {os.path.join(home, PAUSED_FILE)} yourself"
            raise refusal(error, "Capture stays paused", mend=mend) from error
    elif is_paused_here(home, directory):
        key = space_key(directory)
        _write_spaces(home, [each for each in _mendable_spaces(home) if each != key])


def _paused_spaces(home: str) -> list[str | None]:
    """Read the keys of the paused spaces; None is that of `global`.

    Raises:
        OSError: when the file cannot be read.
        ValueError: when it holds anything else.
    """
    try:
        with open(os.path.join(home, PAUSED_SPACES_FILE), encoding="utf-8") as file:
            keys = [json.loads(line) for line in file if line.strip()]
    except FileNotFoundError:
        return []
    if not all(key is None or isinstance(key, str) for key in keys):
        raise ValueError("not the keys of spaces")
    return keys


def _mendable_spaces(home: str) -> list[str | None]:
    """Read the keys of the paused spaces to write them anew; what is no list of them is given up.

    Raises:
        StorageError: when the file cannot be read.
    """
    try:
        return _paused_spaces(home)
    except ValueError:
        return []
    except OSError as error:
        path = os.path.join(home, PAUSED_SPACES_FILE)
        raise StorageError(
            f"{path} cannot be read: {error.strerror}.", mend=f"check the permissions of {path}"
        ) from error


def _write_spaces(home: str, keys: list[str | None]) -> None:
    lines = "".join(json.dumps(key) + "\n" for key in dict.fromkeys(keys))
    homes.write_private(os.path.join(home, PAUSED_SPACES_FILE), lines)


def _ignore_files(place: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yield, for every ignore file from the outermost inwards, the way from it and its lines."""
    top = os.path.realpath(os.path.expanduser("~"))
    folders = [place]
    while folders[-1] not in (top, os.path.dirname(folders[-1])):
        folders.append(os.path.dirname(folders[-1]))
    for folder in reversed(folders):
        lines = _lines(os.path.join(folder, IGNORE_FILE))
        if lines:
            way = os.path.relpath(place, folder)
            yield ([] if way == os.curdir else way.split(os.sep)), lines


def _lines(path: str) -> list[str]:
    """Read an ignore file; one that cannot be read leaves out everything."""
    if not os.path.isfile(path):  # never open what may be a pipe: a hook would hang on it
        return ["*"] if os.path.lexists(path) else []
    try:
        with open(path, encoding="utf-8-sig", errors="surrogateescape") as file:
            text = file.read(_IGNORE_CHARS)
    except OSError:
        return ["*"]
    return ["*"] if "\0" in text else text.splitlines()  # UTF-16: nobody knows what it says


def _fits(pattern: str, parts: list[str]) -> bool:
    """Say whether a pattern means the folder of its file as a whole, or one on the way from it.

    A pattern with a slash inside counts from the folder of its file, another one at any depth.
    """
    body = pattern.strip("/")
    if body in _EVERYTHING:
        return True
    wanted = body.split("/")
    if len(wanted) == 1 and not pattern.startswith("/"):
        return any(fnmatchcase(part, body) for part in parts)
    return any(_leads(wanted, parts[:length]) for length in range(1, len(parts) + 1))


def _leads(wanted: list[str], parts: list[str]) -> bool:
    """Say whether patterns match names one by one; `**` matches any number of them, also none.

    All ways of matching go on side by side: one after the other they would be too many.
    """
    reached = _passed(wanted, {0})
    for part in parts:
        reached = _passed(
            wanted,
            {
                at if wanted[at] == "**" else at + 1
                for at in reached
                if at < len(wanted) and (wanted[at] == "**" or fnmatchcase(part, wanted[at]))
            },
        )
    return len(wanted) in reached


def _passed(wanted: list[str], reached: set[int]) -> set[int]:
    for at, each in enumerate(wanted):
        if each == "**" and at in reached:
            reached.add(at + 1)
    return reached
