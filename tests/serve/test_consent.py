"""`pause` and `resume` do what they say, and say what holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ringwood.capture import consent
from ringwood.serve.cli.app import run


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A home, and a project to work in."""
    project = tmp_path / "harbour"
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("RINGWOOD_HOME", str(tmp_path / "home"))
    return str(tmp_path / "home")


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert run([*arguments, "--json"]) == 0
    answer: dict[str, object] = json.loads(capsys.readouterr().out)
    return answer


def test_pausing_and_resuming_everywhere(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert told(capsys, "pause") == {"paused": True, "here": False, "space": "harbour"}
        assert consent.is_paused(home, str(Path.cwd()))
    for _ in range(2):
        assert told(capsys, "resume") == {"paused": False, "here": False, "space": "harbour"}
        assert not consent.is_paused(home, str(Path.cwd()))


def test_pausing_and_resuming_here(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "pause", "--here") == {"paused": False, "here": True, "space": "harbour"}
    assert consent.is_paused(home, str(Path.cwd()))
    assert not consent.is_paused(home, "")
    assert told(capsys, "resume") == {"paused": False, "here": True, "space": "harbour"}
    assert told(capsys, "resume", "--here") == {"paused": False, "here": False, "space": "harbour"}


@pytest.mark.usefixtures("home")
def test_a_person_is_told_what_holds_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    def said(*arguments: str) -> str:
        assert run(list(arguments)) == 0
        return capsys.readouterr().out

    assert said("pause") == "Capture is paused everywhere.\n"
    assert "harbour: paused by itself" in said("pause", "--here")
    assert said("resume").startswith("Capture is off in the space harbour: paused by itself")
    assert said("resume", "--here") == "Capture is on.\n"
    Path(consent.IGNORE_FILE).write_text("*", "utf-8")
    assert "a .ringwoodignore leaves it out" in said("resume", "--here")


def test_help_says_that_only_capture_stops(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pause", "--help"]) == 0
    assert "Only capture stops: recall goes on" in " ".join(capsys.readouterr().out.split())
