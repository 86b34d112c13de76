"""Which space a working directory belongs to. Standard library only: a hook's process imports this.

A space is keyed by the real path of the repository's common git directory, so that all worktrees
of a repository share one memory, and a worktree that is deleted takes nothing with it. A folder
outside any repository is its own space; the root folder and the person's home folder belong to the
space `global`. A folder that is gone counts as what is left of the way to it: what is said
in it must not be told everywhere because somebody removed it meanwhile.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Container
from itertools import chain, count

from ringwood.names import GLOBAL

_LONGEST = 4096  # characters of a path: no system has longer ones


def space_key(directory: str) -> str | None:
    """Return the key of the space of a directory, or None where that is `global`.

    Always text that can be stored: bytes of a path that are no text are written out.
    """
    there = standing(directory)
    if not there:
        return None
    place = os.path.realpath(there)
    if place in {os.path.realpath(os.path.expanduser("~")), os.path.dirname(place)}:
        return None
    key = _common_git_directory(place) or place
    return os.fsencode(key).decode("utf-8", "backslashreplace")


def standing(directory: str) -> str:
    """Return a directory, or the nearest above it that is there; empty where none is."""
    if len(directory) > _LONGEST:
        return ""
    while not os.path.isdir(directory):
        above = os.path.dirname(directory)
        if above in ("", directory):
            return ""
        directory = above
    return directory


def space_slug(key: str | None) -> str:
    """Return the name that a space with this key asks for: its folder's name as a slug."""
    if key is None:
        return GLOBAL
    folder = key
    if os.path.basename(folder) == ".git":
        folder = os.path.dirname(folder)
    name = unicodedata.normalize("NFKC", os.path.basename(folder)).casefold()
    name = re.sub(r"[^\w]+", "-", name.removesuffix(".git")).strip("-_")[:60]
    # A folder called `global` must not open the space that everybody reads.
    return {"": "space", GLOBAL: "global-folder"}.get(name, name)


def free_name(slug: str, taken: Container[str]) -> str:
    """Return the name that a space of this slug is given where others have theirs already."""
    names = chain([slug], (f"{slug}~{number}" for number in count(2)))
    return next(name for name in names if name not in taken)


def _common_git_directory(place: str) -> str | None:
    while True:
        marker = os.path.join(place, ".git")
        if os.path.isdir(marker):
            return os.path.realpath(marker)
        if os.path.isfile(marker):
            return _follow_worktree(marker)
        above = os.path.dirname(place)
        if above == place:
            return None
        place = above


def _follow_worktree(marker: str) -> str | None:
    """Resolve a worktree's `.git` file to the common directory of its repository."""
    git_directory = _read_pointer(marker, "gitdir:")
    if git_directory is None:
        return None
    common = _read_pointer(os.path.join(git_directory, "commondir"), "")
    return common or git_directory


def _read_pointer(file: str, prefix: str) -> str | None:
    try:
        with open(file, encoding="utf-8", errors="surrogateescape") as lines:
            line = lines.readline().strip()
    except OSError:
        return None
    if not line.startswith(prefix):
        return None
    target = line[len(prefix) :].strip()
    return os.path.realpath(os.path.join(os.path.dirname(file), target))
