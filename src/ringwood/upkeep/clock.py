"""Whether the clock can be believed, before documents are moved by their age.

A clock that jumps by forty days makes everything look old at once. A home that lay unused for forty
days looks the same; what tells them apart is time. So a clock that says something unlikely is
doubted, and believed when it still says so an hour later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
FORGOTTEN = timedelta(days=7)
"""How long a doubt counts: a clock that has since gone further has jumped again."""


@dataclass(frozen=True, slots=True)
class Marks:
    """When the clock was read before."""

    rotated_at: datetime | None
    """When the last rotation moved what was due, or found nothing to move. UTC."""
    stored_at: datetime | None
    """When the newest document was taken in. UTC."""
    doubted_at: datetime | None
    """What the clock said when it was last doubted. UTC."""

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
    if marks.doubted_at is not None and SETTLED <= now - marks.doubted_at <= FORGOTTEN:
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


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}"
