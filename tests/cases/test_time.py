"""Times are instants: whatever the clock on the wall says where a text is stored or asked for.

Numbers are those of the public reports (kind TIME). Not here, since there is no such thing yet: 69,
a fact that expires (`valid_until`), and of 65 the word "yesterday" in a query, which is a word to
the ranking and is not worked out.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from tests.cases.commands import Command

from ringwood.memory import Memory

ZONES = ["UTC", "Asia/Shanghai", "America/Los_Angeles", "Asia/Kathmandu"]
BEIJING = timezone(timedelta(hours=8))


def live_in(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()


@pytest.fixture(autouse=True)
def _own_zone_afterwards() -> Iterator[None]:
    before = os.environ.get("TZ")
    yield
    os.environ.pop("TZ", None)
    if before is not None:
        os.environ["TZ"] = before
    time.tzset()


@pytest.mark.parametrize("zone", ZONES)  # 67
def test_a_stamp_is_the_instant_in_utc_wherever_it_is_made(
    words: Memory, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    live_in(zone, monkeypatch)
    before = datetime.now(UTC)
    new = words.store("Stored now.")
    dated = words.store("Said in Beijing.", at=datetime(2026, 3, 1, 7, 30, tzinfo=BEIJING))
    after = datetime.now(UTC)

    card = words.read(new.address).document
    assert before <= card.stored_at == card.created_at <= after
    assert card.stored_at.utcoffset() == timedelta(0)
    said = words.read(dated.address).document.created_at
    assert (said, said.utcoffset()) == (datetime(2026, 2, 28, 23, 30, tzinfo=UTC), timedelta(0))


@pytest.mark.parametrize("zone", ZONES)  # 65, 67
def test_the_dates_of_a_file_do_not_move_with_the_zone(
    words: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    live_in(zone, monkeypatch)
    plain, dated = tmp_path / "plain.md", tmp_path / "dated.md"
    plain.write_text("Plain.", "utf-8")
    dated.write_text("---\ndate: 2026-10-02\n---\nDated.", "utf-8")
    changed = datetime(2026, 11, 1, 8, 30, tzinfo=UTC)  # within the hour that Los Angeles has twice
    for file in (plain, dated):
        os.utime(file, (changed.timestamp(), changed.timestamp()))

    words.import_notes([plain, dated])

    created = {document.title: document.created_at for document in words.recent()}
    assert created == {"plain": changed, "dated": datetime(2026, 10, 2, tzinfo=UTC)}
    [page] = Path(words.home, "mirror").rglob("plain.md") if words.wait() else []
    assert 'created: "2026-11-01T08:30:00.000000Z"' in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("zone", "given", "instant"),
    [
        ("UTC", "2026-11-30", "2026-11-30T00:00:00.000Z"),
        ("Asia/Shanghai", "2026-11-30", "2026-11-29T16:00:00.000Z"),
        ("America/Los_Angeles", "2026-11-30", "2026-11-30T08:00:00.000Z"),
        ("America/Los_Angeles", "2026-07-01T12:00", "2026-07-01T19:00:00.000Z"),
        ("America/Los_Angeles", "2026-11-01T01:30", "2026-11-01T08:30:00.000Z"),  # the first of two
        ("America/Los_Angeles", "2026-11-01T01:30-08:00", "2026-11-01T09:30:00.000Z"),
        ("Asia/Shanghai", "2026-11-30T12:00Z", "2026-11-30T12:00:00.000Z"),
    ],
)  # 65
def test_a_time_on_the_command_line_is_local_unless_it_has_a_zone(
    command: Command, monkeypatch: pytest.MonkeyPatch, zone: str, given: str, instant: str
) -> None:
    live_in(zone, monkeypatch)

    stored = command("store", "--at", given, "--json", stdin=b"A text.").json
    shown = command("show", stored["address"], "--json").json

    assert shown["document"]["created_at"] == instant


def test_a_time_that_the_clock_skips_is_taken_as_one_of_its_neighbours(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:  # 65
    live_in("America/Los_Angeles", monkeypatch)

    stored = command("store", "--at", "2026-03-08T02:30", "--json", stdin=b"A text.").json
    shown = command("show", stored["address"], "--json").json

    assert shown["document"]["created_at"] in {
        "2026-03-08T09:30:00.000Z",
        "2026-03-08T10:30:00.000Z",
    }


@pytest.mark.parametrize("zone", ["Asia/Shanghai", "America/Los_Angeles"])  # 65
def test_a_day_begins_at_midnight_of_the_person(
    command: Command, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    live_in(zone, monkeypatch)
    for day, hour in (("2026-11-29", "23:59"), ("2026-11-30", "00:01")):
        command("store", "--at", f"{day}T{hour}", stdin=f"The note of {day} is here.".encode())

    since = command("recent", "--since", "2026-11-30", "--json").json["documents"]
    until = command("recall", "note", "--as-of", "2026-11-30", "--floor", "0", "--json").json[
        "hits"
    ]

    assert [each["title"] for each in since] == ["The note of 2026-11-30 is here."]
    assert {hit["text"] for hit in until} == {"The note of 2026-11-29 is here."}
    assert len(command("recent", "--json").json["documents"]) == 2


@pytest.mark.parametrize("zone", ["Asia/Shanghai", "America/Los_Angeles"])  # 65
def test_the_library_takes_a_time_without_a_zone_as_local_too(
    words: Memory, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    live_in(zone, monkeypatch)
    midnight = datetime(2026, 11, 30)  # noqa: DTZ001 - what a caller may well pass
    words.store("The early note.", at=midnight - timedelta(minutes=1))
    words.store("The late note.", at=midnight + timedelta(minutes=1))

    assert [each.title for each in words.recent(since=midnight)] == ["The late note."]
    assert {hit.text for hit in words.recall("note", as_of=midnight).hits} == {"The early note."}
    assert words.recent()[0].created_at == midnight.astimezone(UTC) + timedelta(minutes=1)


def test_the_first_and_the_last_time_of_the_calendar_break_nothing(words: Memory) -> None:
    for moment in (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)):
        words.store(f"Stored at {moment:%Y}.", at=moment)

    assert len(words.recall("stored").hits) == 2
    assert len(words.recall("stored", as_of=datetime.now(UTC)).hits) == 1
    assert words.wait()
