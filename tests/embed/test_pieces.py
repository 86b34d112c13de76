"""Texts as a small model can read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringwood.embed.pieces import MAX_CHARS, PIECE_BYTES, batches, readable, split

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=3_000)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\0b", "a b"),
        ("", "(empty)"),
        (" \n\t\0 ", "(empty)"),
        ("\ud83d\ude00", "😀"),
        ("x \ud800 y", "x \ufffd y"),
        ("  kept\n", "kept"),
    ],
)
def test_a_text_is_repaired(text: str, expected: str) -> None:
    assert readable(text) == expected


@given(ANY_TEXT)
def test_a_readable_text_can_be_handed_to_a_model_in_c(text: str) -> None:
    repaired = readable(text)

    assert repaired.strip()
    assert "\0" not in repaired
    assert len(repaired) <= MAX_CHARS
    repaired.encode("utf-8")
    assert readable(repaired) == repaired


@given(ANY_TEXT.map(readable))
def test_pieces_make_up_the_text_and_stay_within_their_bounds(text: str) -> None:
    pieces = split(text)

    assert "".join(pieces) == text
    assert all(0 < len(piece.encode()) <= PIECE_BYTES + 48 for piece in pieces)


def test_a_text_of_one_piece_is_left_whole_and_a_longer_one_is_cut_evenly_at_spaces() -> None:
    short = "word " * 250
    long = "sentence " * 220

    assert split(short) == [short]
    assert [len(piece) for piece in split(long)] == [990, 990]
    assert [piece[-1] for piece in split("longer words " * 153)] == [" ", " "]


@given(st.lists(st.text(min_size=1, max_size=700), max_size=20))
def test_batches_cover_every_piece_once_and_stay_short(pieces: list[str]) -> None:
    chosen = list(batches(pieces))

    assert [index for batch in chosen for index in batch] == list(range(len(pieces)))
    for batch in chosen:
        assert len(batch) == 1 or sum(len(pieces[i].encode()) for i in batch) <= PIECE_BYTES


def test_short_texts_share_a_batch() -> None:
    assert list(batches(["a short note"] * 50)) == [range(41), range(41, 50)]
