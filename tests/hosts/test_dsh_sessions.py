"""Session files are read as capture would have heard them, whatever state they are in."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import zstandard

from ringwood.hosts.dsh.sessions import Tally, read_exchanges, session_files

Row = dict[str, Any]

HEADER: Row = {"type": "session", "version": 4, "id": "s", "createdAt": 1796072062000, "cwd": "/"}


def person(text: str, source: str = "user", **more: object) -> Row:
    content = [{"type": "text", "text": text}]
    data = {"content": content, "source": {"kind": source}, "role": "user", **more}
    return {"type": "user/message", "data": data}


def assistant(text: str, *, old: bool = False) -> Row:
    content = [{"type": "reasoning", "text": "Hm."}, {"type": "text", "text": text}]
    message = {"role": "assistant", "content": content, "source": {"kind": "model"}}
    held: Row = {"content": content} if old else {"message": message}
    return {"type": "assistant/message", "data": {"turn": 1, "step": 1, **held}}


def turn(*rows: Row) -> list[Row]:
    return [{"type": "turn/start", "data": {}}, *rows, {"type": "turn/end", "data": {}}]


def numbered(header: Row, rows: Sequence[Row]) -> str:
    """Write a session's lines with numbers and times, as the host does."""
    told = ({**row, "seq": n, "time": HEADER["createdAt"] + n} for n, row in enumerate(rows))
    return "".join(json.dumps(row) + "\n" for row in (header, *told))


def written(folder: Path, text: str, *, frames: int = 1) -> Path:
    """Write a session file as so many frames of zstd."""
    data = text.encode()
    step = len(data) // frames + 1
    file = folder / "session.v4.jsonl.zstd"
    pack = zstandard.ZstdCompressor().compress
    file.write_bytes(b"".join(pack(data[at : at + step]) for at in range(0, len(data), step)))
    return file


def heard(file: Path, tally: Tally | None = None, **how: Callable[[str], bool]) -> list[Row]:
    """Return key, words and whether it is over, for every exchange of a file."""
    return [
        {
            "source": each.source,
            "turns": [(said.actor, said.text) for said in each.turns],
            "closed": each.closed,
        }
        for each in read_exchanges(file, Tally() if tally is None else tally, **how)
    ]


def test_an_exchange_bears_the_number_of_its_first_message_and_ends_with_its_turn(
    tmp_path: Path,
) -> None:
    rows = [
        *turn(person("Where is it?"), assistant("Here."), person("Sure?"), assistant("Sure.")),
        *turn(person("Thanks, that was it."), assistant("Gladly.")),
        *turn(person("And now?"))[:-1],
    ]

    assert heard(written(tmp_path, numbered(HEADER, rows))) == [
        {
            "source": "dsh:s:1",
            "turns": [
                ("person", "Where is it?"),
                ("assistant", "Here."),
                ("person", "Sure?"),
                ("assistant", "Sure."),
            ],
            "closed": True,
        },
        {
            "source": "dsh:s:7",
            "turns": [("person", "Thanks, that was it."), ("assistant", "Gladly.")],
            "closed": True,
        },
        {"source": "dsh:s:11", "turns": [("person", "And now?")], "closed": False},
    ]


def test_only_words_of_the_two_are_kept_and_the_rest_is_counted_with_its_reason(
    tmp_path: Path,
) -> None:
    rows = turn(
        {"type": "system/message", "data": {"message": {"content": "You are an agent."}}},
        person("Where is it?"),
        person("The working directory is /srv.", "runtime-context"),
        person("Recalled.", "plugin:ringwood"),
        person("You asked.", "plugin", plugin="ringwood"),
        {"type": "assistant/chunk", "data": {"chunk": {"type": "text", "text": "He"}}},
        {"type": "text-chunks", "data": {"texts": ["He", "re."]}},
        assistant("Here."),
        {"type": "tool/result", "data": {"content": [{"type": "text", "text": "secret"}]}},
        person("<private>not this</private>"),
        {"type": "assistant/message", "data": {"message": {"content": [{"type": "tool-call"}]}}},
    )
    tally = Tally()

    [exchange] = heard(written(tmp_path, numbered(HEADER, rows)), tally)

    assert exchange["turns"] == [("person", "Where is it?"), ("assistant", "Here.")]
    assert tally.skipped == {
        "no message": 6,
        "a message from runtime-context, not from a person": 1,
        "a message from plugin:ringwood, not from a person": 1,
        "a message from plugin, not from a person": 1,
        "a message without words": 1,
        "nothing left to keep": 1,
    }
    assert (tally.rows, tally.said) == (14, 3)


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ({"origin": "subagent", "parentSession": "p"}, "a sub-agent's session"),
        ({"delegationDepth": 1}, "a sub-agent's session"),
        ({"parentSession": "p"}, "a sub-agent's session"),
        ({"type": "notes"}, "no session"),
        ({"id": ""}, "no session"),
        ({"cwd": "/paused"}, "capture is paused there"),
        ({"id": "other"}, "not asked for"),
    ],
)
def test_a_session_that_is_not_a_persons_here_is_left_out_with_all_its_events(
    header: Row, reason: str, tmp_path: Path
) -> None:
    rows = turn(person("Where is it?"), assistant("Here."))
    file = written(tmp_path, numbered({**HEADER, **header}, rows))
    tally = Tally()

    found = heard(file, tally, is_paused="/paused".__eq__, wanted="other".__ne__)

    assert found == []
    assert tally.skipped == {reason: 5}


@pytest.mark.parametrize("header", [{"seedLength": 5}, {"isSeeded": True}])
def test_a_branch_of_a_persons_session_is_kept_without_what_it_was_copied_from(
    header: Row, tmp_path: Path
) -> None:
    rows = [
        *turn(person("Before the branch."), assistant("Yes.")),
        {"type": "session/end-seed", "data": {}},
        *turn(person("After the branch."), assistant("No.")),
    ]
    tally = Tally()
    branched = {**HEADER, "parentSession": "p", "delegationDepth": 0, **header}

    [exchange] = heard(written(tmp_path, numbered(branched, rows)), tally)

    assert exchange["turns"][0] == ("person", "After the branch.")
    assert tally.skipped["copied from the session it branched off"] in (4, 5)


@pytest.mark.parametrize("cut", [0.3, 0.6, 0.9, 0.99])
def test_a_file_cut_off_in_the_middle_of_a_frame_gives_what_is_whole(
    cut: float, tmp_path: Path
) -> None:
    rows = [row for n in range(40) for row in turn(person(f"Question {n}?"), assistant("Yes."))]
    file = written(tmp_path, numbered(HEADER, rows), frames=40)
    whole = heard(file)
    data = file.read_bytes()
    file.write_bytes(data[: int(len(data) * cut)])

    found = heard(file)

    assert 0 < len(found) <= 40 * cut + 1
    assert found[:-1] == whole[: len(found) - 1]  # the last may lack its answer


def test_damage_costs_the_damaged_lines_and_is_counted(tmp_path: Path) -> None:
    lines = numbered(HEADER, turn(person("Where?"), assistant("Here."))).splitlines(keepends=True)
    lines[3:3] = ["{half a line\n", "[]\n", "\n", "null\n", '"text"\n', "[" * 9000 + "\n"]
    tally = Tally()

    [exchange] = heard(written(tmp_path, "".join(lines)), tally)

    assert exchange["turns"] == [("person", "Where?"), ("assistant", "Here.")]
    assert tally.skipped["a damaged line"] == 6


def test_bytes_that_are_no_frame_end_the_file_and_nothing_else(tmp_path: Path) -> None:
    file = written(tmp_path, numbered(HEADER, turn(person("Where?"), assistant("Here."))))
    file.write_bytes(file.read_bytes() + b"\x28\xb5\x2f\xfd" + b"\xff" * 64)
    tally = Tally()

    assert len(heard(file, tally)) == 1
    assert tally.skipped["a damaged line"] == 1


def test_the_older_form_of_a_message_and_a_file_that_is_not_packed_are_read(tmp_path: Path) -> None:
    rows = turn(person("Where is it?"), assistant("Here.", old=True))
    file = tmp_path / "session.v0.jsonl"
    file.write_text(numbered({**HEADER, "version": 0}, rows), "utf-8")

    [exchange] = heard(file)

    assert exchange["turns"] == [("person", "Where is it?"), ("assistant", "Here.")]


def test_session_files_are_found_the_oldest_first_and_since_a_moment(tmp_path: Path) -> None:
    for name, written_at in (("b", 200), ("a", 300), ("c", 100)):
        folder = tmp_path / "sessions" / "--srv--" / name
        folder.mkdir(parents=True)
        file = written(folder, numbered(HEADER, []))
        os.utime(file, (written_at, written_at))
        (folder / "session.lock").touch()

    assert [file.parent.name for file in session_files(tmp_path)] == ["c", "b", "a"]
    assert [file.parent.name for file in session_files(tmp_path, since=200.0)] == ["b", "a"]
    assert session_files(tmp_path / "nowhere") == []


@pytest.mark.shared
def test_recorded_sessions_give_the_persons_words_and_no_sub_agents(shared_data: Path) -> None:
    files = sorted((shared_data / "transcripts" / "dsh").glob("*.jsonl"))
    assert len(files) > 20
    tally = Tally()

    found = [each for file in files for each in heard(file, tally)]

    assert len(found) > 15
    assert tally.skipped["a sub-agent's session"] > 100
    assert tally.skipped["a damaged line"] == 0
    for exchange in found:
        for _, text in exchange["turns"]:
            assert "Current runtime context" not in text
            assert "automatically generated checkpoint" not in text
