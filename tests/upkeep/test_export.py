"""An export holds all of lasting value; a home is made of it again, and of nothing else."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases.commands import Command
from tests.engine.moving import FILES
from tests.upkeep.whole import exported, fill, restored

from ringwood import config
from ringwood.errors import ExportError, SchemaError, StorageError, UsageError
from ringwood.memory import Memory

Record = dict[str, Any]


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The export of a home with some of everything in it."""
    with Memory.open(tmp_path_factory.mktemp("whole") / "home", embedder="hashing") as memory:
        fill(memory)
        return exported(memory)


def records(export: bytes) -> list[Record]:
    return [json.loads(line) for line in export.splitlines(keepends=True)]


def signed(changed: list[Record]) -> bytes:
    """Write records as an export whose last line fits, as whoever means harm would."""
    lines = [json.dumps(each, ensure_ascii=False, separators=(",", ":")) for each in changed[:-1]]
    body = "".join(f"{line}\n" for line in lines).encode()
    end = {"row": "end", "lines": len(lines) + 1, "sha256": hashlib.sha256(body).hexdigest()}
    return body + json.dumps(end).encode() + b"\n"


def refuse(home: Path, export: bytes) -> ExportError:
    """Restore what is to be refused, and see that nothing is left of it."""
    with Memory.open(home, wait_s=0.0) as memory, pytest.raises(ExportError) as caught:
        memory.restore(io.BytesIO(export))
    assert not home.exists()
    return caught.value


def test_the_fixture_holds_some_of_everything(export: bytes) -> None:
    rows = records(export)
    kinds = {each["row"] for each in rows[1:]}
    assert kinds >= {
        "file", "counter", "setting", "space", "tombstone", "mean", "document", "version", "node",
        "vector", "edge", "alias", "end",
    }  # fmt: skip
    documents = [each for each in rows[1:] if each["row"] == "document"]
    assert {each["tier"] for each in documents} == {"hot", "warm", "cold"}
    assert {each["space"] for each in documents} == {"global", "elsewhere"}
    assert any(each["access"] for each in rows[1:] if each["row"] == "node")
    assert any(each["actor"] for each in rows[1:] if each["row"] == "node")


def test_what_is_restored_exports_the_same_bytes(export: bytes, tmp_path: Path) -> None:
    assert restored(tmp_path / "home", export) == export


def test_a_use_more_is_another_export(export: bytes, tmp_path: Path) -> None:
    with Memory.open(tmp_path / "home", wait_s=0.0) as memory:
        memory.restore(io.BytesIO(export))
        assert memory.recall("垫片").hits
        assert exported(memory) != export


def test_what_is_restored_is_found_by_words_and_by_meaning_in_every_tier(
    export: bytes, tmp_path: Path
) -> None:
    with Memory.open(tmp_path / "home", wait_s=0.0) as memory:
        memory.restore(io.BytesIO(export))
        for query, tier in (("valve v8", "hot"), ("垫片", "warm"), ("прокладку", "cold")):
            hit = memory.recall(query).hits[0]
            assert (hit.tier, hit.signals.cosine is not None) == (tier, True), query
            assert hit.signals.lexical
        assert memory.read("global:/pump/repair").node.path == "/pump/mending"
        assert memory.store("# Day 3\n\nShift 3 was quiet, gauge at 3.\n").state == "forgotten"
        assert memory.is_paused or (tmp_path / "home" / "paused-spaces").exists()
        assert config.setting(memory.home, "budget.max_nodes").value == 5
        assert memory.verify().findings == ()


def test_a_dream_can_be_undone_in_the_home_that_was_restored(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "home", embedder="hashing", wait_s=0.0) as memory:
        for number in range(4):
            memory.store(f"# Pump\n\nThe pump leaks{' ' * number}.\n", source=f"copy {number}")
        memory.wait(30.0)
        awake = exported(memory)
        assert memory.dream().merged
        dreamt = exported(memory)
    assert awake != dreamt
    with Memory.open(tmp_path / "again", wait_s=0.0) as memory:
        memory.restore(io.BytesIO(dreamt))
        assert exported(memory) == dreamt
        memory.undo()
        assert exported(memory) == awake


def test_what_was_undone_stays_so_in_the_home_that_was_restored(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "home", embedder="words", wait_s=0.0) as memory:
        for number in range(2):
            memory.store(f"# Pump\n\nThe pump leaks{' ' * number}.\n", source=f"copy {number}")
        before = exported(memory)
        assert memory.dream().merged == 1
        memory.undo()
        assert exported(memory) == before
        told = exported(memory, undone=True)
    assert len(records(told)) == len(records(before)) + 1
    for name, export, merged in (("told", told, 0), ("untold", before, 1)):
        with Memory.open(tmp_path / name, wait_s=0.0) as memory:
            memory.restore(io.BytesIO(export))
            assert exported(memory, undone=name == "told") == export
            assert memory.dream().merged == merged


def test_a_mark_of_what_was_undone_is_checked(export: bytes, tmp_path: Path) -> None:
    rows = records(export)
    first = next(i for i, each in enumerate(rows) if each.get("row") == "document")
    mark = {"row": "apart", "space": "global", "key": "0f" * 16}
    marked = signed([*rows[:first], mark, *rows[first:]])
    with Memory.open(tmp_path / "marked", wait_s=0.0) as memory:
        memory.restore(io.BytesIO(marked))
        assert exported(memory) == export
    for harm in ({"space": "nowhere"}, {"key": "the pump leaks"}, {"extra": 1}):
        refuse(tmp_path / "home", signed([*rows[:first], mark | harm, *rows[first:]]))
    refuse(tmp_path / "home", signed([*rows[: first + 1], mark, *rows[first + 1 :]]))
    refuse(tmp_path / "home", signed([*rows[:first], mark, mark, *rows[first:]]))


def test_an_export_without_vectors_is_filled_again(export: bytes, tmp_path: Path) -> None:
    with Memory.open(tmp_path / "first", wait_s=0.0) as memory:
        memory.restore(io.BytesIO(export))
        lean = exported(memory, vectors=False)
    assert len(lean) < len(export) * 0.7
    assert b'"row":"vector"' not in lean
    with Memory.open(tmp_path / "second", wait_s=0.0) as memory:
        memory.restore(io.BytesIO(lean))
        assert exported(memory, vectors=False) == lean
        memory.wait(60.0)
        assert memory.missing_vectors() == 0


def test_keys_addresses_and_places_of_one_machine_are_no_part_of_it(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "home", embedder="words", wait_s=0.0) as memory:
        memory.store("alpha")
        (tmp_path / "home" / "credentials.toml").write_text('[openai]\nkey = "sk-canary"\n')
        for key in config.OF_THE_MACHINE:
            value = "http://canary.test" if key.endswith("url") else str(tmp_path / "canary.db")
            config.set_value(memory.home, key, value)
        config.set_value(memory.home, "budget.max_nodes", "4")
        written = exported(memory)
    assert b"canary" not in written
    assert b"max_nodes = 4" in written


def test_the_file_is_its_owners_alone_and_appears_whole(tmp_path: Path, memory: Memory) -> None:
    memory.store("alpha")
    memory.wait()  # else its vector may come between two exports
    target = tmp_path / "memory.jsonl"
    target.write_text("what was here before")
    with pytest.raises(KeyboardInterrupt):
        memory.export(target, on_document=_interrupt)
    assert target.read_text() == "what was here before"
    memory.export(target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert target.read_bytes() == exported(memory)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "memory.jsonl"]


def _interrupt(*_: int) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("name", ["memory.db", "memory.db-wal", "mirror/a.md", "new.jsonl"])
@pytest.mark.parametrize("way", ["plain", "relative", "link"])
def test_nothing_is_written_over_the_home(
    tmp_path: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch, name: str, way: str
) -> None:
    memory.store("alpha")
    memory.wait()
    before = exported(memory)
    target = Path(memory.home) / name
    if way == "relative":
        monkeypatch.chdir(tmp_path)
        target = Path("home/../home") / name
    elif way == "link":
        (tmp_path / "link").symlink_to(target)
        target = tmp_path / "link"
    with pytest.raises(UsageError, match="lies in the home"):
        memory.export(target)
    assert exported(memory) == before
    assert memory.verify().is_clean


def test_nothing_is_written_over_a_tier_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RINGWOOD_TIERS_WARM_PATH", str(tmp_path / "slow" / "warm.db"))
    (tmp_path / "slow").mkdir()
    with Memory.open(tmp_path / "home", embedder="words") as memory:
        memory.store("alpha")
        for end in ("", "-wal"):
            with pytest.raises(UsageError, match="lies in the home"):
                memory.export(tmp_path / "slow" / f"warm.db{end}")
        memory.export(tmp_path / "slow" / "a.jsonl")


def test_an_index_is_not_written_into_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = Command(tmp_path / "home", monkeypatch)
    command("store", stdin=b"alpha")
    before = (tmp_path / "home" / "memory.db").read_bytes()
    assert command("index", str(tmp_path / "home" / "memory.db")).code == 2
    assert (tmp_path / "home" / "memory.db").read_bytes() == before


@pytest.mark.parametrize("target", [".", "..", "/", "folder"])
def test_a_folder_is_no_file_to_write(
    tmp_path: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    memory.store("alpha")
    (tmp_path / "work" / "folder").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    with pytest.raises(UsageError, match="is a folder"):
        memory.export(target)


def test_a_place_that_leads_nowhere_is_told(
    tmp_path: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.store("alpha")
    (tmp_path / "ring").symlink_to(tmp_path / "ring")
    with pytest.raises(UsageError):
        memory.backup(tmp_path / "ring")
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    for act in (memory.export, memory.backup):
        with pytest.raises(StorageError):
            act(Path("new"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_what_is_no_file_is_written_into_and_stays(tmp_path: Path, memory: Memory) -> None:
    memory.store("alpha")
    memory.wait()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    memory.export(pipe)
    reader.join(10)
    assert read == [exported(memory)]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_link_to_a_file_stays_one(tmp_path: Path, memory: Memory) -> None:
    memory.store("alpha")
    memory.wait()
    (tmp_path / "link").symlink_to(tmp_path / "real.jsonl")
    memory.export(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real.jsonl").read_bytes() == exported(memory)


def test_an_export_is_of_one_moment_while_others_store(tmp_path: Path, memory: Memory) -> None:
    for number in range(20):
        memory.store(f"note {number}", source=str(number))
    before = exported(memory)
    stored = threading.Event()

    def disturb(done: int, total: int) -> None:
        if done == 1:
            other = threading.Thread(target=_store_and_move, args=(memory,))
            other.start()
            other.join()
            stored.set()

    target = io.BytesIO()
    memory.export(target, on_document=disturb)
    assert stored.is_set()
    assert target.getvalue() == before
    assert exported(memory) != before


def _store_and_move(memory: Memory) -> None:
    memory.store("edited meanwhile", source="15")
    memory.store("new meanwhile")
    memory.forget(source="10")


def test_a_home_that_holds_something_is_refused(export: bytes, tmp_path: Path) -> None:
    with Memory.open(tmp_path / "home", embedder="words", wait_s=0.0) as memory:
        memory.store("mine")
        before = exported(memory)
        with pytest.raises(UsageError, match="holds something") as caught:
            memory.restore(io.BytesIO(export))
        assert "--home" in caught.value.mend
        assert exported(memory) == before
        memory.forget(space="global")  # what was forgotten is to stay so
        with pytest.raises(UsageError, match="holds something"):
            memory.restore(io.BytesIO(export))


def test_an_empty_home_keeps_its_settings_and_open_readers(export: bytes, tmp_path: Path) -> None:
    home = tmp_path / "home"
    with Memory.open(home, wait_s=0.0) as other, Memory.open(home, wait_s=0.0) as memory:
        other.create()
        config.set_value(str(home), "budget.max_nodes", "3")
        assert other.recall("pump").hits == ()
        done = memory.restore(io.BytesIO(export))
        assert done.notes == ["config.toml was here already, and stays as it is."]
        assert config.setting(str(home), "budget.max_nodes").value == 3
        assert other.recall("pump").hits
        assert other.store("stored by who had it open").state != "failed"
    assert not list(home.glob("restoring-*"))


def test_a_filling_that_was_cut_short_can_be_given_again(export: bytes, tmp_path: Path) -> None:
    home = tmp_path / "home"
    with Memory.open(home, wait_s=0.0) as memory:
        memory.restore(io.BytesIO(export))
    with Memory.open(tmp_path / "other", wait_s=0.0) as memory:
        memory.create()
        with closing(apsw.Connection(str(tmp_path / "other" / FILES["hot"]))) as hot:
            hot.execute("INSERT INTO meta VALUES ('filling', 'begun')")
        with closing(apsw.Connection(str(tmp_path / "other" / FILES["cold"]))) as cold:
            cold.execute("INSERT INTO spaces (number, name) VALUES (1, 'global')")
            cold.execute(
                "INSERT INTO documents VALUES (1, 1, NULL, '/x', 'x', '', 'person', 0.5, 0, 0, 0,"
                " 'ready', NULL, 1, NULL, NULL, 'x')"
            )
        memory.restore(io.BytesIO(export))
        assert exported(memory) == export


# -- what is refused -------------------------------------------------------------------------------


def test_an_export_cut_off_anywhere_is_refused_and_nothing_is_written(
    export: bytes, tmp_path: Path
) -> None:
    lines = export.splitlines(keepends=True)
    cuts = [0, 1, len(lines) // 3, len(lines) // 2, len(lines) - 1]
    for cut in cuts:
        error = refuse(tmp_path / "home", b"".join(lines[:cut]))
        assert f"line {cut + 1}" in error.message
    middle = sum(map(len, lines[: len(lines) // 2])) + 20
    assert f"line {len(lines) // 2 + 1}" in refuse(tmp_path / "home", export[:middle]).message


REWRITTEN: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "gzip with a line's end in its head": lambda export: gzip.compress(export, mtime=0x0A0A0A0A),
    "utf-8 with a mark": lambda export: b"\xef\xbb\xbf" + export,
    "utf-16": lambda export: export.decode().encode("utf-16"),
    "utf-16, the other way round": lambda export: b"\xfe\xff" + export.decode().encode("utf-16-be"),
    "other ends": lambda export: export.replace(b"\n", b"\r\n"),
}
"""What shells, editors and mail make of a file on its way."""


@pytest.mark.parametrize("how", REWRITTEN)
def test_what_another_program_rewrote_is_no_note_and_is_told(
    export: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    file = tmp_path / "export.jsonl"
    file.write_bytes(REWRITTEN[how](export))
    command = Command(tmp_path / "again", monkeypatch)

    told = command("import", str(file))

    assert told.code == 1
    assert "Another program" in told.err
    assert "ringwood export FILE" in told.err
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize("inside", [b"", b"A note.", b"{}"])
def test_other_packed_files_are_no_exports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: bytes
) -> None:
    file = tmp_path / "note.md.gz"
    file.write_bytes(gzip.compress(inside))
    told = Command(tmp_path / "home", monkeypatch)("import", str(file))
    assert "not a text file" in told.out + told.err


def test_an_edited_export_is_refused_at_its_end(export: bytes, tmp_path: Path) -> None:
    edited = export.replace(b'"seen":1', b'"seen":2', 1)
    assert edited != export
    error = refuse(tmp_path / "home", edited)
    assert f"line {len(export.splitlines())}" in error.message
    assert "digest" in error.message


def _first(kind: str, change: Callable[[Record], object]) -> Callable[[list[Record]], int]:
    """Change the first row of a kind; return the number of its line."""

    def apply(rows: list[Record]) -> int:
        place = next(i for i, each in enumerate(rows) if each.get("row") == kind)
        change(rows[place])
        return place + 1

    return apply


def _set(kind: str, name: str, value: object) -> Callable[[list[Record]], int]:
    return _first(kind, lambda row: row.__setitem__(name, value))


HOSTILE: dict[str, Callable[[list[Record]], int]] = {
    "a giant id": _set("document", "id", 2**63),
    "an id beyond JSON": _set("node", "id", 2**53),
    "id zero": _set("document", "id", 0),
    "a negative id": _set("document", "id", -1),
    "a true id": _set("document", "id", True),
    "a text for an id": _set("document", "id", "1"),
    "a number for a text": _set("document", "text", 5),
    "nothing for a text": _set("document", "text", None),
    "a lone surrogate": _set("document", "title", "\ud800"),
    "a space that is not there": _set("document", "space", "nowhere"),
    "a space that no address reaches": _set("space", "name", "a\nb"),
    "a text of another digest": _set("document", "text", "something else"),
    "an earlier text of another digest": _set("version", "text", "something else"),
    "a way out of the mirror": _set("document", "path", "/../../etc/passwd"),
    "a way out by dots": _set("node", "path", "/a/.."),
    "another system's way out": _set("node", "path", "/a\\..\\b"),
    "a control character in a path": _set("alias", "path", "/a\n"),
    "a tier that is none": _set("document", "tier", "../hot"),
    "importance beyond 1": _set("document", "importance", 1.5),
    "a state that is none": _set("document", "state", "done"),
    "a stamp that is none": _set("document", "created_at", "yesterday"),
    "a stamp of nowhere": _set("document", "created_at", "2026-01-01T00:00:00"),
    "a span beyond the text": _set("node", "end", 10**9),
    "a vector of no node": _set("vector", "node", 999_999),
    "a vector that is no base64": _set("vector", "values", "%%%%"),
    "a vector of another length": _set("vector", "values", base64.b64encode(b"ab").decode()),
    "a kind that is none": _set("node", "row", "nodes"),
    "a column too many": _set("node", "extra", 1),
    "a setting of another stage": _set("setting", "key", "generation"),
    "another file": _set("file", "name", "../credentials.toml"),
    "keys": _set("file", "name", "credentials.toml"),
    "a counter that gives ids again": _set("counter", "next", 1),
    "a weight that is none": _set("edge", "weight", "heavy"),
    "a parent elsewhere": _set("node", "parent", 7),
}


OF_A_DOCUMENT = {
    "a span beyond the text",
    "a parent elsewhere",
    "a vector of no node",
    "a vector of another length",
    "an earlier text of another digest",
    "a counter that gives ids again",
}
"""What does not fit the rest of a document, or of all, is refused by the line of those."""


@pytest.mark.parametrize("harm", HOSTILE)
def test_a_hostile_export_is_refused_with_its_line(
    export: bytes, tmp_path: Path, harm: str
) -> None:
    rows = records(export)
    line = HOSTILE[harm](rows)
    text = json.dumps(rows[line - 1])
    error = refuse(tmp_path / "home", signed(rows) if "\\ud800" not in text else _escaped(rows))
    assert error.code == "bad_export"
    assert "Nothing was written" in error.message
    named = int(error.message.split("line ")[1].split(":")[0])
    assert named == line or harm in OF_A_DOCUMENT


def _escaped(rows: list[Record]) -> bytes:
    """Write records in ASCII, where a lone surrogate is an escape."""
    return b"".join(json.dumps(each).encode() + b"\n" for each in rows)


def test_what_was_signed_and_not_changed_is_taken(export: bytes, tmp_path: Path) -> None:
    """The control of the test above: it is the change that is refused."""
    assert restored(tmp_path / "home", signed(records(export))) == export


@pytest.mark.parametrize(
    "line",
    [b"[]\n", b"5\n", b"\xff\xfe\n", b'{"row":' + b"[" * 100_000 + b"\n", b'{"a":NaN}\n', b"\n"],
)
def test_a_line_that_is_no_record_is_refused(export: bytes, tmp_path: Path, line: bytes) -> None:
    lines = export.splitlines(keepends=True)
    error = refuse(tmp_path / "home", b"".join([*lines[:5], line, *lines[5:]]))
    assert "line 6" in error.message


def test_rows_out_of_place_twice_or_without_their_document_are_refused(
    export: bytes, tmp_path: Path
) -> None:
    rows = records(export)
    first = next(i for i, each in enumerate(rows) if each.get("row") == "document")
    node = next(i for i, each in enumerate(rows) if each.get("row") == "node")
    for changed in (
        [*rows[:first], rows[node], *rows[first:]],
        [*rows[:node], rows[node], *rows[node:]],
        [*rows[:first], *rows[first + 1 : first + 2], *rows[first:]],
        [*rows[:-1], rows[first], rows[-1]],
        [*rows[:-1], rows[1], rows[-1]],
        [*rows, rows[-1], rows[-1]],
    ):
        refuse(tmp_path / "home", signed(changed))


def test_the_export_of_a_newer_ringwood_is_told_from_a_broken_one(
    export: bytes, tmp_path: Path
) -> None:
    rows = records(export)
    rows[0]["format"] = 2
    with Memory.open(tmp_path / "home", wait_s=0.0) as memory, pytest.raises(SchemaError):
        memory.restore(io.BytesIO(signed(rows)))
    assert not (tmp_path / "home").exists()


def test_an_export_that_cannot_be_opened_makes_no_home(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "home", wait_s=0.0) as memory:
        for source in (tmp_path / "none", tmp_path):
            with pytest.raises(StorageError):
                memory.restore(source)
    assert not (tmp_path / "home").exists()


# -- any home -------------------------------------------------------------------------------------

WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs"], exclude_characters="\x00"),
    min_size=1,
    max_size=60,
)


@settings(max_examples=15, deadline=None)
@given(
    texts=st.lists(st.tuples(WORDS, st.integers(0, 3), st.integers(0, 600)), min_size=1, max_size=6)
)
def test_any_home_comes_back_the_same(
    texts: list[tuple[str, int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("any")
    with Memory.open(folder / "home", embedder="words", wait_s=0.0) as memory:
        memory.create()
        for text, source, days in texts:
            if text.strip():
                at = datetime.now(UTC) - timedelta(days=days)
                memory.store(text, source=f"s{source}", at=at)
        memory.rotate()
        written = exported(memory)
    assert restored(folder / "again", written) == written


# -- the command ----------------------------------------------------------------------------------


def test_the_command_exports_and_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Command(tmp_path / "first", monkeypatch)
    second = Command(tmp_path / "second", monkeypatch)
    first("store", stdin=b"# Pump\n\nThe pump leaks.\n")
    told = first("export", str(tmp_path / "a.jsonl"), "--json")
    assert (told.code, told.json["documents"], told.json["nodes"]) == (0, 1, 2)
    assert first("export").out.encode() == (tmp_path / "a.jsonl").read_bytes()
    assert first("export", "--json").code == 2
    back = second("import", str(tmp_path / "a.jsonl"), "--json")
    assert (back.code, back.json["documents"], back.json["home"]) == (
        0,
        1,
        str(tmp_path / "second"),
    )
    assert second("recall", "pump").code == 0
    again = second("import", str(tmp_path / "a.jsonl"))
    assert again.code == 2
    assert "--home" in again.err
    assert second("import", str(tmp_path / "a.jsonl"), "--prune").code == 2


def test_an_export_into_a_full_disk_or_a_closed_pipe_is_told_apart(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "home", embedder="words", wait_s=0.0) as memory:
        for number in range(40):
            memory.store(f"# Note {number}\n\n" + f"word{number} " * 1000)
    command = f"'{sys.executable}' -m ringwood --home '{tmp_path / 'home'}' export"

    def run(line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-c", line], capture_output=True, text=True, timeout=60, check=False
        )

    read = run(f"{command} | head -c 20")
    assert (read.stdout, "rror" in read.stderr) == ('{"ringwood":"export"', False)
    if Path("/dev/full").exists():
        full = run(f"{command} > /dev/full")
        assert full.returncode == 1
        assert "No space left" in full.stderr
        assert "internal" not in full.stderr
