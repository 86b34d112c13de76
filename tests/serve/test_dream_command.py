"""The command dream: what it says of merges, of runs, and of undoing one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ringwood.serve.cli.app import run

PORT = "The port of the staging server is 8090."


@pytest.fixture
def merged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str:
    """A home in which a dream merged two notes; its report."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RINGWOOD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RINGWOOD_EMBEDDER", "words")
    for name, text in (("one", PORT), ("two", f"{PORT}!")):
        (tmp_path / f"{name}.txt").write_text(text, "utf-8")
        assert run(["store", f"{name}.txt", "--source", name, "--quiet"]) == 0
    capsys.readouterr()
    assert run(["dream"]) == 0
    told = capsys.readouterr()
    return told.out + told.err


def test_a_dream_says_what_went_where_and_how_to_undo_it(merged: str) -> None:
    assert "1 document merged:" in merged
    assert "the older one stays" in merged
    assert "ringwood dream --undo 1" in merged


def test_runs_are_listed_and_undone(merged: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["dream", "--runs", "--json"]) == 0
    [listed] = json.loads(capsys.readouterr().out)["runs"]
    assert (listed["id"], listed["merges"]) == (1, 1)
    assert listed["begun_at"].endswith("Z")
    assert run(["dream", "--runs"]) == 0
    assert "1 merged in" in capsys.readouterr().out

    assert run(["dream", "--undo", "--json"]) == 0

    undone = json.loads(capsys.readouterr().out)
    assert (undone["run"], undone["restored"], undone["kept"]) == (1, 1, 0)
    assert run(["dream", "--runs"]) == 0
    assert "no run to undo" in capsys.readouterr().out


@pytest.mark.parametrize("number", ["0", "-1", "1.5", "x", ""])
def test_what_is_no_number_of_a_run_undoes_nothing(
    merged: str, capsys: pytest.CaptureFixture[str], number: str
) -> None:
    assert run(["dream", f"--undo={number}"]) == 2
    capsys.readouterr()
    assert run(["dream", "--runs", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["runs"]) == 1


def test_a_run_is_undone_by_its_number(merged: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["dream", "--undo", "7"]) == 2
    assert "There is no run 7" in capsys.readouterr().err

    assert run(["dream", "--undo", "1"]) == 0
    assert "Run 1 is undone: 1 document apart again" in capsys.readouterr().out


def test_one_thing_is_asked_at_a_time(merged: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["dream", "--undo", "1", "--runs"]) == 2
    assert run(["dream", "--dry-run", "--undo", "1"]) == 2
