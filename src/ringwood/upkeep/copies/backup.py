"""Backup: a folder that opens as a home, made while others write.

    spool -> tiers, all of one moment -> mirror -> small files -> sync -> the folder gets its name

The spool comes first: what leaves it meanwhile is in the tiers by then, and what is stored twice is
one document. Databases are copied by SQLite's own means, never as files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from shutil import disk_usage

from ringwood import home as homes
from ringwood.durable import sync_folder, sync_tree
from ringwood.engine.base import Engine
from ringwood.engine.transfer import FileCopy
from ringwood.errors import FullError, StorageError, UsageError, refusal
from ringwood.types import TIERS, Tier
from ringwood.upkeep.copies.drafts import draft_of, give_up, remove_left
from ringwood.upkeep.copies.export import ELSEWHERE

SPOOL_FOLDER = "spool"
_LOCK = "lock"
"""The one file of the spool that is nobody's words."""
_RESERVE = 16 * 1024 * 1024
"""Bytes that are left free on the target's disk."""


@dataclass(frozen=True, slots=True)
class BackedUp:
    """What a backup came to, read back."""

    target: str
    """The folder."""
    tiers: Mapping[Tier, int]
    """Bytes of every tier file."""
    missing_tiers: tuple[Tier, ...]
    """Tiers that cannot be read: there is no file of them."""
    mirror_files: int
    """Files of the mirror."""
    spool_files: int
    """Captured events that wait to be stored."""
    bytes: int
    """All together; in a dry run, about what it would take."""
    free: int
    """Bytes free on the target's disk before."""
    dry_run: bool
    """Whether nothing was written."""


@dataclass(frozen=True, slots=True)
class BackupPlan:
    """What is copied, and where to."""

    home: Path
    """The home's folder."""
    target: Path
    """A folder that is not there, or is empty."""
    files: Mapping[str, str]
    """Small files of the home by name."""
    dry_run: bool = False
    """Write nothing."""


def backup(
    engine: Engine, plan: BackupPlan, on_page: Callable[[int, int], None] = lambda done, total: None
) -> BackedUp:
    """Copy a home into a new folder.

    Args:
        engine: the home's database.
        plan: what and where to.
        on_page: told how many of how many database pages are copied; may raise to stop.

    Raises:
        UsageError: when the target holds something, or lies in the home.
        FullError: when the target's disk has too little room.
        StorageError: when either disk refuses. Nothing is left of the backup then.
    """
    try:
        return _backed_up(engine, plan, on_page)
    except OSError as error:
        raise _refusal(plan, error) from error


def _backed_up(engine: Engine, plan: BackupPlan, on_page: Callable[[int, int], None]) -> BackedUp:
    _require_free(plan)
    folders = {name: plan.home / name for name in (SPOOL_FOLDER, homes.MIRROR_FOLDER)}
    sizes = engine.tier_bytes()
    needed = sum(sizes.values()) + sum(_weight(folder) for folder in folders.values())
    free = disk_usage(_nearest(plan.target)).free
    if needed + _RESERVE > free:
        raise FullError(
            f"The backup takes {needed / 1e6:.0f} MB; at {plan.target} {free / 1e6:.0f} MB are"
            " free.",
            mend="free some space there, or choose another disk",
        )
    missing = tuple(tier for tier in TIERS if tier not in sizes)
    if plan.dry_run:
        counts = {name: sum(1 for _ in _files(folder)) for name, folder in folders.items()}
        return _report(plan, sizes, missing, counts, needed, free)
    with _Draft(plan.target) as draft:
        counts = {SPOOL_FOLDER: _copy_files(folders[SPOOL_FOLDER], draft / SPOOL_FOLDER)}
        copies = engine.copy_to(draft, on_page)
        mirror = draft / homes.MIRROR_FOLDER
        counts[homes.MIRROR_FOLDER] = _copy_files(folders[homes.MIRROR_FOLDER], mirror)
        engine.match_mirror(draft)
        for name, text in plan.files.items():
            homes.write_private(str(draft / name), text)
        written = _weight(draft)
    return _report(plan, _bytes_of(copies), missing, counts, written, free)


def _refusal(plan: BackupPlan, error: OSError) -> StorageError:
    """Say which of the two places fails."""
    if isinstance(error.filename, str) and Path(error.filename).is_relative_to(plan.home):
        return StorageError(
            f"{error.filename} cannot be read: {error.strerror}; there is no backup without it.",
            mend="check the disk and its permissions, then call again",
        )
    return refusal(error, f"{plan.target} cannot be written", mend=ELSEWHERE)


def _bytes_of(copies: tuple[FileCopy, ...]) -> dict[Tier, int]:
    return {each.tier: each.bytes for each in copies}


def _report(
    plan: BackupPlan,
    tiers: Mapping[Tier, int],
    missing: tuple[Tier, ...],
    counts: Mapping[str, int],
    size: int,
    free: int,
) -> BackedUp:
    return BackedUp(
        target=str(plan.target),
        tiers=tiers,
        missing_tiers=missing,
        mirror_files=counts[homes.MIRROR_FOLDER],
        spool_files=counts[SPOOL_FOLDER],
        bytes=size,
        free=free,
        dry_run=plan.dry_run,
    )


def _require_free(plan: BackupPlan) -> None:
    """Refuse a target that is somebody's already."""
    target = Path(os.path.realpath(plan.target))  # which, unlike `resolve`, minds no ring of links
    if target.is_relative_to(os.path.realpath(plan.home)):
        raise UsageError(
            f"{plan.target} lies in the home that is to be backed up.",
            mend="choose a folder outside it, best on another disk",
        )
    if os.path.lexists(plan.target) and (not plan.target.is_dir() or any(plan.target.iterdir())):
        raise UsageError(
            f"{plan.target} holds something already: a backup never writes over anything.",
            mend="name a new folder, for example with the date in it",
        )


def _nearest(path: Path) -> Path:
    """Find the nearest folder above that is there."""
    path = path.resolve()
    while not path.exists():
        path = path.parent
    return path


class _Draft:
    """A folder beside the target that gets the target's name when all in it is durable."""

    def __init__(self, target: Path) -> None:
        self._target = target.resolve()
        self._folder = draft_of(self._target)

    def __enter__(self) -> Path:
        remove_left(self._target)
        try:
            homes.create_folder(str(self._folder))
        except BaseException:  # it may be there, and its name not known to last
            give_up(self._folder)
            raise
        return self._folder

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._place()
        finally:
            give_up(self._folder)

    def _place(self) -> None:
        """Let the draft be the backup, or nothing where it is not known to last."""
        sync_tree(str(self._folder))
        if self._target.is_dir():
            self._target.rmdir()
        self._folder.rename(self._target)
        try:
            sync_folder(str(self._target.parent))
        except BaseException:
            self._target.rename(self._folder)
            raise


def _files(folder: Path) -> Iterator[Path]:
    """List the files below a folder; a symbolic link is none, and leads nowhere.

    Raises:
        OSError: when a folder cannot be read: what lies in it would be missing without a word.
    """

    def refuse(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise error

    for place, names, files in os.walk(folder, onerror=refuse, followlinks=False):
        names.sort()
        for name in sorted(files):
            path = Path(place) / name
            if name != _LOCK and not path.is_symlink() and path.is_file():
                yield path


def _weight(folder: Path) -> int:
    """Count the bytes of the files below a folder; what goes meanwhile weighs nothing."""
    total = 0
    for path in _files(folder):
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            continue
    return total


def _copy_files(source: Path, target: Path) -> int:
    """Copy the files below a folder, but those that are gone by the time they are read."""
    copied = 0
    for path in _files(source):
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            continue
        copy = target / path.relative_to(source)
        _make_folders(copy.parent, target)
        descriptor = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        copied += 1
    return copied


def _make_folders(folder: Path, top: Path) -> None:
    """Make a folder and those above it up to `top`, each its owner's alone."""
    for each in reversed([folder, *folder.parents]):
        if each.is_relative_to(top):
            each.mkdir(mode=0o700, exist_ok=True)
