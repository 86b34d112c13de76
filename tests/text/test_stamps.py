"""A moment that was written is read back to the microsecond; nothing else is taken for one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringwood.text.stamps import read_stamp, write_stamp

ZONES = st.integers(-14 * 60, 14 * 60).map(lambda m: timezone(timedelta(minutes=m)))


@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=ZONES))  # noqa: DTZ001 - hypothesis gives them their zone
def test_what_was_written_is_read_back_in_utc(moment: datetime) -> None:
    back = read_stamp(write_stamp(moment))

    assert back == moment
    assert back.tzinfo is UTC


def test_a_stamp_is_as_fine_as_it_is_asked_for() -> None:
    moment = datetime(2026, 5, 1, 12, 30, 0, 123456, UTC)

    assert write_stamp(moment) == "2026-05-01T12:30:00.123456Z"
    assert write_stamp(moment, "milliseconds") == "2026-05-01T12:30:00.123Z"


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "2026-05-01T12:30:00", "2026-05-01T12:30:00+02:00", "2026-13-01T00:00:00Z"],
)
def test_what_is_no_time_in_utc_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_stamp(text)


def test_a_moment_of_nowhere_is_not_written() -> None:
    with pytest.raises(ValueError, match="zone"):
        write_stamp(datetime(2026, 5, 1))  # noqa: DTZ001 - this is what it must not take
