"""Where a document goes: paths that nothing else in the space has."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

from ringwood.parse.paths import UNTITLED, slug

_NUMBER = re.compile(r"(?:~\d+)+$")


def assign_paths(
    root: str,
    relative: Sequence[str],
    is_free: Callable[[str, int], bool],
    kept: Sequence[str | None] | None = None,
) -> list[str]:
    """Put relative paths below a root, numbered where a path is another node's, as `~2`.

    A node keeps the path it had, number included, while its name and what is above it stay.

    Args:
        root: wanted path of the document.
        relative: paths below it, ancestors before descendants; the first is "".
        is_free: whether a path may be given to the node at a position.
        kept: the path that each node had before; None for a new one.
    """
    final: dict[str, str] = {}
    used: set[str] = set()
    for position, path in enumerate(relative):

        def is_mine(wanted: str, position: int = position) -> bool:
            return wanted not in used and is_free(wanted, position)

        above, _, name = path.rpartition("/")
        wanted = unnumbered(f"{final[above]}/{name}" if path else root)
        before = None if kept is None else kept[position]
        if before is not None and unnumbered(before) == wanted and is_mine(before):
            final[path] = before
        else:
            final[path] = numbered(wanted, is_mine)
        used.add(final[path])
    return [final[path] for path in relative]


def unnumbered(path: str) -> str:
    """Return a path without the number that sets it apart from others of its name."""
    return _NUMBER.sub("", path)


def numbered(path: str, is_free: Callable[[str], bool]) -> str:
    """Return a path, with the first number that makes it free where it is not.

    Numbers are tried in doubling steps, then halved: the ten-thousandth document of one title asks
    28 times and not ten thousand. Where numbers in between were given up, it may be a later one.
    """
    if is_free(path):
        return path
    taken, free = 1, 2
    while not is_free(f"{path}~{free}"):
        taken, free = free, 2 * free
    while free - taken > 1:
        middle = (taken + free) // 2
        if is_free(f"{path}~{middle}"):
            free = middle
        else:
            taken = middle
    return f"{path}~{free}"


def slug_path(path: str) -> str:
    """Turn any path that a caller gives into slugs: `/Notes/New Idea` -> `/notes/new-idea`."""
    parts = [slug(part) for part in PurePosixPath(path).parts if part.strip("/. ")]
    return "/" + "/".join(parts or [UNTITLED])
