"""What may be stored, what bytes say, and what a terminal is shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringwood.text.clean import Decoded, clean, decode, printable

ANY_TEXT = st.text(st.characters(exclude_categories=()))
CHINESE = "记忆是一棵有地址的树，不是一堆相似的文本。"


def test_two_halves_of_a_character_become_the_character() -> None:
    assert clean("a\ud83c\udf78b") == ("a🍸b", 0)


def test_a_lone_half_is_replaced_and_counted() -> None:
    assert clean("\ud83d a \udf78 \ud83d\ud83c\udf78") == ("\ufffd a \ufffd \ufffd🍸", 3)


def test_nul_is_replaced_and_counted() -> None:
    assert clean("a\0b") == ("a\ufffdb", 1)


def test_a_byte_order_mark_in_front_goes_uncounted_and_one_inside_stays() -> None:
    assert clean("\ufeff# a\ufeff") == ("# a\ufeff", 0)


def test_line_ends_stay() -> None:
    text = "a\r\nb\rc\nd\u2028e\x0cf"
    assert clean(text) == (text, 0)


@given(ANY_TEXT)
def test_what_is_clean_can_be_stored_and_stays_as_it_is(text: str) -> None:
    cleaned, _ = clean(text)
    assert cleaned.encode().decode() == cleaned
    assert "\0" not in cleaned
    assert clean(cleaned) == (cleaned, 0)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff")))
def test_honest_text_comes_out_equal(text: str) -> None:
    assert clean(text) == (text, 0)


@pytest.mark.parametrize(
    ("data", "encoding", "bom"),
    [
        ("naïve 你好 🍸\r\n".encode(), "utf-8", False),
        ("naïve 你好 🍸\r\n".encode("utf-8-sig"), "utf-8", True),
        (b"\xff\xfe" + "naïve 你好 🍸\r\n".encode("utf-16-le"), "utf-16-le", True),
        (b"\xfe\xff" + "naïve 你好 🍸\r\n".encode("utf-16-be"), "utf-16-be", True),
        ("naïve 你好 🍸\r\n".encode("utf-16-le"), "utf-16-le", False),
        ("naïve 你好 🍸\r\n".encode("utf-16-be"), "utf-16-be", False),
    ],
)
def test_unicode_is_read_by_its_mark_or_by_its_nuls(data: bytes, encoding: str, bom: bool) -> None:
    assert decode(data) == Decoded("naïve 你好 🍸\r\n", encoding, bom, 0)


def test_chinese_in_gb18030_is_read() -> None:
    assert decode(CHINESE.encode("gb18030")) == Decoded(CHINESE, "gb18030", False, 0)


def test_a_little_chinese_among_code_in_gb18030_is_read() -> None:
    code = "def f():\n    return 1  # 返回一个数字\n" * 5
    assert decode(code.encode("gb18030")) == Decoded(code, "gb18030", False, 0)


def test_latin_1_is_not_taken_for_chinese() -> None:
    decoded = decode("Die Straße führt über die Brücke, schön für alle.".encode("latin-1"))
    assert decoded is not None
    assert decoded.encoding == "utf-8"
    assert decoded.repaired == 6
    assert decoded.text.count("\ufffd") == 6


def test_a_few_bad_bytes_in_chinese_utf_8_are_replaced_and_counted() -> None:
    decoded = decode(CHINESE.encode()[:-1] + b"\xff and more")
    assert decoded is not None
    assert (decoded.encoding, decoded.repaired) == ("utf-8", 2)
    assert decoded.text.startswith(CHINESE[:-1])


def test_a_replacement_character_that_stood_there_is_not_counted() -> None:
    assert decode("a\ufffdb".encode()) == Decoded("a\ufffdb", "utf-8", False, 0)


def test_half_a_character_of_utf_16_is_replaced_and_counted() -> None:
    decoded = decode(b"\xff\xfe" + "text".encode("utf-16-le") + b"\x3d\xd8\x41")
    assert decoded == Decoded("text\ufffd\ufffd", "utf-16-le", True, 2)


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\0",
        b"\x7fELF\2\1\1\0\0\0\0\0",
        b"PK\3\4\x14\0\0\0\x08\0",
        bytes(range(1, 32)) * 4,
        bytes(range(128, 256)) * 4,
    ],
)
def test_binary_data_is_no_text(data: bytes) -> None:
    assert decode(data) is None


def test_a_log_with_terminal_colours_is_text() -> None:
    assert decode(b"\x1b[32mok\x1b[0m 12 tests\n" * 3) is not None


def test_a_stray_nul_in_a_text_is_replaced_and_counted() -> None:
    assert decode(b"one NUL\0 in a text") == Decoded("one NUL\ufffd in a text", "utf-8", False, 1)


def test_no_bytes_are_an_empty_text() -> None:
    assert decode(b"") == Decoded("", "utf-8", False, 0)


@given(st.binary())
def test_any_bytes_are_read_clean_or_refused(data: bytes) -> None:
    decoded = decode(data)
    if decoded is not None:
        assert clean(decoded.text) == (decoded.text, 0)


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"])))
def test_utf_8_is_read_as_it_was_written(text: str) -> None:
    decoded = decode(text.encode())
    assert decoded is not None
    assert decoded.text == clean(text)[0]
    assert decoded.repaired == 0


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("\x1b[2J", r"\x1b[2J"),
        ("\x9b2J", r"\x9b2J"),
        ("safe\rEVIL", r"safe\rEVIL"),
        ("abc\b\b\b", r"abc\x08\x08\x08"),
        ("a\u202eb\u2066c", r"a\u202eb\u2066c"),
        ("\ud83d", r"\ud83d"),
        ("line\r\n\tnext\n", "line\n\tnext\n"),
        ("naïve 你好 👩‍💻 می‌خواهم", "naïve 你好 👩‍💻 می‌خواهم"),
    ],
)
def test_a_terminal_is_shown_commands_and_not_given_them(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(ANY_TEXT)
def test_nothing_that_is_shown_commands_a_terminal(text: str) -> None:
    shown = printable(text)
    assert not {c for c in shown if c < " " or "\x7f" <= c < "\xa0"} - {"\n", "\t"}
    shown.encode()
