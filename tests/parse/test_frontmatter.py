"""Front matter: at the start or nowhere, strings only, and never an exception."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringwood.parse.frontmatter import MAX_CHARS, read_front_matter


def meta(block: str) -> dict[str, str]:
    return dict(read_front_matter(f"---\n{block}\n---\n").meta)


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("closing", ["---", "...", "--- ", "...\t"])
def test_it_ends_behind_its_closing_line(line_end: str, closing: str) -> None:
    text = line_end.join(["---", "a: 1", closing, "body"])
    front = read_front_matter(text)
    assert (front.meta, text[front.end :]) == ({"a": "1"}, f"{line_end}body")


def test_every_scalar_is_the_string_that_was_written() -> None:
    block = (
        "on: yes\nzip: 0123\nat: 12:30:45\nday: 2026-13-45\nhex: 0x1F\nobject: !!python/name:os x"
    )
    assert meta(block) == {
        "on": "yes",
        "zip": "0123",
        "at": "12:30:45",
        "day": "2026-13-45",
        "hex": "0x1F",
        "object": "x",
    }


def test_lists_are_joined_and_mappings_prefix_their_keys() -> None:
    block = "tags: [a, b]\nmore:\n  - c\n  - d: e\nwho:\n  name: f\n  of: {g: h}\n"
    assert meta(block) == {
        "tags": "a, b",
        "more": "c",
        "more.d": "e",
        "who.name": "f",
        "who.of.g": "h",
    }


def test_values_of_several_lines_become_one() -> None:
    block = (
        'folded: >\n  one\n  two\nkept: |\n  one\n\n  two\nplain: one\n  two\nquoted: "one\n  two"'
    )
    assert set(meta(block).values()) == {"one two"}


def test_empty_values_are_left_out() -> None:
    assert meta('a:\nb: ~\nc: null\nd: ""\ne: "null"\nf: []') == {"e": "null"}


@pytest.mark.parametrize(
    "block",
    [
        "- a\n- b",
        "just words",
        "a: 1\na: 2",
        "a: &x [1]\nb: *x",
        "? [a, b]\n: c",
        "a: [1, 2",
        "a: b: c",
        "\tc: d",
        'a: "\\U99999999"',
        'a: "\\xZZ"',
        "%YAML " + "9" * 5000 + ".1\na: b",
        "a: " + "[" * 3000,
        "a: " + "[" * 9 + "]" * 9,
        "a: {b: {c: {d: {e: {f: {g: {h: {i: j}}}}}}}}",
        "a: \x07",
        "# only a remark",
        "",
        "a: " + "x" * MAX_CHARS,
        "a: " + "x" * (MAX_CHARS - 11) + "\n---x",
    ],
)
def test_what_is_no_plain_mapping_is_no_front_matter(block: str) -> None:
    assert read_front_matter(f"---\n{block}\n---\n").end == 0


@pytest.mark.parametrize(
    "text", [" ---\na: b\n---", "\n---\na: b\n---", "---\na: b", "----\na: b\n---"]
)
def test_it_stands_at_the_start_between_two_lines(text: str) -> None:
    assert read_front_matter(text).end == 0


def test_an_escaped_surrogate_or_control_does_not_come_through() -> None:
    assert meta('a: "x\\ud800y\\0z\\nw"') == {"a": "x y z w"}


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
        ("2026-03-01T08:30:00Z", datetime(2026, 3, 1, 8, 30, tzinfo=UTC)),
        ("2026-03-01 08:30:00 +0800", datetime(2026, 3, 1, 0, 30, tzinfo=UTC)),
        ("2026/03/01 08:30", datetime(2026, 3, 1, 8, 30, tzinfo=UTC)),
        ("'2026-03-01'", datetime(2026, 3, 1, tzinfo=UTC)),
        ("2026-13-45", None),
        ("0001-01-01T00:00:00+14:00", None),
        ("yesterday", None),
    ],
)
def test_a_date_is_read_as_utc_or_not_at_all(value: str, moment: datetime | None) -> None:
    assert read_front_matter(f"---\ndate: {value}\n---\n").created == moment


def test_date_goes_before_created_unless_it_is_no_date() -> None:
    both = "---\nCreated: 2025-01-01\nDate: {}\n---\n"
    assert read_front_matter(both.format("2026-01-01")).created == datetime(2026, 1, 1, tzinfo=UTC)
    assert read_front_matter(both.format("soon")).created == datetime(2025, 1, 1, tzinfo=UTC)


def test_toml_between_pluses_is_read_alike() -> None:
    text = '+++\ntitle = "T"\ndate = 2026-03-01\ntags = ["a",\n "b"]\n[x]\ny.z = true\n+++\nbody'
    front = read_front_matter(text)
    assert front.title == "T"
    assert front.created == datetime(2026, 3, 1, tzinfo=UTC)
    assert front.meta == {"title": "T", "date": "2026-03-01", "tags": "a, b", "x.y.z": "true"}
    assert text[front.end :] == "\nbody"


@pytest.mark.parametrize("block", ["a = " + "[" * 3000, "a = [[[[[[[[[1]]]]]]]]]", "a b", "a = "])
def test_toml_that_is_none_or_too_deep_is_text(block: str) -> None:
    assert read_front_matter(f"+++\n{block}\n+++\n").end == 0


YAML_PARTS = [
    "a",
    ": ",
    "\n",
    "- ",
    "[",
    "]",
    "{",
    "}",
    "'",
    '"',
    "|",
    ">",
    "&a ",
    "*a",
    "? ",
    "!t ",
]
YAML_PARTS += [
    "  ",
    "#",
    "%",
    "---",
    "\\",
    "\\x41",
    "\\ud800",
    "1",
    ", ",
    "=",
    "\t",
    "é",
    "\x85",
    "\x00",
]


@given(st.lists(st.sampled_from(YAML_PARTS), max_size=30).map("".join) | st.text())
def test_nothing_between_fences_raises(block: str) -> None:
    for fence in ("---", "+++"):
        text = f"{fence}\n{block}\n{fence}\n"
        front = read_front_matter(text)
        assert (front.end == 0) <= (front.meta == {})
        assert all(value == " ".join(value.split()) for value in front.meta.values())


@pytest.mark.shared
def test_front_matter_of_real_notes_is_read(shared_data: Path) -> None:
    files = [*shared_data.glob("markdown/files/*.md")]
    texts = [file.read_text(encoding="utf-8-sig", errors="replace") for file in files]
    fenced = [text for text in texts if text.startswith("---\n") and "\n---\n" in text]
    assert len(fenced) > 20
    assert [text[:200] for text in fenced if not read_front_matter(text).end] == []
