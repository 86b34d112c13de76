"""Names: safe as one part of a path, readable, unique."""

from __future__ import annotations

import unicodedata

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from ringwood.parse.paths import Paths, clip_graphemes, first_words, one_line, slug

TITLES = st.text() | st.text(alphabet="aÉßİǅ字がกि்\u0301\u200d👩🏽.-/~\\: \n한ﬁ①", max_size=90)


@given(title=TITLES, max_chars=st.integers(8, 80))
def test_a_slug_is_one_safe_part_of_a_path(title: str, max_chars: int) -> None:
    name = slug(title, max_chars)
    assert regex.fullmatch(r"[\p{L}\p{N}][\p{L}\p{N}\p{M}-]*", name)
    assert len(name) <= max_chars
    assert "--" not in name
    assert name == unicodedata.normalize("NFKC", name.casefold())


@given(title=TITLES)
def test_a_slug_of_a_slug_is_itself(title: str) -> None:
    assert slug(slug(title)) == slug(title)


@given(title=st.text(alphabet="a字\u0301\u0bcd한한🏽", min_size=1), max_chars=st.integers(8, 20))
def test_a_slug_is_not_cut_inside_a_grapheme(title: str, max_chars: int) -> None:
    whole, cut = slug(title, 1_000), slug(title, max_chars)
    ends = {match.end() for match in regex.finditer(r"\X", whole)}
    assert cut == "untitled" or len(cut) in ends


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Optogenetics and bio-display", "optogenetics-and-bio-display"),
        ("  Ｆｕｌｌ　ｗｉｄｔｈ ① ", "full-width-1"),
        ("生物显示：第一章", "生物显示-第一章"),
        ("Straße in İzmir", "strasse-in-i̇zmir"),
        ("../../.ssh/authorized_keys", "ssh-authorized-keys"),
        ("/etc/passwd", "etc-passwd"),
        ("..", "untitled"),
        ("", "untitled"),
        ("🎉", "untitled"),
        ("\u0301\u0301", "untitled"),
        ("-rf", "rf"),
        ("a\nb\x00c", "a-b-c"),
        ("trailing dot.", "trailing-dot"),
        ("CON", "con-"),
        ("com¹", "com1-"),
        ("Lpt9.txt", "lpt9-txt"),
        ("a~2", "a-2"),
        ("हिन्दी में", "हिन्दी-में"),
        ("x" * 300, "x" * 60),
        ("word " * 30, "word-" * 11 + "word"),
        ("short " + "x" * 100, "short"),
        ("ab " + "x" * 57 + " y", "ab-" + "x" * 57),
        ("a" + "\u0301" * 200, "untitled"),
    ],
)
def test_a_title_gets_this_slug(title: str, expected: str) -> None:
    assert slug(title) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one two three four five six seven", "one two three four five six"),
        (
            "一二三四五六七八九十一二三四五六七八九十一二三四五六七",
            "一二三四五六七八九十一二三四五六七八九十一二三四",
        ),
        ("用 Rust 写的 parser 很快", "用 Rust 写的 parser 很快"),
        (
            "**Bold** and `code` and [a link](https://example.org/x?y=1).",
            "Bold and code and a link.",
        ),
        ("<img src='a.png'> caption", "caption"),
        ("snake_case and 2 * 3", "snake_case and 2 * 3"),
        ("List<T> stays", "List<T> stays"),
        ("***", "***"),
        ("https://example.org/" + "x" * 200, "https://example.org/" + "x" * 60),
        (" \n ", ""),
    ],
)
def test_a_leaf_is_named_by_its_first_words(text: str, expected: str) -> None:
    assert first_words(text) == expected


@given(text=st.text())
def test_one_line_is_one_line(text: str) -> None:
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    assert line.encode().decode() == line
    assert one_line(line) == line


@given(text=st.text(), max_chars=st.integers(0, 30))
def test_clipped_graphemes_begin_the_text(text: str, max_chars: int) -> None:
    clipped = clip_graphemes(text, max_chars)
    assert text.startswith(clipped)
    assert len(clipped) <= max_chars


def test_equal_names_under_one_parent_are_numbered() -> None:
    paths = Paths(12, 60)
    assert [paths.below("", title) for title in ("A", "a!", "b", "A")] == [
        "/a",
        "/a~2",
        "/b",
        "/a~3",
    ]
    assert paths.below("/a~2", "A") == "/a~2/a"


def test_deep_nodes_hang_below_the_last_ancestor_with_room() -> None:
    paths = Paths(3, 60)
    first = paths.below("", "a")
    second = paths.below(first, "b")
    third = paths.below(second, "c")
    fourth = paths.below(third, "c")
    assert [first, second, third, fourth] == ["/a", "/a/b", "/a/c", "/a/c~2"]


@given(st.lists(st.tuples(st.integers(0, 50), st.sampled_from(["a", "A", "a~2", "a-2", "", "b"]))))
def test_a_path_is_given_once(steps: list[tuple[int, str]]) -> None:
    paths = Paths(4, 60)
    given_out = [""]
    for above, title in steps:
        given_out.append(paths.below(given_out[above % len(given_out)], title))
    assert len(set(given_out)) == len(given_out)
    assert max(path.count("/") for path in given_out) <= 3
