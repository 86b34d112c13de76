"""Exchanges that no well-meaning host sends: each is stored, or stays alone with its trouble."""

from __future__ import annotations

import pytest
from tests.write.saying import say

from ringwood.capture import spool
from ringwood.capture.exchange import Event
from ringwood.memory import Memory


def test_ids_of_which_one_reads_like_another_stay_two_exchanges(words: Memory) -> None:
    say(words.home, "person", "Apples are stored in the cellar.", session="a:b", sequence="c")
    say(words.home, "person", "Pears hang in the north garden.", session="a", sequence="b:c")

    taken = words.take_in(everything=True)

    assert len(set(taken.documents)) == 2


@pytest.mark.parametrize("odd", ["half \ud800", "nul \0", "a\nb/../c", "x" * 10_000])
def test_any_id_of_a_host_can_be_stored_and_forgotten(words: Memory, odd: str) -> None:
    say(words.home, "person", "Apples are stored in the cellar.", session=odd, sequence=odd)
    say(words.home, "person", "Pears hang in the north garden.")

    taken = words.take_in(everything=True)

    assert (len(taken.documents), taken.failed, taken.waiting) == (2, (), 0)
    [source] = [each.source for each in words.recent() if "Apples" in each.title]
    assert words.forget(source=source).documents == 1


def test_an_exchange_that_cannot_be_stored_keeps_no_other_out(words: Memory) -> None:
    broken = Event(
        host="claude-code", session="half \ud800", sequence="1", kind="person", text="Lost?", at=0.0
    )  # as no way in lets it through
    spool.append(words.home, broken)
    say(words.home, "person", "Pears hang in the north garden.")

    taken = words.take_in(everything=True)

    assert len(taken.documents) == 1
    assert [("claude-code" in told, "Lost" in told) for told in taken.failed] == [(True, False)]
    assert taken.waiting == 1


def test_an_exchange_that_cannot_be_stored_is_tried_ever_more_seldom(words: Memory) -> None:
    for kind, text in (("person", "Lost?"), ("end", "")):
        spool.append(
            words.home,
            Event(host="h", session="half \ud800", sequence="1", kind=kind, text=text, at=0.0),
        )
    first, again = words.take_in(), words.take_in()
    assert (len(first.failed), first.put_off, first.waiting) == (1, 0, 2)
    assert (again.failed, again.put_off, again.waiting) == ((), 1, 2), "two minutes are not over"

    [failing] = words.stats().failing
    assert (failing.work, failing.items, failing.failures) == ("exchange", 1, 1)
    assert "Lost" not in failing.error

    assert len(words.take_in(everything=True).failed) == 1, "whoever asks for it does not wait"
    [failing] = words.stats().failing
    assert (failing.next_at - failing.at).total_seconds() == 240.0

    spool.remove(words.home, spool.waiting(words.home))  # as a person does
    words.take_in_or_note()
    assert words.stats().failing == (), "nothing of it waits any more"


def test_a_time_beyond_all_numbers_is_set_aside(words: Memory) -> None:
    name = spool.append(
        words.home,
        Event(host="h", session="s", sequence="1", kind="end", text="", at=10**400),
    )

    assert words.take_in().waiting == 0
    assert [each for each, _ in spool.set_aside(words.home)] == [name]
