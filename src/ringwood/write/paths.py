"""Where a document goes: paths that nothing else in the space has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

from ringwood.parse.paths import UNTITLED, slug


def assign_paths(root: str, relative: Sequence[str], is_free: Callable[[str], bool]) -> list[str]:
    """Put relative paths below a root, with `~2` where another document has the path already.

    Args:
        root: wanted path of the document.
        relative: paths below it, ancestors before descendants; the first is "".
        is_free: whether a path is not another document's.
    """
    final: dict[str, str] = {}
    used: set[str] = set()

    def is_mine(path: str) -> bool:
        return path not in used and is_free(path)

    for path in relative:
        above, _, name = path.rpartition("/")
        final[path] = numbered(f"{final[above]}/{name}" if path else root, is_mine)
        used.add(final[path])
    return [final[path] for path in relative]


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
