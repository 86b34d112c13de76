"""A block between two markers: everything around it stays as it was, byte for byte."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ringwood.errors import UsageError
from ringwood.text.block import BEGIN, END, MAX_BYTES, drop_block, with_block, without_block

CONTENT = st.binary(max_size=200).filter(lambda content: b"ringwood:" not in content)
LINES = st.lists(st.sampled_from(["- one", "- 二", "", "- three (3 documents)"]), max_size=5)


@given(content=CONTENT, first=LINES, second=LINES)
@example(content=b"\r", first=[], second=[])  # its last byte and our line feed look like one end
def test_what_is_put_in_comes_out_again_and_leaves_no_trace(
    content: bytes, first: list[str], second: list[str]
) -> None:
    once = with_block(content, first)
    twice = with_block(once, second)

    assert without_block(once) == without_block(twice) == content
    assert with_block(twice, second) == twice
    assert drop_block(twice) == content


@given(before=CONTENT, after=CONTENT, lines=LINES)
def test_a_block_stays_where_a_person_put_it(before: bytes, after: bytes, lines: list[str]) -> None:
    block = with_block(b"", ["- old"])
    moved = before + b"\n" + block + after

    assert (
        with_block(moved, lines)
        == before
        + b"\n"
        + with_block(b"", lines).replace(b"\n", b"\r\n" if b"\r\n" in moved else b"\n")
        + after
    )


def test_a_long_list_is_cut_at_a_line() -> None:
    block = with_block(b"", [f"- `app:/part-{number}`" for number in range(500)])

    assert MAX_BYTES - 40 < len(block) <= MAX_BYTES
    assert block.startswith(BEGIN + b"\n- `app:/part-0`\n")
    assert block.endswith(b"`\n" + END + b"\n")


@pytest.mark.parametrize(
    "broken",
    [
        BEGIN + b"\n- one\n",
        b"- one\n" + END,
        2 * (BEGIN + b"\n" + END + b"\n"),
        BEGIN + b"\n" + BEGIN + b"\n" + END + b"\n",
    ],
)
def test_markers_that_do_not_match_are_refused_and_read_over(broken: bytes) -> None:
    with pytest.raises(UsageError, match="markers"):
        with_block(broken, ["- two"])
    with pytest.raises(UsageError, match="markers"):
        without_block(broken)
    assert isinstance(drop_block(broken), bytes)
