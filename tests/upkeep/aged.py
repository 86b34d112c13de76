"""Memories with a past: documents of many ages, and rotations at a given time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

from ringwood.engine.base import Engine, TierOptions
from ringwood.types import Tier
from ringwood.upkeep.aging.rotate import Rotated, Work, rotate
from ringwood.write.draft import Draft, Intake
from ringwood.write.ingest import ingest

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def text_of(number: int) -> str:
    """Write a note of several nodes; each has words of its own, and some are everybody's."""
    return (
        f"# Pump {number}\n\nThe pump in hall {number % 7} leaks near valve v{number}.\n\n"
        f"## Repair\n\nReplace gasket g{number}.\n\n更换第{number}号垫片。\n\n"
        f"- `port {8000 + number}`\n"
    )


def fill(
    engine: Engine, ages_days: Iterable[float], *, stored_at: datetime = NOW, space: str = "global"
) -> list[int]:
    """Store a note of each age, in days before `NOW`; give back the ids."""
    drafts = [
        Draft(
            text=text_of(number),
            space=space,
            actor="person",
            source=f"note {number}",
            created_at=NOW - timedelta(days=age),
        )
        for number, age in enumerate(ages_days)
    ]
    done = ingest(engine, drafts, Intake(stored_at, "ready"))
    return [each.document for each in done if each.document is not None]


def rotated(
    engine: Engine,
    now: datetime = NOW,
    *,
    options: TierOptions | None = None,
    dry_run: bool = False,
    on_document: Callable[[int, int], None] = lambda done, total: None,
) -> Rotated:
    """Rotate at a given time."""
    given = options or TierOptions()
    return rotate(engine, given, now, dry_run=dry_run, work=Work(on_document))


def tiers_of(engine: Engine, documents: Iterable[int]) -> list[Tier | None]:
    """Say where each document lies; None where it is gone."""
    with engine.reading() as reader:
        cards = reader.documents(documents)
    return [cards[each].tier if each in cards else None for each in documents]
