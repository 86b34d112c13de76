"""The commands rotate and dream: one object, the right exit code, and remarks beside the answer."""

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


def test_dream_says_what_it_found(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()

    assert run(["dream"]) == 0

    told = _out(capsys)
    assert "4 nodes compared in 1 space, 0 unchanged" in told
    assert "1 duplicate, left as they are:" in told
    assert "/pumps  =  " in told
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


def _out(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out
