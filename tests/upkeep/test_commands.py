"""The commands rotate, dream and reindex: one object, the right exit code, remarks beside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ringwood.serve.cli.app import run

NOTE = "# Pumps\n\nThe pump in hall seven leaks oil near the main valve.\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with an old note, and a copy of it in other letters."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RINGWOOD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RINGWOOD_EMBEDDER", "hashing")
    for name, text in (("one", NOTE), ("two", NOTE.upper())):
        (tmp_path / f"{name}.md").write_text(text)
        store = ["store", f"{name}.md", "--source", name, "--at", "2020-02-02", "--quiet"]
        assert run(store) == 0
    return tmp_path / "home"


def test_rotate_says_what_it_moved(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()

    assert run(["rotate", "--dry-run"]) == 0
    assert "Due: 0 documents to hot, 0 documents to warm, 2 documents to cold" in _out(capsys)
    assert run(["rotate", "--json"]) == 0
    assert json.loads(_out(capsys))["moved"] == {"hot": 0, "warm": 0, "cold": 2}
    assert run(["stats", "--json"]) == 0
    assert json.loads(_out(capsys))["tiers"]["cold"]["documents"] == 2


def test_rotate_says_what_waits(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "memory-cold.db").unlink()
    capsys.readouterr()

    assert run(["rotate"]) == 0

    told = capsys.readouterr().err
    assert "2 documents waiting" in told
    assert "cold tier is missing" in told


def test_compact_says_what_it_gave_back(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rotate", "--quiet"]) == 0
    capsys.readouterr()

    assert run(["compact", "--dry-run", "--json"]) == 0
    planned = json.loads(_out(capsys))
    assert planned["dry_run"]
    assert run(["compact", "--json"]) == 0
    done = json.loads(_out(capsys))
    assert list(done["tiers"]) == ["hot", "warm", "cold"]
    assert done["after"] == sum(each["after"] for each in done["tiers"].values())
    assert (done["later"], done["notes"]) == ([], [])
    assert run(["compact"]) == 0
    assert "together: 0." in _out(capsys)


def test_compact_leaves_out_what_is_missing_and_says_so(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "memory-cold.db").unlink()
    capsys.readouterr()

    assert run(["compact"]) == 0

    assert "cold tier is missing" in capsys.readouterr().err


def test_dream_says_what_it_found(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()

    assert run(["dream"]) == 0

    told = _out(capsys)
    assert "2 nodes compared in 1 space, 0 unchanged" in told
    assert "1 document merged:" in told
    assert "  ->  " in told
    assert run(["dream", "--json"]) == 0
    assert json.loads(_out(capsys))["unchanged"] != []


@pytest.mark.parametrize("command", ["rotate", "dream"])
def test_without_a_home_a_command_ends_with_three(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("RINGWOOD_HOME", str(tmp_path / "none"))

    assert run([command, "--json"]) == 3

    assert json.loads(_out(capsys))["error"]["code"] == "no_home"
    assert not (tmp_path / "none").exists()


def test_reindex_goes_over_and_says_what_it_kept(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RINGWOOD_EMBEDDER")
    capsys.readouterr()

    assert run(["reindex", "hashing:64", "--dry-run"]) == 0
    assert "would go by hashing:64" in _out(capsys)
    assert run(["reindex", "hashing:64"]) == 0
    told = capsys.readouterr()
    assert "Recall goes by hashing:64 now; before, by hashing." in told.out
    assert "of other embedders kept" in told.err
    assert run(["reindex", "--drop-old", "--json"]) == 0
    done = json.loads(_out(capsys))
    assert (done["embedded"], done["switched"], done["kept"]) == (0, False, 0)
    assert done["dropped"] == done["nodes"] == done["vectors"]
    assert run(["stats", "--json"]) == 0
    assert json.loads(_out(capsys))["embedder"]["name"] == "hashing:64"


def test_reindex_in_the_background_is_wanted_until_it_is_cancelled(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()

    assert run(["reindex", "hashing:64", "--background", "--json"]) == 0
    assert json.loads(_out(capsys))["wanted"] == "hashing:64"
    assert run(["reindex", "--status"]) == 0
    assert "hashing:64 is being filled in" in _out(capsys)
    assert run(["stats", "--json"]) == 0
    assert "hashing:64 is being filled in" in json.loads(_out(capsys))["notes"][0]
    assert run(["reindex", "--cancel", "--json"]) == 0
    assert json.loads(_out(capsys)) == {"cancelled": "hashing:64"}
    assert run(["reindex", "--status", "--json"]) == 0
    assert json.loads(_out(capsys))["wanted"] is None


@pytest.mark.parametrize(
    "wrong", [["--background"], ["--status", "--cancel"], ["--dry-run", "--background", "words"]]
)
def test_reindex_does_one_thing_at_a_time(
    home: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    wrong: list[str],
) -> None:
    assert run(["reindex", *wrong]) == 2
    assert run(["reindex", "--status", "--json"]) == 0


def _out(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out


def test_an_export_is_no_note_among_others(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "all.jsonl"]) == 0
    capsys.readouterr()

    assert run(["import", "one.md", "all.jsonl", "--home", "other", "--json"]) == 2

    error = json.loads(_out(capsys))["error"]
    assert "all.jsonl is an export" in error["message"]
    assert "ringwood import all.jsonl" in error["mend"]
    assert not Path("other").exists()
