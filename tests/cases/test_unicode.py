"""Broken, invisible and commanding characters: on the way in, at rest, and on a terminal.

Numbers are those of the public reports (kinds UNI and WIN); `cli-01` is from our list of faults.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.cases.commands import Command

from ringwood.memory import Memory

HALF = "\ud83d"
"""One half of an emoji, which UTF-8 cannot hold."""


def test_half_an_emoji_is_replaced_counted_and_does_not_cost_the_rest(words: Memory) -> None:  # 43
    receipt = words.store(f"The relay {HALF} failed at dawn.")

    assert receipt.repaired == 1
    assert words.read(receipt.address).source == "The relay \ufffd failed at dawn."
    assert len(words.recall(f"relay {HALF}").hits) == 1


def test_a_long_text_that_ends_in_half_an_emoji_is_kept_whole(words: Memory) -> None:  # 45
    text = "Lorem ipsum dolor. " * 1_600 + "The marker is quokka. "
    receipt = words.store(text + HALF, title="Long")

    assert len(text) > 30_000
    assert receipt.repaired == 1
    assert words.read("/long").source == text + "\ufffd"
    assert "quokka" in words.recall("quokka").hits[0].text


def test_two_halves_become_one_character(words: Memory) -> None:  # 47
    receipt = words.store("A \ud83c\udf78 after work.")

    assert receipt.repaired == 0
    assert words.read(receipt.address).source == "A 🍸 after work."
    assert len(words.recall("🍸").hits) == 1


@pytest.mark.parametrize(
    ("text", "stored", "repaired"),
    [
        pytest.param("one\x00two", "one\ufffdtwo", 1, id="47 NUL"),
        pytest.param("one\u2028two", "one\u2028two", 0, id="47 line separator"),
        pytest.param("\ufeffone two", "one two", 0, id="47 byte order mark in front"),
        pytest.param("one\ufefftwo", "one\ufefftwo", 0, id="47 byte order mark inside"),
        pytest.param("one \u202etwo\u202c", "one \u202etwo\u202c", 0, id="47 right to left"),
        pytest.param("one \u200ftwo", "one \u200ftwo", 0, id="47 right-to-left mark"),
    ],
)
def test_a_strange_character_is_kept_or_replaced_aloud(
    words: Memory, text: str, stored: str, repaired: int
) -> None:
    receipt = words.store(text, title="Strange")

    assert receipt.repaired == repaired
    assert words.read("/strange").source == stored
    assert words.read("/strange").document.title == "Strange"


def test_a_word_with_an_invisible_mark_in_it_is_found_as_it_is_read(words: Memory) -> None:  # 47
    words.store("The pass\u200bword policy of the soft\u00adware team.")

    assert len(words.recall("password software").hits) == 1
    assert words.recall("hardware").hits == ()


@pytest.mark.parametrize("encoding", ["gbk", "cp950", "ascii", "utf-16", "utf-8"])  # 49
def test_no_console_encoding_breaks_a_command(
    command: Command, tmp_path: Path, encoding: str
) -> None:
    note = tmp_path / "notes" / "crème 日記 😀.md"
    note.parent.mkdir()
    note.write_text("# Crème 日記 😀\n\nनमस्ते from the Straße.\n", "utf-8")
    bad = note.with_name("bad 😀.md")
    bad.write_bytes(b"\x00\x01\x02\xff" * 40)

    imported = command("import", str(note.parent), encoding=encoding)
    recalled = command("recall", "straße", "😀", "--why", encoding=encoding)
    [recall_id] = re.findall("recall ([0-9a-f]{16})", recalled.err)
    answers = [
        imported,
        recalled,
        *(
            command(*arguments, encoding=encoding)
            for arguments in (
                ["recall", "straße", "--json"],
                ["recall", "straße", "--format", "frame"],
                ["explain", recall_id],
                ["show", "/crème-日記"],
                ["tree"],
                ["recent"],
                ["stats"],
            )
        ),
    ]

    assert [each.code for each in answers] == [0] * len(answers)
    assert "bad" in imported.err
    assert "from the Stra" in recalled.out
    assert answers[2].json["hits"][0]["text"] == "नमस्ते from the Straße."


@pytest.mark.parametrize("encoding", ["gbk", "ascii", "utf-8"])  # 49
def test_an_error_about_a_strange_name_can_be_said(command: Command, encoding: str) -> None:
    command("store", "-", stdin=b"A text.")

    said = command("show", "/😀 \udcff नमस्ते", encoding=encoding)
    as_json = command("show", "/😀 \udcff नमस्ते", "--json", encoding=encoding)

    assert said.code == as_json.code == 1
    assert "Nothing has the address" in said.err
    assert as_json.json["error"]["code"] == "no_such_address"


COMMANDING = (
    "\x1b]0;owned\x07",  # the title of the window
    "\x1b[2J",  # an empty screen
    "\x1b]8;;https://example.org\x1b\\click\x1b]8;;\x1b\\",  # a hidden link
    "\x9b2J",  # the same by eight-bit controls
    "\x9d0;owned\x9c",
    "safe\rrm -rf",  # what comes before is written over
    "safe\b\b\b\bevil",
    "\x7f\x7f",
    "\u202egnp.exe",  # what is on screen already is reordered
    "\u2066x\u2069",
    "one\u2028two\u0085three",
)
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What a terminal would obey: controls but tab and newline, and whatever reorders a line."""


def test_nothing_in_memory_speaks_to_the_terminal(
    command: Command, words: Memory, tmp_path: Path
) -> None:  # cli-01
    payload = " ".join(COMMANDING)
    note = f"# Canary {payload} one\n\nThe canary {payload} sings.\n\n```\n{payload} code\n```\n"
    path = words.store(note, title=f"Canary {payload} title", source=f"key {payload}").path
    file = tmp_path / "note.md"
    file.write_bytes(f"Also a canary {payload} file.\n".encode())
    words.import_notes([file])

    recalled = command("recall", "canary", payload, "--why", "--floor", "0")
    [recall_id] = re.findall("recall ([0-9a-f]{16})", recalled.err)
    shown = command("show", path, "--json")
    answers = [
        recalled,
        shown,
        *(
            command(*arguments)
            for arguments in (
                ["recall", "canary", "--format", "frame"],
                ["recall", "canary", "--json"],
                ["explain", recall_id],
                ["tree", "--depth", "9"],
                ["tree", "--json"],
                ["recent"],
                ["recent", "--json"],
                ["show", path],
                ["show", f"/nowhere {payload}"],
                ["show", f"/nowhere {payload}", "--json"],
                ["store", f"/nowhere {payload}"],
                ["import", f"/nowhere {payload}"],
                ["recall", "canary", "--floor", payload],
                [f"no {payload} command"],
                ["forget", "--source", f"key {payload}", "--dry-run"],
                ["forget", "--source", f"key {payload}"],
            )
        ),
    ]

    assert [FORBIDDEN.findall(each.out + each.err) for each in answers] == [[]] * len(answers)
    # The controls: the payloads were there to be printed, and JSON loses nothing of them.
    assert "Canary" in recalled.out
    assert shown.json["text"] == note
