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


def draft_of(target: Path) -> Path:
    """Name a draft of a file or folder, beside it; no two have the same name."""
    return target.with_name(f".{target.name}.{os.urandom(4).hex()}.new")


def remove_left(target: Path) -> None:
    """Remove the drafts of a target that processes left which were killed."""
    oldest = time.time() - STALE_S
    for draft in target.parent.glob(f".{escape(target.name)}.*.new"):
        with suppress(OSError):  # somebody else removes it, or it is not ours to remove
            if draft.is_dir():
                if max(each.stat().st_mtime for each in (draft, *draft.rglob("*"))) < oldest:
                    rmtree(draft)
            elif draft.stat().st_mtime < oldest:
                draft.unlink()
