"""Leaves: markers stripped, long ones cut at the right places, every piece exact."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from ringwood.parse.blocks import parse_blocks
from ringwood.parse.leaves import Piece, leaf_pieces, leaf_text


def cut(text: str, max_chars: int) -> list[Piece]:
    (block,) = parse_blocks(text)
    return leaf_pieces(text, block, max_chars)


def test_a_leaf_that_fits_is_one_piece() -> None:
    assert cut("One. Two.", 9) == [Piece((0, 9), "One. Two.")]


def test_prose_is_cut_at_sentence_ends() -> None:
    assert [piece.text for piece in cut("One is one. Two is two. Three.", 24)] == [
        "One is one. Two is two.",
        "Three.",
    ]
    assert [piece.text for piece in cut("今天下雨。我们在家。明天再去。", 10)] == [
        "今天下雨。我们在家。",
        "明天再去。",
    ]


def test_pieces_of_a_quote_lose_its_marks_and_keep_their_place() -> None:
    text = "> One is\n> one. Two is\n>two.\n"
    (quote,) = parse_blocks(text)
    pieces = leaf_pieces(text, quote.children[0], 12)
    assert [piece.text for piece in pieces] == ["One is\none.", "Two is\ntwo."]
    assert [text[slice(*piece.own)] for piece in pieces] == ["One is\n> one.", "Two is\n>two."]


def test_code_is_cut_at_lines_and_its_fences_belong_to_the_ends() -> None:
    text = "```py\nfirst = 1\nsecond = 2\nthird = 3\n```\n"
    pieces = cut(text, 20)
    assert [piece.text for piece in pieces] == ["first = 1\nsecond = 2", "third = 3"]
    assert text[slice(*pieces[0].own)] == "```py\nfirst = 1\nsecond = 2"
    assert text[slice(*pieces[1].own)] == "third = 3\n```"


def test_a_line_of_code_that_is_too_long_is_cut_inside() -> None:
    pieces = cut("```\na\n" + "word " * 10 + "\nb\n```\n", 20)
    assert [piece.text for piece in pieces] == ["a", *["word word word word"] * 2, "word word", "b"]


def test_a_table_keeps_its_header_in_the_first_piece_only() -> None:
    pieces = cut("| a |\n|---|\n| b |\n| c |\n| d |\n", 17)
    assert [piece.text for piece in pieces] == ["| a |\n|---|\n| b |", "| c |\n| d |"]


def test_code_of_blank_lines_is_one_empty_piece() -> None:
    text = "```\n" + "  \n" * 50 + "```"
    assert cut(text, 20) == [Piece((0, len(text)), "")]


def test_code_in_containers_keeps_its_own_indent() -> None:
    text = "> - ~~~\n>   if x:\n>       y > z\n>\n>   > w\n>   ~~~\n"
    (quote,) = parse_blocks(text)
    code = quote.children[0].children[0]
    assert leaf_text(text, code) == "if x:\n    y > z\n\n> w"


def test_tabs_before_code_are_indent() -> None:
    (block,) = parse_blocks("\tone\n\t\ttwo\n")
    assert leaf_text("\tone\n\t\ttwo\n", block) == "one\n\ttwo"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("# a", "a"),
        ("### a b ###", "a b"),
        ("# a#", "a#"),
        ("#\ta\t#", "a"),
        ("# #", ""),
        ("##", ""),
        ("a\nb\n===", "a\nb"),
        ("#a\n---", "#a"),
        ("####### a\n---", "####### a"),
    ],
)
def test_a_heading_loses_its_markers(source: str, words: str) -> None:
    (block,) = parse_blocks(source)
    assert (block.kind, leaf_text(source, block)) == ("heading", words)


CLUSTERS = st.sampled_from(
    ["a", " ", "e\u0301", "\U0001f469\u200d\U0001f467", "한", "字", "。", "\n", ". "]
)


@given(st.lists(CLUSTERS, min_size=10, max_size=120).map("".join), st.integers(8, 40))
def test_pieces_are_cut_between_graphemes_and_hold_every_character(text: str, size: int) -> None:
    for block in parse_blocks(text):
        pieces = leaf_pieces(text, block, size)
        edges = {match.start() for match in regex.finditer(r"\X", text)} | {len(text)}
        assert {edge for piece in pieces for edge in piece.own} <= edges
        assert all(len(piece.text) <= size for piece in pieces)
        assert squeezed("".join(piece.text for piece in pieces)) == squeezed(
            text[slice(*block.span)]
        )


def squeezed(text: str) -> str:
    return "".join(text.split())
