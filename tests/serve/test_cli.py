"""The command: its JSON, its exit codes, and that nothing in memory speaks to the terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ringwood.serve.cli import COMMANDS
from ringwood.serve.cli.app import run

NOTE = "---\ndate: 2026-10-02\n---\n\n# Gateway\n\n## Port\n\nIt is port 8090.\n\n## Owner\n\nOps"
Call = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run a command with `--json` in a home of the test; return exit code and object."""

    def calling(*arguments: str, home: Path | None = None) -> tuple[int, dict[str, Any]]:
        place = str(home or tmp_path / "home")
        code = run([*arguments, "--json", "--home", place, "--embedder", "hashing", "--space", "s"])
        out = capsys.readouterr().out
        loaded: dict[str, Any] = json.loads(out)
        return code, loaded

    return calling


@pytest.fixture
def note(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    file = folder / "gateway.md"
    file.write_text(NOTE, "utf-8")
    return file


def test_the_way_from_a_folder_to_an_explained_answer(call: Call, note: Path) -> None:
    code, imported = call("import", str(note.parent))
    assert code == 0
    assert {"documents", "nodes", "vectors", "edges", "unchanged", "forgotten", "skipped"} <= set(
        imported
    )
    assert (imported["documents"], imported["vectors"]) == (1, imported["nodes"])

    code, answer = call("recall", "which", "port", "--why")
    assert code == 0
    hit = answer["hits"][0]
    assert hit["address"].startswith("s:/gateway/port")
    assert hit["created_at"] == "2026-10-02T00:00:00.000Z"
    assert hit["actor"] == "import"
    assert abs(hit["score"] - sum(term["value"] for term in hit["terms"])) <= 1e-9
    assert all(each["stage"] and each["reason"] and each["terms"] for each in answer["dropped"])

    code, logged = call("explain", answer["recall_id"])
    assert code == 0
    assert [each["address"] for each in logged["hits"]] == [
        each["address"] for each in answer["hits"]
    ]

    code, shown = call("show", "/gateway/port")
    assert code == 0
    start, end = shown["span"]
    assert NOTE[start:end] == shown["text"]
    assert shown["children"][0]["path"].startswith("/gateway/port/")

    code, tree = call("tree", "--depth", "9")
    assert code == 0
    assert [each["path"] for each in tree["nodes"]][:2] == ["/gateway", "/gateway/port"]

    code, stats = call("stats")
    assert code == 0
    assert stats["documents"] == stats["tiers"]["hot"]["documents"] == 1
    assert stats["states"] == {"ready": 1}
    assert stats["embedder"]["name"] == "hashing"


def test_a_second_import_changes_nothing(call: Call, note: Path) -> None:
    call("import", str(note.parent))

    _, again = call("import", str(note.parent))

    assert (again["documents"], again["unchanged"], again["nodes"]) == (0, 1, 0)


def test_a_dry_run_of_an_import_writes_nothing(call: Call, note: Path, tmp_path: Path) -> None:
    before = call("import", str(note.parent), "--dry-run", home=tmp_path / "none")
    call("init")
    code, would = call("import", str(note.parent), "--dry-run")
    _, stats = call("stats")

    assert (before[0], before[1]["documents"]) == (0, 1)
    assert not (tmp_path / "none").exists()
    assert (code, would["documents"]) == (0, 1)
    assert stats["documents"] == 0


def test_a_folder_is_listed_like_a_document(call: Call, tmp_path: Path) -> None:
    (tmp_path / "n" / "team").mkdir(parents=True)
    (tmp_path / "n" / "team" / "a.md").write_text("# A\n\nText.", "utf-8")
    (tmp_path / "n" / "teammates.md").write_text("# Teammates\n\nText.", "utf-8")
    call("import", str(tmp_path / "n"))

    code, tree = call("tree", "/team", "--depth", "1")

    assert code == 0
    assert [each["path"] for each in tree["nodes"]] == ["/team/a"]
    assert call("tree", "/teams")[0] == 1


def test_a_recall_says_that_a_space_is_empty_or_vectors_are_to_come(
    call: Call, tmp_path: Path
) -> None:
    call("init")

    assert "holds nothing yet" in call("recall", "x")[1]["notes"][0]


def test_an_empty_list_says_what_was_looked_through(
    call: Call, note: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call("import", str(note))
    recent = ["recent", "--home", str(tmp_path / "home"), "--space"]

    assert run([*recent, "s"]) == 0
    listed = capsys.readouterr()
    assert run([*recent, "harbour"]) == 0
    empty = capsys.readouterr()

    assert "Gateway" in listed.out
    assert "Nothing in space" not in listed.err
    assert (empty.out, empty.err) == ("", "Nothing in space harbour or in global.\n")


def test_an_import_without_any_vector_says_where_the_reason_is(
    note: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def said(embedder: str, home: str) -> str:
        place = str(tmp_path / home)
        assert run(["import", str(note), "--embedder", embedder, "--home", place]) == 0
        return capsys.readouterr().err

    without, vectors = said("openai:none", "one"), said("hashing", "two")

    assert "Found by words only. ringwood stats says why." in without
    assert "Found by words only" not in vectors


def test_files_that_are_gone_are_listed_and_removed_only_when_asked(call: Call, note: Path) -> None:
    other = note.with_name("other.md")
    other.write_text("# Other\n\nSomething else.", "utf-8")
    call("import", str(note.parent))
    other.unlink()

    _, listed = call("import", str(note.parent))
    _, kept = call("stats")
    _, pruned = call("import", str(note.parent), "--prune")
    _, left = call("stats")
    other.write_text("# Other\n\nSomething else.", "utf-8")
    _, back = call("import", str(note.parent))

    assert [each["file"] for each in listed["skipped"]] == [str(other.resolve())]
    assert (kept["documents"], pruned["pruned"], left["documents"]) == (2, 1, 1)
    assert back["documents"] == 1


def test_what_cannot_be_read_is_named_with_its_reason(call: Call, note: Path) -> None:
    (note.parent / "photo.jpg").write_bytes(b"\xff\xd8\xff\xe0")
    (note.parent / "binary.md").write_bytes(b"\x00\x01\x02\xff" * 50)
    (note.parent / "empty.md").write_text("\n", "utf-8")
    (note.parent / ".ringwoodignore").write_text("secret*\n", "utf-8")
    (note.parent / "secret.md").write_text("# Secret", "utf-8")

    _, imported = call("import", str(note.parent))

    reasons = {Path(each["file"]).name: each["reason"] for each in imported["skipped"]}
    assert reasons == {
        "photo.jpg": "not a note (.jpg)",
        "binary.md": "not a text file",
        "empty.md": "empty",
    }
    assert imported["documents"] == 1


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (["recall", "x"], 3, "no_home"),
        (["show", "/x"], 3, "no_home"),
        (["stats"], 3, "no_home"),
        (["forget", "/x", "--yes"], 3, "no_home"),
        (["nonsense"], 2, "usage"),
        (["recall"], 2, "usage"),
        (["recall", "x", "--k", "0"], 2, "usage"),
        (["recall", "x", "--floor", "2"], 2, "usage"),
        (["import", "/no/such/folder"], 2, "usage"),
        (["store", "/no/such/file"], 2, "usage"),
        (["store", "--at", "yesterday-ish", "-"], 2, "usage"),
        (["config", "no.such"], 2, "bad_config"),
        (["config", "budget.max_nodes", "many"], 2, "bad_config"),
    ],
)
def test_a_failure_is_one_object_with_a_code_and_what_mends_it(
    call: Call, arguments: list[str], code: int, error: str
) -> None:
    ended, answer = call(*arguments)

    assert ended == code
    assert answer["error"]["code"] == error
    assert answer["error"]["message"]
    assert answer["error"]["mend"]


def test_reading_a_home_that_is_not_there_names_init_and_makes_nothing(
    call: Call, tmp_path: Path
) -> None:
    _, answer = call("recall", "x")

    assert "ringwood init" in answer["error"]["mend"]
    assert not (tmp_path / "home").exists()


def test_nothing_found_ends_with_one_and_an_address_that_leads_nowhere_too(
    call: Call, note: Path
) -> None:
    call("import", str(note.parent))

    found = call("recall", "zzqx vvkw", "--floor", "0.99")
    nowhere = call("show", "/nowhere")

    assert found[0] == 1
    assert found[1]["hits"] == []
    assert (nowhere[0], nowhere[1]["error"]["code"]) == (1, "no_such_address")


def test_forgetting_asks_first_and_never_without_an_answer(call: Call, note: Path) -> None:
    call("import", str(note.parent))

    refused = call("forget", "/gateway/port")
    looked = call("forget", "/gateway/port", "--dry-run")
    done = call("forget", "/gateway/port", "--yes")
    again = call("import", str(note.parent))

    assert (refused[0], refused[1]["error"]["code"]) == (2, "usage")
    assert (looked[0], looked[1]["dry_run"], looked[1]["nodes"]) == (0, True, 2)
    assert (done[0], done[1]["nodes"]) == (0, 2)
    assert call("show", "/gateway/port")[0] == 1
    assert call("show", "/gateway/owner")[0] == 0
    assert again[1]["documents"] == 0


def test_a_setting_says_where_it_came_from(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def origin() -> tuple[Any, str]:
        [setting] = call("config", "budget.max_nodes")[1]["settings"]
        return setting["value"], setting["origin"]

    assert origin() == (6, "default")
    call("config", "budget.max_nodes", "9")
    assert origin() == (9, "config.toml")
    monkeypatch.setenv("RINGWOOD_BUDGET_MAX_NODES", "3")
    assert origin() == (3, "RINGWOOD_BUDGET_MAX_NODES")
    assert "max_nodes = 9" in (tmp_path / "home" / "config.toml").read_text("utf-8")


def test_store_takes_what_the_contract_says(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes("\ufeffFirst line.\r\nSecond é.".encode("utf-16"))

    _, stored = call(
        "store",
        str(file),
        "--title",
        "My Title",
        "--path",
        "/Some/Where",
        "--source",
        "k",
        "--importance",
        "0.9",
        "--at",
        "2026-01-02T03:04:05Z",
    )
    _, shown = call("show", stored["address"])

    assert stored["path"] == "/some/where"
    assert stored["state"] == "ready"
    assert shown["text"] == "First line.\r\nSecond é."
    card = shown["document"]
    assert (card["title"], card["importance"], card["actor"]) == ("My Title", 0.9, "person")
    assert card["created_at"] == "2026-01-02T03:04:05.000Z"
    moment = datetime.fromisoformat(card["stored_at"])
    assert abs((datetime.now(UTC) - moment).total_seconds()) < 60


@pytest.mark.parametrize("encoding", ["gbk", "cp950", "ascii", "utf-8"])
def test_no_console_encoding_breaks_an_answer(tmp_path: Path, encoding: str) -> None:
    environment = {
        **os.environ,
        "PYTHONIOENCODING": encoding,
        "RINGWOOD_HOME": str(tmp_path / "home"),
        "RINGWOOD_EMBEDDER": "words",
    }
    command = [sys.executable, "-m", "ringwood"]
    text = "Emoji 😀, Hindi हिन्दी, 中文 and \x1b]0;title\x07 \u202eevil"
    done = subprocess.run(
        [*command, "store"], input=text.encode(), env=environment, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr

    for arguments in (["recall", "emoji"], ["recall", "emoji", "--json"], ["tree"]):
        asked = subprocess.run(
            [*command, *arguments], env=environment, capture_output=True, check=False
        )
        assert asked.returncode == 0, asked.stderr
        assert b"\x1b" not in asked.stdout + asked.stderr
        assert "\u202e".encode() not in asked.stdout or "--json" in arguments
        asked.stdout.decode(encoding)


def test_debug_shows_the_log_and_no_other_call_does(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "mirror").write_text("a file in the way", "utf-8")
    command = [sys.executable, "-m", "ringwood", "store", "--home", str(home)]
    for more, shown in (["--debug"], True), ([], False):
        done = subprocess.run(
            [*command, "--embedder", "words", *more],
            input=f"A text {shown}.".encode(),
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert (b"WARNING:ringwood.write.catch_up" in done.stderr) is shown, done.stderr


def test_options_may_stand_before_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.md"
    file.write_text("A fact.", "utf-8")

    code = run(["--home", str(tmp_path / "h"), "--json", "--embedder", "words", "store", str(file)])

    assert code == 0
    assert json.loads(capsys.readouterr().out)["state"] == "ready"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_that_teaches(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0

    shown = capsys.readouterr().out
    assert "Usage: ringwood" in shown
    assert "--json" in shown
    assert len(shown.splitlines()) > 8


def test_version_and_help_are_answered_without_click() -> None:
    code = (
        "import sys; sys.argv = ['ringwood', '{}'];"
        "from ringwood.serve.cli import main; main();"
        "print({{'click', 'numpy', 'apsw', 'typing'}} & sys.modules.keys())"
    )
    for option in ("--version", "--help"):
        done = subprocess.run(
            [sys.executable, "-S", "-c", code.format(option)],
            env={"PYTHONPATH": str(Path(run.__code__.co_filename).parents[3])},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.splitlines()[-1] == "set()"


def test_the_space_is_that_of_the_repository_and_recall_looks_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def at(folder: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
        monkeypatch.chdir(folder)
        code = run([*arguments, "--json", "--home", str(tmp_path / "h"), "--embedder", "words"])
        loaded: dict[str, Any] = json.loads(capsys.readouterr().out)
        return code, loaded

    (tmp_path / "fact.txt").write_text("The canary sings at dawn.", "utf-8")
    one, two = tmp_path / "a" / "app", tmp_path / "b" / "app"
    for repository in (one, two):
        (repository / ".git").mkdir(parents=True)
        (repository / "src").mkdir()
    (tmp_path / "link").symlink_to(one)

    stored = at(one / "src", "store", str(tmp_path / "fact.txt"))
    same = at(tmp_path / "link", "recall", "canary")
    apart = at(two, "recall", "canary")
    second = at(two, "store", str(tmp_path / "fact.txt"))

    assert stored[1]["space"] == "app"
    assert (same[0], same[1]["space"]) == (0, "app")
    assert (apart[0], apart[1]["space"]) == (1, "app~2")
    assert second[1]["address"].startswith("app~2:/")


def test_an_old_address_says_where_its_node_went(
    call: Call, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.md"
    for title in ("One", "Two"):
        file.write_text(f"# {title}\n\nThe same text below.", "utf-8")
        call("store", str(file), "--source", "k")

    code = run(["show", "/one", "--home", str(tmp_path / "home"), "--space", "s"])

    told = capsys.readouterr()
    assert code == 0
    assert "/one went to /two" in told.err
    assert "# Two" in told.out
