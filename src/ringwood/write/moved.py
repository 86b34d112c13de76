"""Which new file is a known one that was renamed or moved: its document goes on under the new key.

A file is known by its text: the same, or one that shares half of its lines. Pure but for the
question whether a file is gone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath

SHARED = 0.5
"""Share of lines (Dice) from which a new file is an edit of one that is gone."""
SHARED_NAMED = 0.25
"""The same for two of one file name, in different folders."""

_COMMON = 20
"""Files that hold a line from which it says nothing: a template's headings, a rule."""


def find_moved(gone: Mapping[str, str], fresh: Mapping[str, str]) -> dict[str, str]:
    """Pair files that are new with files that are gone.

    Args:
        gone: text by source key of each file that is gone.
        fresh: text by source key of each file that is new.

    Returns:
        The old source key by the new one; best pairs first, each file once.
    """
    before = {source: _lines(text) for source, text in gone.items()}
    after = {source: _lines(text) for source, text in fresh.items()}
    holders: dict[str, list[str]] = defaultdict(list)
    for source, lines in before.items():
        for line in lines:
            holders[line].append(source)
    found = [
        (-share, old, new)
        for new, lines in after.items()
        for old in _proposed(lines, holders)
        if (share := _share(before[old], lines)) >= _least(old, new)
    ]
    pairs: dict[str, str] = {}
    taken: set[str] = set()
    for _, old, new in sorted(found):
        if new not in pairs and old not in taken:
            pairs[new] = old
            taken.add(old)
    return pairs


def is_gone(source: str) -> bool:
    """Say whether a file is there no more, as against one that cannot be seen just now."""
    try:
        Path(source).lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False


def _lines(text: str) -> Counter[str]:
    return Counter(line for each in text.splitlines() if (line := each.strip()))


def _proposed(lines: Iterable[str], holders: Mapping[str, list[str]]) -> set[str]:
    """Choose the files that share a line that few of them hold."""
    return {
        source
        for line in lines
        if len(holders.get(line, ())) <= _COMMON
        for source in holders.get(line, ())
    }


def _share(one: Counter[str], other: Counter[str]) -> float:
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 0.0


def _least(old: str, new: str) -> float:
    return SHARED_NAMED if PurePath(old).name == PurePath(new).name else SHARED
