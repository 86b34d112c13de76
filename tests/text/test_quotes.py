"""What repeats a recalled text goes; what is new, or says the contrary, stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scaling import grows_at_most

from ringwood.text.quotes import drop_quotes

RECALLED = (
    "The harbour crane is rated for ninety tonnes. It was built in 1974, repainted lately.",
    "- Pilots board at the outer buoy, weather permitting.\n- We do not use tugs for barges here.",
    "起重机每年三月检修一次，由外包队负责。吃水超过九米的船要等涨潮。",
    "Radio traffic goes over port channel 1480",
    "Who has the keys?",
)


@pytest.mark.parametrize(
    ("said", "left"),
    [
        (RECALLED[0], ""),
        ("You noted: “The harbour crane is rated for ninety tonnes.” So no.", "You noted: So no."),
        ("The harbour crane is rated for ninety tonnes.\nMine.", "Mine."),
        ("> Who has the keys?\n\nThe porter.", "\nThe porter."),  # short, but all of a text
        ("* **Pilots board at the outer buoy**, weather permitting.\n* Mine.", "* Mine."),
        ("> The harbour crane is\n> rated for ninety tonnes.\n\nMine.", "\nMine."),
        ("1. We do not use tugs for barges here.\n2. Mine.", "2. Mine."),
        (
            "根据记录：起重机每年三月检修一次，由外包队负责。我会提前通知。",
            "根据记录：我会提前通知。",
        ),
        ("ＴＨＥ harbour CRANE is rated for ninety tonnes!", ""),
        ("Pilots board at the outer buoy. We do not use tugs for barges here.", ""),
    ],
)
def test_a_passage_that_was_recalled_goes(said: str, left: str) -> None:
    kept, dropped = drop_quotes(said, RECALLED)

    assert dropped > 0
    assert kept == left


@pytest.mark.parametrize(
    "said",
    [
        "Use tugs for barges here.",  # stands in `do not use`
        "We do not use tugs for barges here unless it blows.",
        "The harbour crane is rated for nineteen tonnes.",
        "Radio traffic goes over port channel 148",  # stands in 1480
        "It was built in 1974.",  # too short to be anybody's
        "The crane is fine, and I think the harbour crane is rated for ninety tonnes, no more.",
        "起重机每年五月检修一次，由外包队负责。",
        "",
    ],
)
def test_what_is_new_or_says_the_contrary_stays(said: str) -> None:
    assert drop_quotes(said, RECALLED)[0] is said


@given(st.text(max_size=200))
def test_where_nothing_was_recalled_a_text_is_the_same_object(said: str) -> None:
    assert drop_quotes(said, ())[0] is said
    assert drop_quotes(said, ("", " \n"))[0] is said


_NEW = st.text(st.sampled_from("abcdefgh ij\n\n,x"), max_size=60)


@given(_NEW, st.sampled_from(RECALLED), _NEW)
def test_new_lines_around_a_quotation_stay_to_the_letter(
    before: str, quotation: str, after: str
) -> None:
    kept, dropped = drop_quotes(f"{before}\n{quotation}\n{after}", RECALLED)

    assert dropped > 0
    assert kept == f"{before}\n{after}"


@given(st.lists(st.sampled_from((*RECALLED, "Mine.", "\n", " ", "\n- ", "“")), max_size=12))
def test_taking_out_twice_takes_out_no_more(pieces: list[str]) -> None:
    once, _ = drop_quotes("".join(pieces), RECALLED)

    assert drop_quotes(once, RECALLED)[0] is once


@pytest.mark.parametrize("piece", ["a b, ", "a b c. ", "中", "x", "\n", '"', RECALLED[0] + "\n"])
def test_comparing_grows_with_the_length_of_the_text(piece: str) -> None:
    recalled = (piece * 2_000,)

    def compare(length: int) -> None:
        drop_quotes(piece * (length // len(piece)), recalled)

    assert grows_at_most(compare, 30_000, 120_000, 8.0)
