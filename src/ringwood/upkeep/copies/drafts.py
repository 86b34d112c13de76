"""Drafts of a copy: what is being written beside the target, under a name that nobody takes."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from glob import escape
from pathlib import Path
from shutil import rmtree

STALE_S = 3600.0
"""A draft that nothing was written to for so long has nobody who writes it, seconds."""

_undone: set[Path] = set()
"""Drafts that this process gave up, and could not remove: nothing could be opened."""


def draft_of(target: Path) -> Path:
    """Name a draft of a file or folder, beside it; no two have the same name."""
    return target.with_name(f".{target.name}.{os.urandom(4).hex()}.new")


def give_up(draft: Path) -> None:
    """Remove the folder of a draft; where that fails, with the next copy to the same place."""
    rmtree(draft, ignore_errors=True)
    if draft.exists():
        _undone.add(draft)


def remove_left(target: Path) -> None:
    """Remove the drafts of a target that were given up, or left by processes that were killed."""
    oldest = time.time() - STALE_S
    for draft in target.parent.glob(f".{escape(target.name)}.*.new"):
        with suppress(OSError):  # somebody else removes it, or it is not ours to remove
            if draft.is_dir():
                newest = max(each.stat().st_mtime for each in (draft, *draft.rglob("*")))
                if newest < oldest or draft in _undone:
                    rmtree(draft)
                    _undone.discard(draft)
            elif draft.stat().st_mtime < oldest:
                draft.unlink()
