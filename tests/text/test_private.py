"""What is marked as private is out of the text before anything else sees it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scaling import grows_at_most

from ringwood.text.private import drop_private


@pytest.mark.parametrize(
    ("said", "kept", "count"),
    [
        ("a <private>x</private> b", "a  b", 1),
        ("a <PRIVATE>x</Private> b", "a  b", 1),
        ("a <private>x\n\ny</private>b<private>z</private>", "a b", 2),
        ("a <private>x <private>y</private> z</private> b", "a  b", 1),
        ("a <private>x <private>y</private> z, and never closed", "a ", 1),
        ("a <private>x to the end of the text", "a ", 1),
        ('a <private reason="health">x</private> b', "a  b", 1),
        ("a < private >x</ private > b", "a  b", 1),
        ("a ＜private＞x＜/private＞ b", "a  b", 1),
        ("a 〈private〉x〈／private〉 b", "a  b", 1),
        ("a &lt;private&gt;x&lt;/private&gt; b", "a  b", 1),
        ("a &lt;private why=&quot;x&quot;&gt;x&lt;/private&gt; b", "a  b", 1),
        ("a <pri\u200bvate>x</privat\u2060e> b", "a  b", 1),
        ("a <private/> b", "a  b", 1),
        ("a <private reason='none' /> b", "a  b", 1),
        ("a <private>x<private/>y</private> b", "a  b", 1),
        ("a <private>x</private>", "a ", 1),
    ],
)
def test_private_parts_go_and_nothing_else(said: str, kept: str, count: int) -> None:
    assert drop_private(said) == (kept, count)


@pytest.mark.parametrize(
    "said",
    ["", "private", "</private> alone", "<privateer>", "<private-key>", "a < b private > c", "<p>"],
)
def test_what_is_no_such_tag_stays_as_it_is(said: str) -> None:
    assert drop_private(said)[0] is said


@given(
    st.lists(
        st.sampled_from(
            ["<private>", "</private>", "<Private x='1'>", "<private/>", "w", " ", "\n"]
        ),
        max_size=20,
    )
)
def test_nothing_inside_is_ever_left(pieces: list[str]) -> None:
    """Judged by counting alone: `s` stands for what is said at a depth of one or more."""
    depth, said, expected = 0, "", ""
    for piece in pieces:
        opens = piece in ("<private>", "<Private x='1'>")
        if piece == "w":
            said += "s" if depth else "w"
            expected += "" if depth else "w"
        else:
            said += piece
        depth = max(0, depth + opens - (piece == "</private>"))

    left, _ = drop_private(said)

    assert "s" not in left
    assert left.count("w") == expected.count("w")


@pytest.mark.parametrize("piece", ["<private>", "</private>", "<private ", "&amp;", "<", "\u200b"])
def test_reading_grows_with_the_length_of_the_text(piece: str) -> None:
    assert grows_at_most(lambda length: drop_private(piece * length), 10_000, 40_000, 8.0)
