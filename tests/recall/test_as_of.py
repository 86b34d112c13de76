"""As of a day: what was written by then, in the words of then, and nothing that was forgotten."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import fsum

import pytest
from tests.databases import database_of

from ringwood.memory import Memory
from ringwood.types import Recall


def day(month: int, number: int = 1) -> datetime:
    return datetime(2026, month, number, tzinfo=UTC)


JANUARY = (
    "# Queue\n\n## Engine\n\nThe job queue runs on Redis.\n\n## Owner\n\nIda looks after it.\n"
)
MARCH = (
    "# Queue\n\n## Database\n\nThe job queue runs on SQLite.\n\n## Owner\n\nIda looks after it.\n\n"
    "## Limits\n\nThe job queue has one writer.\n"
)
MAY = "# Job queue\n\n## Database\n\nThe job queue runs on PostgreSQL.\n\n## Owner\n\nTom has it.\n"


@pytest.fixture
def queue(memory: Memory) -> Memory:
    """A note in three states, from January, March and May."""
    for month, text in ((1, JANUARY), (3, MARCH), (5, MAY)):
        memory.store(text, source="queue", at=day(month))
    assert memory.wait(30)
    return memory


def asked(
    memory: Memory, at: datetime | None, query: str = "what does the job queue run on"
) -> Recall:
    return memory.recall(query, as_of=at, floor=0.0)


@pytest.mark.parametrize(
    ("at", "text", "section"),
    [
        (day(1, 2), "The job queue runs on Redis.", "Engine"),
        (day(2, 28), "The job queue runs on Redis.", "Engine"),
        (day(3), "The job queue runs on SQLite.", "Database"),
        (day(4), "The job queue runs on SQLite.", "Database"),
        (day(5), "The job queue runs on PostgreSQL.", "Database"),
        (None, "The job queue runs on PostgreSQL.", "Database"),
    ],
)
def test_a_hit_says_what_it_said_then_in_the_place_where_it_stood(
    queue: Memory, at: datetime | None, text: str, section: str
) -> None:
    hits = {hit.text: hit for hit in asked(queue, at).hits}

    assert text in hits
    hit = hits[text]
    assert hit.section is not None
    assert hit.section.text == section
    assert hit.address.split("/")[2] == section.lower()
    assert hit.title_path.startswith("Job queue" if at is None or at >= day(5) else "Queue")


@pytest.mark.parametrize("at", [day(1, 2), day(4)])
def test_no_word_of_a_later_text_is_shown(queue: Memory, at: datetime) -> None:
    shown = asked(queue, at)
    later = {"PostgreSQL", "Tom"} | ({"SQLite", "writer"} if at < day(3) else set())

    blocks = [hit.text + "".join(each.text for each in hit.siblings) for hit in shown.hits]
    assert blocks
    assert not [word for word in later if any(word in block for block in blocks)]


def test_before_it_was_written_nothing_is_there_and_that_is_said(queue: Memory) -> None:
    answer = asked(queue, day(1) - timedelta(seconds=1))

    assert answer.hits == ()
    assert {each.stage for each in answer.dropped} == {"as_of"}
    assert "written later" in answer.dropped[0].reason


def test_a_node_that_came_later_is_dropped_and_its_document_is_not(memory: Memory) -> None:
    memory.store("# Yard\n\nThe gate is green.\n", source="yard", at=day(1))
    memory.store("# Yard\n\nThe gate is green.\n\nThe gate squeaks.\n", source="yard", at=day(3))

    answer = asked(memory, day(2), "gate squeaks")

    assert [hit.text.replace("Yard\n", "") for hit in answer.hits] == ["The gate is green."]
    assert [each.path for each in answer.dropped if each.stage == "as_of"] == [
        "/yard/the-gate-squeaks"
    ]


def test_ages_count_at_the_day_and_from_the_change_before_it(queue: Memory) -> None:
    fresh = {hit.text: hit for hit in asked(queue, day(3)).hits}["The job queue runs on SQLite."]
    old = {hit.text: hit for hit in asked(queue, day(4, 30)).hits}["The job queue runs on SQLite."]

    assert fresh.signals.recency == pytest.approx(1.0)
    assert 0.1 < old.signals.recency < 0.35  # 60 days at a time constant of 45
    assert old.score == pytest.approx(fsum(term.value for term in old.terms), abs=1e-9)


def test_no_access_is_counted_and_a_note_says_what_is_of_today(queue: Memory) -> None:
    answer = asked(queue, day(4))
    queue.wait(10)

    assert any("of then" in note for note in answer.notes)
    assert {line.node.access for line in queue.tree(depth=9)} == {0}


def test_a_forgotten_text_is_shown_as_of_no_day(queue: Memory) -> None:
    queue.forget("/job-queue/owner")
    after = [asked(queue, at, "who looks after it, Ida or Tom") for at in (day(1, 2), day(4), None)]
    assert not [
        hit for each in after for hit in each.hits if "Ida" in hit.text or "Tom" in hit.text
    ]

    queue.forget("/job-queue")

    assert [asked(queue, at).hits for at in (day(1, 2), day(4), None)] == [(), (), ()]


def test_the_past_of_a_document_goes_with_it_to_an_older_tier(queue: Memory) -> None:
    before = [hit.text for hit in asked(queue, day(2)).hits]
    queue.rotate()
    with database_of(queue) as engine, engine.reading() as reader:
        tiers = {each.tier for each in reader.roots("global")}

    assert tiers != {"hot"}
    assert [hit.text for hit in asked(queue, day(2)).hits] == before


def test_a_text_that_was_replaced_is_found_by_its_own_words_as_of_its_day(queue: Memory) -> None:
    assert [hit.text for hit in asked(queue, day(2), "Redis").hits if "Redis" in hit.text]
    assert not [hit for hit in asked(queue, None, "Redis").hits if "Redis" in hit.text]


def test_a_word_of_today_is_no_evidence_for_a_text_of_then(queue: Memory) -> None:
    today = queue.recall("PostgreSQL", floor=0.6)
    then = queue.recall("PostgreSQL", floor=0.6, as_of=day(2))

    assert "PostgreSQL" in today.hits[0].text
    assert then.hits == ()


def test_what_was_taken_out_since_is_found_as_of_its_day_with_what_stood_beside_it(
    queue: Memory,
) -> None:
    [hit, *_] = asked(queue, day(4), "has one writer").hits

    assert "one writer" in hit.text
    assert hit.path.startswith("/queue/limits")


def test_what_never_changed_scores_as_of_a_later_day_as_it_does_today(memory: Memory) -> None:
    memory.store("# Yard\n\nThe gate is green.\n", at=day(1))
    memory.wait(30)
    now = memory.recall("gate", floor=0.0, counted=False).hits
    then = memory.recall("gate", floor=0.0, as_of=datetime.now(UTC)).hits

    assert [(hit.text, round(hit.score, 6)) for hit in then] == [
        (hit.text, round(hit.score, 6)) for hit in now
    ]
