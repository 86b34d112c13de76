"""Drafts of a copy: what is being written beside the target, under a name that nobody takes.

The name alone says what may be done: one that ends in `.new` has somebody who writes it, until an
hour passes in which nobody did; one that ends in `.left` was given up, and whoever makes the next
copy to the same place removes it.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from glob import escape
from pathlib import Path
from shutil import rmtree

STALE_S = 3600.0
"""A draft that nothing was written to for so long has nobody who writes it, seconds."""


def draft_of(target: Path) -> Path:
    """Name a draft of a file or folder, beside it; no two have the same name."""
    return target.with_name(f".{target.name}.{os.urandom(4).hex()}.new")


def give_up(draft: Path) -> None:
    """Remove the folder of a draft; where that fails, leave it to the next copy to the same place.

    It fails where nothing can be opened any more: a folder is opened to be emptied, and renamed
    without.
    """
    rmtree(draft, ignore_errors=True)
    if draft.exists():
        with suppress(OSError):  # then it is removed when it is old
            draft.rename(draft.with_suffix(".left"))


def remove_left(target: Path) -> None:
    """Remove the drafts of a target that were given up, or left by processes that were killed."""
    name = escape(target.name)
    for draft in target.parent.glob(f".{name}.*.left"):
        rmtree(draft, ignore_errors=True)
    oldest = time.time() - STALE_S
    for draft in target.parent.glob(f".{name}.*.new"):
        with suppress(OSError):  # somebody else removes it, or it is not ours to remove
            if not draft.is_dir():
                if draft.stat().st_mtime < oldest:
                    draft.unlink()
            elif max(each.stat().st_mtime for each in (draft, *draft.rglob("*"))) < oldest:
                rmtree(draft)
