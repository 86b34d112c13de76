"""Events become exchanges: who said what, once, and when it is time to store it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringwood.capture.buffer import CaptureOptions, Exchange, assemble, is_due, merge
from ringwood.capture.exchange import Event
from ringwood.types import Turn

OPTIONS = CaptureOptions()
BEGAN = datetime(2026, 3, 1, 12, tzinfo=UTC)
TOKEN = "ghp_" + "Zk4" * 12

Said = tuple[str, str]
"""Kind and text."""


def named(
    said: Sequence[Said | tuple[str, str, str]], *, session: str = "s", first: int = 0
) -> list[tuple[str, Event]]:
    """Give events file names, a second apart; a third part of each is its sequence."""
    began = int(BEGAN.timestamp())
    events = []
    for number, (kind, text, *sequence) in enumerate(said, start=first):
        event = Event(
            host="codex",
            session=session,
            sequence=sequence[0] if sequence else "",
            kind=kind,
            text=text,
            at=began + number,
            space="/port",
            masked=1,
            dropped=2,
        )
        events.append((f"{(began + number) * 10**9:020d}-{number:08x}.json", event))
    return events


def one(said: Sequence[Said | tuple[str, str, str]]) -> Exchange:
    [exchange] = assemble(named(said))
    return exchange


def words(exchange: Exchange) -> list[Said]:
    return [(turn.actor, turn.text) for turn in exchange.turns]


def after(seconds: float) -> datetime:
    return BEGAN + timedelta(seconds=seconds)


def test_a_question_and_its_answer_are_one_exchange() -> None:
    events = named([("person", "why?"), ("assistant", "because")])

    [exchange] = assemble(events)

    assert words(exchange) == [("person", "why?"), ("assistant", "because")]
    assert exchange.source == f"codex:s:{int(BEGAN.timestamp()) * 10**9}"
    assert exchange.space == "/port"
    assert (exchange.started_at, exchange.heard_at) == (BEGAN, after(1))
    assert exchange.names == tuple(name for name, _ in events)
    assert (exchange.messages, exchange.masked, exchange.dropped) == (2, 2, 4)
    assert not exchange.closed


def test_nothing_heard_is_no_exchange() -> None:
    assert assemble([]) == []


def test_neighbours_of_one_speaker_are_one_turn() -> None:
    exchange = one(
        [("person", "a"), ("person", "b"), ("assistant", "c"), ("assistant", "d"), ("end", "")]
    )

    assert words(exchange) == [("person", "a\n\nb"), ("assistant", "c\n\nd")]
    assert exchange.messages == 4


def test_a_person_who_speaks_after_an_answer_begins_the_next() -> None:
    first, second = assemble(named([("person", "a"), ("assistant", "b"), ("person", "c")]))

    assert words(first) == [("person", "a"), ("assistant", "b")]
    assert words(second) == [("person", "c")]
    assert (first.closed, second.closed) == (True, False)
    assert first.source != second.source


def test_an_end_closes_and_its_file_goes_with_the_exchange() -> None:
    exchange = one([("person", "a"), ("assistant", "b"), ("end", ""), ("end", "")])

    assert exchange.closed
    assert len(exchange.names) == 4


def test_an_end_alone_is_nothing_to_store_and_a_file_to_remove() -> None:
    exchange = one([("end", "")])

    assert exchange.turns == ()
    assert exchange.closed
    assert len(exchange.names) == 1


def test_what_comes_after_an_end_begins_the_next() -> None:
    first, second = assemble(named([("person", "a"), ("end", ""), ("person", "b")]))

    assert (words(first), words(second)) == ([("person", "a")], [("person", "b")])


def test_an_answer_that_comes_after_the_end_belongs_to_what_it_answers() -> None:
    exchange = one([("person", "a"), ("end", ""), ("assistant", "b")])

    assert words(exchange) == [("person", "a"), ("assistant", "b")]
    assert exchange.closed


def test_an_answer_of_another_name_goes_into_no_exchange_that_is_over() -> None:
    said = [("person", "why?", "p1"), ("assistant", "because", "p1")]
    over = [*said, ("end", "", "p1"), ("assistant", "as you wish", "p2"), ("end", "", "p2")]

    assert [words(each) for each in assemble(named(over))] == [
        [("person", "why?"), ("assistant", "because")],
        [("assistant", "as you wish")],
    ]
    assert words(one([*said, ("assistant", "and so", "p2")]))[1:] == [
        ("assistant", "because\n\nand so")
    ]


def test_a_hosts_own_name_names_the_exchange() -> None:
    exchange = one([("person", "a", "t1"), ("assistant", "b", "t1")])

    assert exchange.source == "codex:s:t1"


def test_the_first_name_stays_where_every_event_has_its_own() -> None:
    first, second = assemble(
        named([("person", "a", "5"), ("assistant", "b", "7"), ("person", "c", "9")])
    )

    assert (first.source, second.source) == ("codex:s:5", "codex:s:9")


def test_a_late_answer_finds_the_exchange_that_it_is_named_after() -> None:
    first, second = assemble(
        named(
            [
                ("person", "a", "t1"),
                ("assistant", "b", "t1"),
                ("person", "c", "t2"),
                ("assistant", "late", "t1"),
                ("assistant", "d", "t2"),
            ]
        )
    )

    assert words(first) == [("person", "a"), ("assistant", "b\n\nlate")]
    assert words(second) == [("person", "c"), ("assistant", "d")]


def test_a_person_who_goes_on_under_the_same_name_stays_in_the_exchange() -> None:
    exchange = one([("person", "a", "t1"), ("assistant", "b", "t1"), ("person", "c", "t1")])

    assert [actor for actor, _ in words(exchange)] == ["person", "assistant", "person"]


def test_conversations_that_are_mixed_come_apart() -> None:
    left = named([("person", "a"), ("assistant", "b")], session="left")
    right = named([("person", "c"), ("assistant", "d")], session="right")

    first, second = assemble(event for pair in zip(left, right, strict=True) for event in pair)

    assert (words(first)[0][1], words(second)[0][1]) == ("a", "c")
    assert (first.session, second.session) == ("left", "right")


def test_a_named_event_told_again_adds_its_file_and_no_words() -> None:
    said = [("person", "a", "1"), ("assistant", "b", "2"), ("end", "", "")]

    exchange = one([*said, said[0], said[1]])

    assert words(exchange) == [("person", "a"), ("assistant", "b")]
    assert len(exchange.names) == 5
    assert exchange.messages == 2


def test_without_a_name_a_twin_beside_it_is_the_same_event() -> None:
    exchange = one([("person", "a"), ("person", "a"), ("assistant", "b"), ("assistant", "b")])

    assert words(exchange) == [("person", "a"), ("assistant", "b")]


def test_without_a_name_the_same_words_after_an_answer_are_said_anew() -> None:
    first, second = assemble(
        named([("person", "go on"), ("assistant", "b"), ("person", "go on"), ("assistant", "c")])
    )

    assert words(first) == [("person", "go on"), ("assistant", "b")]
    assert words(second) == [("person", "go on"), ("assistant", "c")]


@pytest.mark.parametrize("cut", range(1, len(TOKEN)))
def test_a_secret_in_two_messages_is_masked_wherever_it_is_cut(cut: int) -> None:
    exchange = one([("person", f"use {TOKEN[:cut]}"), ("person", f"{TOKEN[cut:]} for it")])

    assert words(exchange) == [("person", "use [redacted: github token] for it")]
    assert exchange.masked == 3  # one in each event by itself, and this


def test_messages_that_share_no_secret_are_joined_by_a_blank_line() -> None:
    exchange = one([("person", "the token is"), ("person", "on the shelf")])

    assert words(exchange) == [("person", "the token is\n\non the shelf")]


@pytest.mark.parametrize("at", [float("nan"), float("inf"), -1.0, 0.0, 1e18])
def test_a_time_that_is_none_is_the_spools(at: float) -> None:
    [(name, event)] = named([("person", "a")])
    event.at = at

    [exchange] = assemble([(name, event)])

    assert exchange.started_at == BEGAN


def test_an_answered_exchange_is_due_when_it_was_quiet() -> None:
    exchange = one([("person", "a"), ("assistant", "b")])

    assert not is_due(exchange, after(1 + OPTIONS.idle_s - 0.1), OPTIONS)
    assert is_due(exchange, after(1 + OPTIONS.idle_s), OPTIONS)


def test_an_unanswered_one_waits() -> None:
    assert not is_due(one([("person", "a")]), after(600), OPTIONS)


def test_a_closed_one_is_due_at_once() -> None:
    assert is_due(one([("person", "a"), ("end", "")]), after(0), OPTIONS)


def test_a_long_one_is_due_while_it_goes_on() -> None:
    said: list[Said] = [("person", "a")]
    said += [("assistant", str(number)) for number in range(OPTIONS.max_messages)]

    assert is_due(one(said), after(0), OPTIONS)
    assert not is_due(one(said[:-1]), after(len(said) - 2), OPTIONS)


def test_a_clock_that_was_set_back_holds_nothing_up() -> None:
    assert is_due(one([("person", "a"), ("assistant", "b")]), after(-3600), OPTIONS)


def test_what_was_quiet_for_a_day_is_over() -> None:
    events = named([("person", "a"), ("assistant", "b")])

    [fresh] = assemble(events, after(OPTIONS.max_open_s), OPTIONS)
    [old] = assemble(events, after(OPTIONS.max_open_s + 2), OPTIONS)

    assert (fresh.closed, old.closed) == (False, True)


def test_a_person_who_got_no_answer_and_comes_back_after_days_begins_anew() -> None:
    events = named([("person", "a")]) + named([("person", "b")], first=200_000)

    first, second = assemble(events)

    assert (words(first), words(second)) == ([("person", "a")], [("person", "b")])
    assert (first.closed, second.closed) == (True, False)


PERSON, ANSWER, MORE = Turn("person", "a"), Turn("assistant", "b"), Turn("assistant", "c")
BOTH = Turn("assistant", "b\n\nc")


@pytest.mark.parametrize(
    ("stored", "heard", "merged"),
    [
        ((), (PERSON,), (PERSON,)),
        ((PERSON, ANSWER), (PERSON, ANSWER), (PERSON, ANSWER)),
        ((PERSON,), (PERSON, ANSWER), (PERSON, ANSWER)),
        ((PERSON, ANSWER), (PERSON, BOTH), (PERSON, BOTH)),
        ((PERSON, ANSWER), (PERSON,), (PERSON, ANSWER)),  # told again after its files were gone
        ((PERSON, BOTH), (MORE,), (PERSON, BOTH)),
        ((PERSON, ANSWER), (MORE,), (PERSON, ANSWER, MORE)),
        ((PERSON, ANSWER), (Turn("person", "b"),), (PERSON, ANSWER, Turn("person", "b"))),
        ((PERSON, Turn("assistant", "bc")), (ANSWER,), (PERSON, Turn("assistant", "bc"), ANSWER)),
    ],
)
def test_merging_loses_nothing_and_doubles_nothing(
    stored: tuple[Turn, ...], heard: tuple[Turn, ...], merged: tuple[Turn, ...]
) -> None:
    assert merge(stored, heard) == merged


_EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["person", "assistant", "end"]),
        st.sampled_from(["a", "b", "c"]),
        st.sampled_from(["", "", "1", "2"]),
    ),
    max_size=12,
)


@given(_EVENTS)
def test_every_file_is_in_exactly_one_exchange_and_only_the_last_may_be_open(
    said: list[tuple[str, str, str]],
) -> None:
    events = named(said)

    exchanges = assemble(events)

    assert sorted(name for each in exchanges for name in each.names) == [name for name, _ in events]
    assert all(exchange.closed for exchange in exchanges[:-1])


@given(_EVENTS)
def test_every_message_is_in_an_exchange_of_its_speaker(said: list[tuple[str, str, str]]) -> None:
    exchanges = assemble(named(said))

    for kind, text, _ in said:
        if kind != "end":
            assert any(
                turn.actor == kind and text in turn.text.split("\n\n")
                for exchange in exchanges
                for turn in exchange.turns
            )


@given(_EVENTS, st.integers(0, 11))
def test_a_named_event_may_come_twice_at_any_later_time(
    said: list[tuple[str, str, str]], again: int
) -> None:
    numbered = [(kind, text, str(number)) for number, (kind, text, _) in enumerate(said)]
    if not numbered:
        return
    repeated = numbered[again % len(numbered)]

    once, twice = assemble(named(numbered)), assemble(named([*numbered, repeated]))

    if repeated[0] != "end":
        assert [each.turns for each in twice] == [each.turns for each in once]
