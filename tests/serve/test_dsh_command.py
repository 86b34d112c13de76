"""The command that gives DSH its memory: what it prints, and what it leaves alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.hosts.test_dsh_sessions import HEADER, assistant, numbered, person, turn, written

from ringwood.serve.cli.app import run

PATCH = "cordis.patch.yml"


@pytest.fixture(autouse=True)
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A DSH home and a memory's home, both named by the environment; neither is there yet."""
    monkeypatch.setenv("DSH_HOME", str(tmp_path / "dsh"))
    monkeypatch.setenv("RINGWOOD_HOME", str(tmp_path / "memory"))
    monkeypatch.setenv("RINGWOOD_EMBEDDER", "words")


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    """Run the command with --json; return its exit code and the object."""
    capsys.readouterr()
    code = run(["dsh", *arguments, "--json"])
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return code, told


def test_installing_twice_changes_once_and_uninstalling_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "dsh" / PATCH

    _, tried = printed(capsys, "install", "--dry-run")
    assert not file.exists()
    _, first = printed(capsys, "install", "--home", str(tmp_path / "other"))
    _, second = printed(capsys, "install")
    code, status = printed(capsys, "status")

    assert (tried["changed"], tried["dry_run"]) == (True, True)
    assert (first["changed"], second["changed"], second["diff"]) == (True, False, "")
    assert (code, status["installed"], status["current"], status["runs"]) == (0, True, True, True)
    assert printed(capsys, "uninstall")[1]["changed"] is True
    assert list((tmp_path / "dsh").iterdir()) == []
    assert printed(capsys, "status")[0] == 1
    assert not (tmp_path / "memory").exists()


def test_the_home_given_at_install_is_the_one_that_status_looks_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "other" / "logs" / "dsh.log"
    log.parent.mkdir(parents=True)
    log.write_text("".join(f"line {number}\n" for number in range(9)), "utf-8")
    printed(capsys, "install", "--home", str(tmp_path / "other"))

    _, status = printed(capsys, "status")

    assert status["home"] == str(tmp_path / "other")
    assert status["log"] == [f"line {number}" for number in range(4, 9)]


def test_a_file_that_is_no_list_is_left_alone_with_a_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "dsh" / PATCH
    file.parent.mkdir()
    file.write_bytes(b"plugins:\n  - mine\n")

    code, told = printed(capsys, "install")

    assert (code, told["error"]["code"]) == (2, "bad_config")
    assert file.read_bytes() == b"plugins:\n  - mine\n"
    assert list(file.parent.iterdir()) == [file]


def test_importing_takes_in_what_is_new_and_says_what_it_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for session, more in (("one", {}), ("two", {}), ("errand", {"origin": "subagent"})):
        folder = tmp_path / "dsh" / "sessions" / "--srv--" / session
        folder.mkdir(parents=True)
        rows = turn(person(f"Where is it, {session}?"), assistant("Here."))
        written(folder, numbered({**HEADER, "id": session, **more}, rows))

    _, tried = printed(capsys, "import", "--dry-run")
    assert not (tmp_path / "memory").exists()
    _, first = printed(capsys, "import")
    _, again = printed(capsys, "import")
    assert run(["forget", "--source", "dsh:two:1", "--space", "global", "--yes"]) == 0
    _, without = printed(capsys, "import")
    _, brought = printed(capsys, "import", "--again")
    _, late = printed(capsys, "import", "--since", "2100-01-01")

    assert (tried["sessions"], tried["documents"]) == (2, 2)
    assert (first["documents"], first["existing"]) == (2, 0)
    assert {"reason": "a sub-agent's session", "rows": 5} in first["skipped"]
    assert (again["documents"], again["existing"]) == (0, 2)
    assert (without["documents"], without["forgotten"]) == (0, 1)
    assert brought["documents"] == 1
    assert late["sessions"] == 0


def test_what_is_for_people_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["dsh", "install", "--dry-run"]) == 0
    assert "+    - id: ringwood" in capsys.readouterr().out
    assert run(["dsh", "install"]) == 0
    assert "The plugin stands in" in capsys.readouterr().out
    assert run(["dsh", "import"]) == 0
    assert "0 documents new or changed of 0 exchanges in 0 sessions" in capsys.readouterr().out
    assert run(["dsh", "no-such-action"]) == 2


def test_a_person_is_told_how_it_stands_and_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["dsh", "status"]) == 1
    before = capsys.readouterr()
    assert run(["dsh", "install"]) == 0
    assert f"has not run in {tmp_path / 'gone'}" not in capsys.readouterr().err
    assert run(["dsh", "status"]) == 0
    after = capsys.readouterr()

    assert "plugin    not installed\n" in before.out
    assert "ringwood dsh install" in before.err
    assert "plugin    installed\n" in after.out
    assert "ringwood dsh install" not in after.err

    assert run(["dsh", "install", "--dry-run", "--dsh-home", str(tmp_path / "gone")]) == 0
    assert f"has not run in {tmp_path / 'gone'}" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["instal"]])
def test_what_is_no_action_is_answered_with_those_that_there_are(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["dsh", *arguments]) == 2
    said = capsys.readouterr().err
    assert "install, uninstall, status, import." in said
    assert "child" not in said
