"""A home of a newer Ringwood is refused by every command, and no byte of it is touched."""

from __future__ import annotations

import json
from pathlib import Path

import apsw
import pytest
from tests.cases.commands import Command

from ringwood.engine.sqlite.schema import MIGRATIONS
from ringwood.memory import Memory

COMMANDS = (
    ("init",),
    ("store", "NOTE"),
    ("import", "NOTE"),
    ("recall", "alpha"),
    ("show", "global:/alpha"),
    ("tree",),
    ("recent",),
    ("explain", "x"),
    ("stats",),
    ("forget", "global:/alpha", "--yes"),
    ("rotate",),
    ("compact",),
    ("dream",),
    ("reindex", "words"),
    ("verify",),
    ("export", "OUT"),
    ("backup", "OUT"),
    ("spaces",),
)


@pytest.fixture
def newer(tmp_path: Path) -> Path:
    """A home whose hot file says, in its log alone, that a newer Ringwood wrote it."""
    home = tmp_path / "home"
    with Memory.open(home, embedder="words", wait_s=5.0) as memory:
        memory.store("alpha")
        memory.wait(5.0)
    connection = apsw.Connection(str(home / "memory.db"))
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.pragma("user_version", len(MIGRATIONS) + 1)
    connection.close()
    return home


def contents(home: Path) -> dict[str, bytes]:
    paths = (path for path in home.rglob("*") if path.is_file())
    return {
        str(path.relative_to(home)): path.read_bytes()
        for path in paths
        if path.suffix not in (".lock", ".db-shm")  # an index of the log is made by whoever reads
    }


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
def test_every_command_refuses_it_and_leaves_every_byte(
    newer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    note, out = tmp_path / "note.md", tmp_path / "out"
    note.write_text("# Beta\n\ntext\n")
    before = contents(newer)
    assert before["memory.db-wal"]
    words = [{"NOTE": str(note), "OUT": str(out)}.get(word, word) for word in command]
    answer = Command(newer, monkeypatch)(*words, "--json")
    assert answer.code == 3, answer
    assert json.loads(answer.out)["error"]["code"] == "newer_schema"
    assert contents(newer) == before
    assert not out.exists()


def test_an_export_of_a_newer_ringwood_is_not_read_into_it_either(
    newer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export = tmp_path / "a.jsonl"
    export.write_text('{"ringwood":"export","format":1}\n')
    before = contents(newer)
    answer = Command(newer, monkeypatch)("import", str(export), "--json")
    assert json.loads(answer.out)["error"]["code"] == "newer_schema"
    assert contents(newer) == before
