"""What a command says when it fails: briefly, once, and naming a command that there is."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import ringwood.serve.cli.app as cli
from ringwood.serve.cli import COMMANDS, output
from ringwood.serve.cli.app import run

SOURCES = Path(cli.__file__).parents[2]


def test_every_command_that_a_message_names_exists() -> None:
    named = {
        (file.name, name)
        for file in SOURCES.rglob("*.py")
        for name in re.findall(r"(?:`|mend=f?\")ringwood ([a-z]+)", file.read_text("utf-8"))
    }

    assert {each for each in named if each[1] not in COMMANDS} == set()
    assert len(named) > 5


def test_an_error_quotes_no_argument_of_any_length(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = ["--home", str(tmp_path), "--embedder", "words", "--json"]
    run(["init", *home])
    capsys.readouterr()

    for arguments in (["show", "/" + "x" * 100_000], ["tree", "--depth", "9" * 5000]):
        assert run([*arguments, *home]) in (1, 2)
        assert len(json.loads(capsys.readouterr().out)["error"]["message"]) < 1000


def test_a_failure_after_the_answer_adds_no_second_object(
    capsys: pytest.CaptureFixture[str],
) -> None:
    output.prepare_streams()

    assert output.json_object({"hits": []}) is True
    assert output.json_object({"error": {}}) is False

    assert json.loads(capsys.readouterr().out) == {"hits": []}
