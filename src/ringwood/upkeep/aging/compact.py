"""Compact: make the files as small as what they hold, one tier after the other.

    empty the log -> optimise the words -> VACUUM -> empty the log

A reader that began before and has not ended keeps the log from being emptied. It is waited for a
little; then that tier is left for later, which harms nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from time import sleep

from ringwood.engine.base import Engine
from ringwood.types import TIERS, Tier

PAUSES_S = (0.1, 0.3, 1.0, 3.0)
"""Pauses between tries to empty a log, seconds: a recall takes a tenth, a backup longer."""


@dataclass(frozen=True, slots=True)
class Shrunk:
    """What compacting one tier came to."""

    before: int
    """Bytes of its files before, write-ahead log included."""
    after: int
    """Bytes of them afterwards; in a dry run, about what they would be."""
    later: bool
    """Whether a reader was in the way for so long that it is left for another time."""


@dataclass(frozen=True, slots=True)
class Compacted:
    """What compacting came to, read back."""

    tiers: Mapping[Tier, Shrunk]
    """Per tier that is there and was asked for."""
    before: int
    """Bytes of them together before."""
    after: int
    """Bytes of them together afterwards; in a dry run, about what they would be."""
    later: tuple[Tier, ...]
    """Tiers that are left for another time."""
    missing_tiers: tuple[Tier, ...]
    """Tiers that cannot be opened."""
    notes: tuple[str, ...]
    """What kept it from doing all, in sentences."""
    dry_run: bool
    """Whether nothing was written."""


def compact(
    engine: Engine,
    *,
    tiers: Iterable[Tier] = TIERS,
    dry_run: bool = False,
    on_tier: Callable[[Tier], None] = lambda tier: None,
) -> Compacted:
    """Make the files of tiers as small as what they hold.

    Args:
        engine: the home's database.
        tiers: which; those that are missing are left out, and that is noted.
        dry_run: write nothing, only say about how much would be given back.
        on_tier: told each tier before it is begun; may raise to stop.

    Raises:
        FullError: when there is too little room; the tiers before are done.
        BusyError: when the write lock was not had in time.
        StorageError: when the disk refuses. Either way every file is whole.
    """
    with engine.reading() as reader:
        gone = reader.missing_tiers
    wanted = [tier for tier in TIERS if tier in set(tiers)]
    missing = tuple(tier for tier in wanted if tier in gone)
    done: dict[Tier, Shrunk] = {}
    for tier in wanted:
        if tier not in missing:
            on_tier(tier)
            done[tier] = _planned(engine, tier) if dry_run else _compact_one(engine, tier)
    later = tuple(tier for tier, each in done.items() if each.later)
    notes = [f"The {tier} tier is missing: it stays as it is." for tier in missing]
    notes += [
        f"The {tier} tier is left for later: a reader holds its log. Give the command again when"
        " that has ended."
        for tier in later
    ]
    return Compacted(
        tiers=done,
        before=sum(each.before for each in done.values()),
        after=sum(each.after for each in done.values()),
        later=later,
        missing_tiers=missing,
        notes=tuple(notes),
        dry_run=dry_run,
    )


def log_notes(engine: Engine) -> tuple[str, ...]:
    """Say in sentences which write-ahead logs are large, and why."""
    return tuple(
        f"The log of the {tier} tier has {log.bytes / 1e6:,.0f} MB: "
        + (
            "something still reads what was there before; it shrinks when that has ended."
            if log.held
            else "the next write empties it."
        )
        for tier, log in engine.large_logs().items()
    )


def _planned(engine: Engine, tier: Tier) -> Shrunk:
    there = engine.footprint(tier)
    return Shrunk(there.bytes, there.content_bytes, later=False)


def _compact_one(engine: Engine, tier: Tier) -> Shrunk:
    before = engine.footprint(tier).bytes
    # First without: a file written anew into a log that is held would only make it longer.
    emptied = _empty_log(engine, tier)
    if emptied:
        engine.vacuum(tier)
        emptied = _empty_log(engine, tier)
    return Shrunk(before, engine.footprint(tier).bytes, later=not emptied)


def _empty_log(engine: Engine, tier: Tier) -> bool:
    """Empty a log, trying again while readers are in the way; writers get their turn between."""
    for pause_s in PAUSES_S:
        if engine.empty_log(tier):
            return True
        sleep(pause_s)
    return engine.empty_log(tier)
