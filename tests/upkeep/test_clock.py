"""A clock is doubted when it says something unlikely, and believed when it goes on saying so."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from tests.upkeep.aged import NOW

from ringwood.upkeep.aging.clock import Leaving, Marks, after_doubt, doubt

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
YESTERDAY = Marks(rotated_at=NOW - DAY, stored_at=NOW - HOUR, doubted_at=None)


def test_a_tier_that_becomes_due_at_once_is_doubted_and_a_few_documents_are_not() -> None:
    assert doubt(NOW, YESTERDAY, {"hot": Leaving(100, 51)}) is not None
    assert doubt(NOW, YESTERDAY, {"hot": Leaving(100, 50)}) is None


def test_a_small_store_may_move_at_once() -> None:
    assert doubt(NOW, YESTERDAY, {"hot": Leaving(49, 49)}) is None
    assert doubt(NOW, YESTERDAY, {"hot": Leaving(50, 50)}) is not None


def test_the_tiers_are_judged_one_by_one() -> None:
    large_and_quiet = Leaving(100_000, 0)

    assert doubt(NOW, YESTERDAY, {"cold": large_and_quiet, "warm": Leaving(60, 60)}) is not None


@pytest.mark.parametrize("newer", [(2, 0), (0, 2)])
def test_a_clock_that_went_back_is_doubted(newer: tuple[int, int]) -> None:
    def marks(unit: timedelta) -> Marks:
        rotated, stored = newer
        return Marks(NOW + rotated * unit, NOW + stored * unit, None)

    assert doubt(NOW, marks(DAY), {}) is not None
    assert doubt(NOW, marks(6 * HOUR), {}) is None


@pytest.mark.parametrize(
    ("since_doubt", "believed"),
    [(timedelta(0), False), (HOUR - timedelta(seconds=1), False), (HOUR, True), (31 * DAY, False)],
)
def test_a_doubted_clock_is_believed_an_hour_later(
    since_doubt: timedelta, *, believed: bool
) -> None:
    marks = Marks(NOW - 40 * DAY, NOW - 40 * DAY, doubted_at=NOW - since_doubt)

    assert (doubt(NOW, marks, {"hot": Leaving(100, 100)}) is None) == believed


def test_a_home_that_was_never_used_has_nothing_to_compare_with() -> None:
    assert doubt(NOW, Marks(None, None, None), {"hot": Leaving(100, 100)}) is None


def ask_every(pause: timedelta, marks: Marks, *, times: int) -> list[bool]:
    """Ask a clock that goes on by itself, again and again; say each time whether it is believed."""
    said: list[bool] = []
    now: datetime = NOW
    for _ in range(times):
        said.append(doubt(now, marks, {"hot": Leaving(100, 100)}) is None)
        marks = after_doubt(now, marks)
        now += pause
    return said


@pytest.mark.parametrize(
    ("pause", "believed"),
    [
        (timedelta(minutes=25), [False, False, False, True]),  # each doubt begins no new hour
        (6 * HOUR, [False, True, True, True]),
        (14 * DAY, [False, True, True, True]),
        (90 * DAY, [False, False, True, True]),  # somebody who comes by seldom
    ],
)
def test_a_home_that_lay_unused_for_half_a_year_is_not_held_for_ever(
    pause: timedelta, believed: list[bool]
) -> None:
    unused = Marks(NOW - 180 * DAY, NOW - 180 * DAY, doubted_at=None)

    assert ask_every(pause, unused, times=4) == believed


def test_a_second_jump_is_doubted_like_the_first() -> None:
    first = after_doubt(NOW, YESTERDAY)
    years_later = NOW + 730 * DAY

    assert doubt(NOW + HOUR, first, {"hot": Leaving(100, 100)}) is None
    assert doubt(years_later, first, {"hot": Leaving(100, 100)}) is not None


def test_a_clock_that_goes_back_begins_a_new_doubt() -> None:
    ahead = after_doubt(NOW + 730 * DAY, YESTERDAY)

    again = after_doubt(NOW, ahead)

    assert (again.doubted_at, again.doubts) == (NOW, 1)
