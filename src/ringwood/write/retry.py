"""When what failed is tried again. Pure: an attempt and the time go in, the next attempt comes out.

The pause doubles with each failure in a row, up to an hour. An attempt is written down before it is
made, where it may end the process that makes it: whoever comes next then knows what it died of.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ringwood.engine.attempts import Attempt

RETRY_S = 120.0
"""The first pause, seconds: a server that restarts is back by then."""
LONGEST_S = 3600.0
"""The longest pause, seconds: whoever mends the cause waits no longer for the rest."""

DIED = "The process that was at it ended before it was done."
"""What is known of an attempt that ended its process."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of work that may fail."""

    work: str
    """As in `Attempt.work`."""
    item: str = ""
    """As in `Attempt.item`."""


def pause_s(failures: int, retry_s: float) -> float:
    """Return how long to wait after so many failures in a row, seconds.

    Args:
        failures: at least 1.
        retry_s: the first pause; 0, which means that nothing is tried again by itself, counts as
            the default for whatever asks all the same.
    """
    first_s = retry_s or RETRY_S
    doublings = min(failures - 1, 30)
    return float(min(first_s * 2**doublings, max(first_s, LONGEST_S)))


def begun(piece: Piece, before: Attempt | None, now: datetime) -> Attempt:
    """Say that a piece of work is begun now; how often it failed is kept."""
    known = before or Attempt(piece.work, piece.item, now, now)
    return replace(known, at=now, next_at=now, under_way=True)


def failed(
    piece: Piece, before: Attempt | None, error: str, now: datetime, retry_s: float
) -> Attempt:
    """Say that a piece of work failed now, and when to try it again."""
    failures = 1 + (before.failures if before is not None else 0)
    pause = timedelta(seconds=pause_s(failures, retry_s))
    return Attempt(piece.work, piece.item, now, now + pause, failures, error=error)


def died(before: Attempt, retry_s: float) -> Attempt:
    """Say that whoever was at a piece of work is dead.

    Most die of something else, a host that closes or a person's Ctrl-C: the first time it is tried
    again at once, and by itself. From the second time on there is a pause.
    """
    failures = before.failures + 1
    pause = timedelta(seconds=pause_s(failures - 1, retry_s) if failures > 1 else 0.0)
    return replace(
        before, failures=failures, next_at=before.at + pause, under_way=False, error=DIED
    )
