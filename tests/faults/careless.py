"""Negative controls for power cuts: a recorded day, as a careless program would have written it.

Some syncs are taken out of the log, or writes are put into another order. Every line stays a line,
so that what was acknowledged when still holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tests.faults.disk import (
    Change,
    Entry,
    LeftOut,
    Rename,
    Sync,
    SyncAll,
    SyncFolder,
    Truncate,
    Write,
)
from tests.faults.promised import Ledger

HOT, LOG = "home/memory.db", "-wal"
SPOOL, MIRROR = "home/spool", "home/mirror"


@dataclass(frozen=True, slots=True)
class Recording:
    """A day, as it was written to the disk."""

    log: Sequence[Change]
    """Every change, the first first."""
    ledger: Ledger
    """What was promised when."""


Control = Callable[[Recording], Recording]
"""Takes a protection away."""


def synchronous_normal(recorded: Recording) -> Recording:
    """Sync the write-ahead log before a checkpoint only, as `synchronous=NORMAL` does."""
    paths = _paths(recorded.log)

    def is_commit(at: int, change: Change) -> bool:
        if not isinstance(change, Sync) or not paths[change.file].endswith(LOG):
            return False
        pair = (paths[change.file], paths[change.file].removesuffix(LOG))
        following = (
            paths[each.file]
            for each in recorded.log[at:]
            if isinstance(each, (Write, Truncate)) and paths[each.file] in pair
        )
        return next(following, pair[0]) == pair[0]

    return _without(recorded, is_commit)


def lying_disk(recorded: Recording) -> Recording:
    """Sync no file at all."""
    return _without(recorded, lambda at, change: isinstance(change, (Sync, SyncAll)))


def colder_tiers_unsynced(recorded: Recording) -> Recording:
    """Move documents into tiers that are not synced before hot lets go of them."""
    paths = _paths(recorded.log)
    return _without(
        recorded,
        lambda at, change: (
            isinstance(change, Sync)
            and paths[change.file].startswith(("home/memory-warm.db", "home/memory-cold.db"))
        ),
    )


def deleted_first(recorded: Recording) -> Recording:
    """Delete documents in hot before they are in their colder tier."""
    paths = _paths(recorded.log)

    def is_hot(change: Change) -> bool:
        if not isinstance(change, (Write, Truncate, Sync)):
            return False
        return paths[change.file] in (HOT, HOT + LOG)

    log = list(recorded.log)
    for step in recorded.ledger.steps:
        if step.what == "rotate":
            span = log[step.begun : step.done]
            log[step.begun : step.done] = sorted(span, key=lambda each: not is_hot(each))
    return replace(recorded, log=log)


def names_unsynced(folder: str) -> Control:
    """Sync files, and not the names of those in a folder and below it."""

    def is_of_names(at: int, change: Change) -> bool:
        if isinstance(change, SyncAll):
            return True
        return isinstance(change, SyncFolder) and f"{change.folder}/".startswith(f"{folder}/")

    return lambda recorded: _without(recorded, is_of_names)


def contents_unsynced(folder: str) -> Control:
    """Sync the names in a folder, and not what the files hold."""

    def control(recorded: Recording) -> Recording:
        paths = _paths(recorded.log)
        return _without(
            recorded,
            lambda at, change: (
                isinstance(change, Sync) and paths[change.file].startswith(f"{folder}/")
            ),
        )

    return control


def _without(recorded: Recording, is_left_out: Callable[[int, Change], bool]) -> Recording:
    log = [
        LeftOut() if is_left_out(at, change) else change for at, change in enumerate(recorded.log)
    ]
    return replace(recorded, log=log)


def _paths(log: Sequence[Change]) -> dict[int, str]:
    """Say what each file was called last."""
    paths: dict[int, str] = {}
    for change in log:
        for entry in change.entries if isinstance(change, Rename) else (change,):
            if isinstance(entry, Entry) and isinstance(entry.target, int):
                paths[entry.target] = f"{entry.folder}/{entry.name}"
    return paths


CONTROLS: dict[str, dict[str, Control]] = {
    "storing, editing, forgetting": {
        "synchronous=NORMAL": synchronous_normal,
        "a disk that does not sync": lying_disk,
        "names in the mirror not synced": names_unsynced(MIRROR),
        "no name synced": names_unsynced(""),
    },
    "rotating hot, warm, cold": {
        "deleted before it is copied": deleted_first,
        "copies not synced": colder_tiers_unsynced,
        "synchronous=NORMAL": synchronous_normal,
    },
    "capturing and taking in": {
        "names of events not synced": names_unsynced(SPOOL),
        "events not synced": contents_unsynced(SPOOL),
        "names in the home not synced": names_unsynced("home"),
    },
    "dreaming, undoing, reindexing": {"synchronous=NORMAL": synchronous_normal},
    "restoring, backing up": {
        "a disk that does not sync": lying_disk,
        "no name synced": names_unsynced(""),
    },
}
"""What must be found out, by the day that it is tried on."""
