"""Moments as text, the way files and answers hold them: RFC 3339, UTC, with a `Z`. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def write_stamp(moment: datetime, timespec: str = "microseconds") -> str:
    """Write an aware moment, to the microsecond or to what `timespec` says; `read_stamp` reads it.

    A naive moment raises ValueError: nobody knows when it was.
    """
    if moment.tzinfo is None:
        raise ValueError("a moment without a zone")
    return moment.astimezone(UTC).isoformat(timespec=timespec).replace("+00:00", "Z")


def read_stamp(text: str) -> datetime:
    """Read a moment back, in UTC.

    Raises:
        ValueError: when it is no time, or none in UTC.
    """
    moment = datetime.fromisoformat(text)
    if moment.utcoffset() != timedelta(0):
        raise ValueError("it is no time in UTC")
    return moment.astimezone(UTC)
