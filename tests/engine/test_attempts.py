"""What failed is remembered, and comes back when it is due."""

from __future__ import annotations

from datetime import datetime, timedelta

from tests.engine.making import NOON, store

from ringwood.engine.attempts import Attempt, Waiting
from ringwood.engine.base import Engine

NOW = NOON + timedelta(days=1)
HOUR = timedelta(hours=1)


def failed(work: str, item: int | str, *, next_at: datetime, failures: int = 1) -> Attempt:
    """Make an attempt of an hour ago that failed."""
    return Attempt(work, str(item), NOW - HOUR, next_at, failures, error="down")


def due(engine: Engine, waiting: Waiting, now: datetime = NOW, *, again: bool = True) -> list[int]:
    """List the ids of what is due."""
    with engine.reading() as reader:
        found = reader.due_documents(waiting, now, limit=10, again=again)
    return [each.id for each in found]


def test_a_document_that_failed_is_due_again_when_its_time_has_come(engine: Engine) -> None:
    first, _ = store(engine, "One.")
    second, _ = store(engine, "Two.")
    with engine.writing() as writer:
        writer.set_state(first.id, "failed", "down")
        writer.put_attempts([failed("embed", first.id, next_at=NOW + HOUR)])

    assert due(engine, "embed") == [second.id]
    assert due(engine, "embed", NOW + HOUR) == [second.id, first.id], "what failed comes last"
    assert due(engine, "embed", NOW + HOUR, again=False) == [second.id]
    assert due(engine, "embed", NOW - 2 * HOUR) == [second.id, first.id], "the clock went back"


def test_an_edited_document_does_not_wait_for_what_its_old_text_did(engine: Engine) -> None:
    first, _ = store(engine, "One.")
    with engine.writing() as writer:
        writer.put_attempts([failed("embed", first.id, next_at=NOW + HOUR)])

    assert due(engine, "embed") == [first.id]


def test_a_mirror_file_that_failed_is_due_again_when_its_time_has_come(engine: Engine) -> None:
    first, _ = store(engine, "One.")
    second, _ = store(engine, "Two.")
    with engine.writing() as writer:
        writer.put_attempts([failed("mirror", first.id, next_at=NOW + HOUR)])

    assert due(engine, "mirror") == [second.id]
    assert due(engine, "mirror", NOW + HOUR) == [first.id, second.id]
    assert due(engine, "mirror", NOW + HOUR, again=False) == [second.id]


def test_attempts_are_read_back_and_dropped(engine: Engine) -> None:
    begun = Attempt("embed", "7", NOW, NOW, 2, under_way=True)
    late = failed("exchange", "ab12", next_at=NOW + HOUR)
    with engine.writing() as writer:
        writer.put_attempts([begun, late, failed("rotate", "", next_at=NOW + 2 * HOUR)])
    with engine.reading() as reader:
        assert reader.attempt("embed", "7") == begun
        assert reader.under_way("embed") == (begun,)
        assert reader.under_way("exchange") == ()
        assert reader.attempts("exchange") == (late,)
        assert [each.work for each in reader.attempts()] == ["embed", "exchange", "rotate"]
        assert reader.next_attempt(["rotate", "exchange"], NOW) == NOW + HOUR
        assert reader.next_attempt(["mirror"], NOW) is None

    with engine.writing() as writer:
        writer.drop_attempts("embed", ["7", "8"])
        writer.drop_attempts("rotate")
    with engine.reading() as reader:
        assert reader.attempts() == (late,)


def test_nothing_is_remembered_of_a_document_that_is_gone(engine: Engine) -> None:
    first, _ = store(engine, "One.")
    with engine.writing() as writer:
        writer.put_attempts([failed("embed", first.id, next_at=NOW)])
        writer.put_attempts([failed("mirror", first.id, next_at=NOW)])
        writer.put_attempts([failed("exchange", first.id, next_at=NOW)])
        writer.delete_document(first.id)
    with engine.reading() as reader:
        assert [each.work for each in reader.attempts()] == ["exchange"]
