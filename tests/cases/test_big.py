"""A session of any size is read in little memory, and what is left out of it is said.

Numbers are those of the public reports (kind BIG).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from tests.cases.commands import Command
from tests.hosts.test_dsh_sessions import HEADER, assistant, numbered, person, turn

from ringwood.hosts.dsh.sessions import Tally, read_exchanges

MB = 1_000_000
needs_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="measures in /proc")

PEAK = """
import json, sys
from pathlib import Path
from ringwood.hosts.dsh.sessions import Tally, read_exchanges
def peak():  # not getrusage: it counts what the parent was before this process began
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) // 1000
tally, before = Tally(), peak()
def whole(file):
    return [json.loads(line) for line in file.read_text().splitlines()]
def read(file):
    return sum(1 for _ in read_exchanges(file, tally))
found = {"whole": whole, "read": read}[sys.argv[2]](Path(sys.argv[1]))
print(json.dumps([peak() - before, found if isinstance(found, int) else len(found)]))
"""


def session_of(folder: Path, rows: Iterator[dict[str, Any]] | list[dict[str, Any]]) -> Path:
    """Write a session as DSH keeps it, where its import looks."""
    file = folder / "dsh" / "sessions" / "-work" / "s" / "session.v4.jsonl.zstd"
    file.parent.mkdir(parents=True)
    with zstandard.open(file, "wt", encoding="utf-8") as out:
        out.write(numbered(HEADER, list(rows)))
    return file


def long_talk(turns: int, tool_chars: int) -> list[dict[str, Any]]:
    """Make a session in which tools say almost everything."""
    result = {"type": "tool/result", "data": {"content": "x" * tool_chars}}
    return [
        row
        for number in range(turns)
        for row in turn(person(f"Kiln {number}?"), result, assistant(f"Cone {number}."))
    ]


def grown_mb(file: Path, how: str = "read") -> tuple[int, int]:
    """Return by how many megabytes a process that read a file grew, and how much it found."""
    command = [sys.executable, "-c", PEAK, str(file), how]
    done = subprocess.run(command, capture_output=True, check=True, timeout=120)
    grown, found = json.loads(done.stdout)
    return grown, found


@pytest.mark.slow
@needs_proc
def test_a_session_of_sixty_megabytes_is_read_in_little_memory(tmp_path: Path) -> None:  # 89
    plain = tmp_path / "session.jsonl"
    plain.write_text(numbered(HEADER, long_talk(600, MB // 10)), "utf-8")
    assert plain.stat().st_size > 60 * MB

    grown, exchanges = grown_mb(plain)

    assert exchanges == 600
    assert grown < 20
    assert grown_mb(plain, "whole")[0] > 60  # what reading it at once would take


@pytest.mark.slow
@needs_proc
def test_one_line_of_two_hundred_megabytes_costs_that_line_alone_and_is_told(  # 91, 93
    tmp_path: Path, command: Command
) -> None:
    picture = {"type": "tool/result", "data": {"content": "A" * 200 * MB}}
    rows = [*turn(person("Which cone?"), picture, assistant("Cone 6.")), *turn(person("Why?"))]
    file = session_of(tmp_path, [*rows, *turn(assistant("It is tight."))])

    done = command("dsh", "import", "--dsh-home", str(tmp_path / "dsh"), "--json")

    assert done.code == 0
    assert done.json["exchanges"] == done.json["documents"] > 1
    assert {"reason": "a line too long", "rows": 1} in done.json["skipped"]
    assert grown_mb(file)[0] < 160  # of a line 64 MB are read, and put together


def test_a_message_too_long_for_a_memory_says_where_it_was_cut(tmp_path: Path) -> None:  # 93
    words = "tight glaze. " * 800_000
    file = session_of(tmp_path, turn(person("Tell me all."), assistant(words)))

    exchange = next(read_exchanges(file, Tally()))

    kept, mark, rest = exchange.turns[1].text.rpartition("\n\n[")
    assert words.startswith(kept[:900_000])
    assert mark
    assert rest == f"{len(words) - len(kept):,} more characters were not kept]"


def test_a_session_that_grows_while_it_is_read_is_taken_in_to_its_end(tmp_path: Path) -> None:  # 91
    lines = numbered(HEADER, long_talk(40, 20_000)).splitlines(keepends=True)
    file = tmp_path / "session.jsonl"
    half = len(lines) // 2
    file.write_text("".join(lines[:half]) + lines[half][:30], "utf-8")  # in the middle of a line

    reading = read_exchanges(file, Tally())
    first = [next(reading).source]
    with file.open("a", encoding="utf-8") as writer:
        writer.write(lines[half][30:] + "".join(lines[half + 1 :]))

    assert len(first + [each.source for each in reading]) == 40


def test_a_last_line_cut_off_costs_nothing_that_the_next_reading_does_not_find(  # 91
    tmp_path: Path, command: Command
) -> None:
    text = numbered(HEADER, long_talk(3, 10))
    file = session_of(tmp_path, [])
    file = file.rename(file.with_name("session.v4.jsonl"))
    file.write_text(text[: text.rindex("assistant/message")], "utf-8")
    home = ("dsh", "import", "--dsh-home", str(tmp_path / "dsh"), "--json")

    cut = command(*home).json
    file.write_text(text, "utf-8")
    whole = command(*home).json

    assert {"reason": "a damaged line", "rows": 1} in cut["skipped"]
    assert whole["exchanges"] == 3
    assert whole["existing"] == 2
    assert whole["documents"] == 1  # the third went on
    assert len(command("recent", "--json").json["documents"]) == 3


def test_a_session_that_is_replaced_while_it_is_read_is_read_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"  # 91
    file.write_text(numbered(HEADER, long_talk(20, 50_000)), "utf-8")
    reading = read_exchanges(file, Tally())
    next(reading)

    other = tmp_path / "new"
    other.write_text(numbered(HEADER, long_talk(2, 10)), "utf-8")
    other.replace(file)

    assert sum(1 for _ in reading) == 19
    assert sum(1 for _ in read_exchanges(file, Tally())) == 2


def test_a_note_too_large_to_be_one_is_left_out_with_its_reason(
    tmp_path: Path, command: Command
) -> None:  # 93
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "dump.md").write_text("x" * 17 * MB, "utf-8")
    (tmp_path / "notes" / "kiln.md").write_text("# Kiln\n\nFire to cone 6.\n", "utf-8")

    done = command("import", str(tmp_path / "notes"), "--json").json

    assert done["documents"] == 1
    assert [Path(each["file"]).name for each in done["skipped"]] == ["dump.md"]
    assert "MB" in done["skipped"][0]["reason"]
