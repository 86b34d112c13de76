"""The pause after a failure grows, and a death counts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from ringwood.write.retry import DIED, LONGEST_S, Piece, begun, died, failed, pause_s

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
PIECE = Piece("embed", "7")


def test_the_pause_doubles_up_to_an_hour() -> None:
    assert [pause_s(n, 120.0) for n in range(1, 8)] == [120, 240, 480, 960, 1920, 3600, 3600]


def test_a_longer_first_pause_than_an_hour_is_kept() -> None:
    assert pause_s(1, 9000.0) == pause_s(5, 9000.0) == 9000.0


@given(st.integers(1, 10**6), st.floats(0.0, 1e6))
def test_there_is_always_a_pause_and_it_never_shrinks(failures: int, retry_s: float) -> None:
    assert 0.0 < pause_s(failures, retry_s) <= pause_s(failures + 1, retry_s)
    assert pause_s(failures + 1, retry_s) <= max(retry_s, LONGEST_S)


def test_each_failure_in_a_row_is_counted() -> None:
    first = failed(PIECE, None, "down", NOW, 120.0)
    second = failed(PIECE, begun(PIECE, first, first.next_at), "down", first.next_at, 120.0)

    assert (first.failures, first.next_at - first.at) == (1, timedelta(seconds=120))
    assert (second.failures, second.next_at - second.at) == (2, timedelta(seconds=240))
    assert not second.is_due(second.at)
    assert second.is_due(second.next_at)
    assert second.is_due(second.at - timedelta(days=40)), "a clock that went back delays nothing"


def test_the_first_death_delays_nothing_and_the_second_does() -> None:
    once = died(begun(PIECE, None, NOW), 120.0)
    assert (once.failures, once.under_way, once.error) == (1, False, DIED)
    assert once.is_due(NOW)

    twice = died(begun(PIECE, once, NOW), 120.0)
    assert twice.next_at == NOW + timedelta(seconds=120)
    assert not twice.is_due(NOW)
