"""Cuts that lose nothing and break nothing that reads as one character."""

from __future__ import annotations

from itertools import pairwise

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from tests.scaling import grows_at_most

from ringwood.text.sentences import clip, pieces

FRAGMENTS = [
    *(
        "a",
        "bc ",
        " ",
        ". ",
        "? ",
        "。",
        "你好",
        "！”",
        "“",
        "「",
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        "\t",
    ),
    *(
        "e\u0301",
        "\u0301",
        "\U0001f1e9",
        "\U0001f1ea",
        "👩‍💻",
        "👍🏽",
        "한국",
        "\u1112\u1161\u11ab",
    ),
    *("กำ", "क्ष", "\u200d", "\ufe0f", "\ud83d", "\0", "\u2028", "\u0600", "x" * 30, "3.14"),
]
TEXT = st.lists(st.sampled_from(FRAGMENTS)).map("".join) | st.text(
    st.characters(exclude_categories=())
)


def _graphemes(text: str) -> set[int]:
    return {match.start() for match in regex.finditer(r"\X", text)} | {len(text)}


@given(TEXT, st.integers(1, 40))
def test_pieces_cover_the_text_exactly_and_fit(text: str, max_chars: int) -> None:
    spans = pieces(text, max_chars)
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(one[1] == other[0] for one, other in pairwise(spans))
    boundaries = _graphemes(text)
    for start, end in spans:
        assert start < end
        assert {start, end} <= boundaries
        assert end - start <= max_chars or len(regex.findall(r"\X", text[start:end])) == 1


@given(TEXT, st.integers(0, 40))
def test_a_clipped_text_fits_and_begins_as_the_text(text: str, max_chars: int) -> None:
    clipped = clip(text, max_chars)
    assert len(clipped) <= max_chars
    if len(text) <= max_chars:
        assert clipped == text
    elif clipped:
        kept = clipped.removesuffix("…")
        assert text.startswith(kept)
        assert clipped.endswith("…")
        rest = text[len(kept) :]
        assert {len(kept), len(text) - len(rest.lstrip())} & _graphemes(text)


def test_a_text_is_cut_between_sentences() -> None:
    text = "It rained. We stayed in. Nobody minded. The tea was hot."
    assert [text[a:b] for a, b in pieces(text, 30)] == [
        "It rained. We stayed in. ",
        "Nobody minded. ",
        "The tea was hot.",
    ]


def test_chinese_is_cut_between_sentences() -> None:
    text = "今天下雨。我们没有出门！茶很热。没有人介意。"
    assert [text[a:b] for a, b in pieces(text, 13)] == [
        "今天下雨。我们没有出门！",
        "茶很热。没有人介意。",
    ]


def test_an_abbreviation_ends_no_sentence() -> None:
    text = "We met Dr. Example there. It was late."
    assert [text[a:b] for a, b in pieces(text, 30)] == [
        "We met Dr. Example there. ",
        "It was late.",
    ]


def test_a_long_sentence_is_cut_at_white_space_and_else_at_a_mark() -> None:
    words = "one two three four five six seven eight nine ten"
    assert all(words[b - 1] == " " for _, b in pieces(words, 12)[:-1])
    marks = "eins,zwei,drei,vier,fünf,sechs,sieben"
    assert all(marks[b - 1] == "," for _, b in pieces(marks, 12)[:-1])


def test_a_row_of_flags_is_cut_between_flags() -> None:
    flags = "x" + "\U0001f1e9\U0001f1ea" * 3_000
    assert all(start % 2 == 1 for start, _ in pieces(flags, 20)[1:])


def test_a_text_that_fits_is_one_piece_and_an_empty_one_is_none() -> None:
    assert pieces("One. Two.", 9) == [(0, 9)]
    assert pieces("", 9) == []


def test_a_piece_needs_room() -> None:
    with pytest.raises(ValueError, match="max_chars is 0"):
        pieces("text", 0)


def test_half_a_character_may_stand_where_a_text_was_cut_before() -> None:
    assert clip("x" * 40 + "\ud83d", 10) == "x" * 9 + "…"


def test_a_clipped_text_does_not_end_in_white_space() -> None:
    assert clip("one two three", 5) == "one…"


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    ["“ ", "「", "a. ", "x", "你", "\n", "\r\n", "🇩", "\u0301", "a\n\n", "1. ", "e\u0301. “"],
)
def test_time_grows_with_the_length_of_hostile_text_and_not_with_its_square(unit: str) -> None:
    def run(length: int) -> None:
        pieces(unit * (length // len(unit)), 900)

    assert grows_at_most(run, 125_000, 1_000_000, times=24)  # a square would be 64
