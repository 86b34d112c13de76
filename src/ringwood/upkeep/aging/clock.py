"""Whether the clock can be believed, before documents are moved by their age.

A clock that jumps by forty days makes everything look old at once. A home that lay unused for forty
days looks the same; what tells them apart is time. So a clock that says something unlikely is
doubted, and believed when it still says so an hour later. Who comes by less than once a month is
believed the third time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ringwood.types import Tier

BACKWARD = timedelta(days=1)
"""How far the clock may have gone back unnoticed: more than a wrong time zone."""
BULK = 50
"""Documents of a tier from which on moving most of them at once is unlikely."""
SHARE = 0.5
"""Share of a tier that is most of it."""
SETTLED = timedelta(hours=1)
"""How long after a doubt the clock is believed: a wrong one is mostly mended by then."""
FORGOTTEN = timedelta(days=30)
"""How long a doubt counts: a clock that has since gone further may have jumped again."""
PATIENCE = 2
"""Doubts in a row after which the clock is believed all the same: somebody comes by seldom."""


@dataclass(frozen=True, slots=True)
class Marks:
    """When the clock was read before."""

    rotated_at: datetime | None
    """When the last rotation moved what was due, or found nothing to move. UTC."""
    stored_at: datetime | None
    """When the newest document was taken in. UTC."""
    doubted_at: datetime | None
    """What the clock said when it was doubted: the first time within an hour. UTC."""
    doubts: int = 0
    """How often it was doubted since it was last believed, hours or more apart."""

    @property
    def last(self) -> datetime | None:
        """The last moment that is believed: of a rotation, before the first one of a store."""
        return self.rotated_at or self.stored_at


@dataclass(frozen=True, slots=True)
class Leaving:
    """How many documents of one tier would move."""

    documents: int
    """All that the tier holds."""
    due: int
    """Those that became due since the clock was last believed."""


def doubt(now: datetime, marks: Marks, leaving: Mapping[Tier, Leaving]) -> str | None:
    """Say in a sentence why nothing should be moved by this clock; None where it is believed.

    Args:
        now: what it says. UTC.
        marks: what it said before.
        leaving: what would move, per tier.
    """
    if marks.doubted_at is not None:
        since = now - marks.doubted_at
        if since >= SETTLED and (since <= FORGOTTEN or marks.doubts >= PATIENCE):
            return None
    known = [at for at in (marks.rotated_at, marks.stored_at) if at is not None]
    if known and now < max(known) - BACKWARD:
        return (
            f"The clock says {_day(now)}, but this home was in use on {_day(max(known))}:"
            " nothing is moved by such a clock before it has been so for an hour."
        )
    for tier, each in leaving.items():
        if each.documents >= BULK and each.due > SHARE * each.documents and marks.last is not None:
            return (
                f"{each.due} of {each.documents} {tier} documents became due at once, since"
                f" {_day(marks.last)}: a clock that jumped would look the same, so nothing is moved"
                " before it has been so for an hour."
            )
    return None


def after_doubt(now: datetime, marks: Marks) -> Marks:
    """Note a doubt. One that follows another within the hour is the same doubt, and not a new hour.

    Args:
        now: what the clock says. UTC.
        marks: what is known of it.
    """
    before = marks.doubted_at
    if before is not None and timedelta(0) <= now - before < SETTLED:
        return marks
    goes_on = before is not None and now > before
    return replace(marks, doubted_at=now, doubts=marks.doubts + 1 if goes_on else 1)


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}"
