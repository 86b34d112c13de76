"""The documents say what the program does: every promise in them is checked against it."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import ringwood
from ringwood import config, errors, types
from ringwood.serve.cli.app import run
from ringwood.serve.cli.table import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
READMES = ("README.md", "README.zh.md")
QUEUE = """---
title: Job queue
date: 2026-08-20
---

## Why SQLite

Redis acknowledges a job before it is on disk.

A broker would be a second thing to operate.

## Limits

One writer at a time.
"""
TRANSLATIONS = (("README.md", "README.zh.md"), ("docs/design.md", "docs/design.zh.md"))


def read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def rows(text: str) -> list[list[str]]:
    """Return the cells of every table row, heads and rulers left out."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    ruler = re.compile(r":?-+:?")
    heads = {at - 1 for at, row in enumerate(cells) if all(map(ruler.fullmatch, row))}
    return [row for at, row in enumerate(cells) if at not in heads and at - 1 not in heads]


def fences(text: str, language: str) -> list[str]:
    """Return the contents of every fence in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def prose(text: str) -> str:
    """Return the text without its fences."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


def headings(text: str) -> list[tuple[int, str]]:
    """Return level and title of every heading outside fences."""
    found = re.findall(r"^(#+) (.+)$", prose(text), re.MULTILINE)
    return [(len(marks), title) for marks, title in found]


def tracked_files() -> list[str]:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip("needs a git checkout")
    names = done.stdout.decode("utf-8").split("\0")
    return [name for name in names if name and (ROOT / name).is_file()]


def test_every_error_is_documented_with_its_code_and_exit_code() -> None:
    classes = {errors.RingwoodError}
    waiting = [errors.RingwoodError]
    while waiting:
        below = waiting.pop().__subclasses__()
        classes.update(below)
        waiting.extend(below)
    promised = {(f"`{c.__name__}`", f"`{c.code}`", str(c.exit_code)) for c in classes}

    documented = {(row[0], row[1], row[2]) for row in rows(read("docs/errors.md"))}

    assert documented == promised


def test_every_error_says_how_to_mend_it() -> None:
    assert all(len(row) == 5 and row[4] for row in rows(read("docs/errors.md")))


def test_every_dependency_is_documented_and_no_other() -> None:
    project = tomllib.loads(read("pyproject.toml"))
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    names = sorted(re.match(r"[\w-]+", line)[0] for line in wanted)  # type: ignore[index]

    table = rows(read("docs/dependencies.md"))

    assert sorted(row[0].strip("`") for row in table) == names
    assert all(len(row) == 5 and all(row) for row in table)


def section(text: str, title: str) -> str:
    """Return what stands under a second-level heading."""
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    return found[1] if found else ""


def options_of(command: str) -> set[str]:
    module = import_module(f"ringwood.serve.cli.{COMMANDS[command][1]}")
    parameters = getattr(module, f"{command}_command").params
    return {name for each in parameters for name in each.opts if name.startswith("--")}


def test_every_command_is_documented_in_the_words_of_its_help() -> None:
    table = rows(read("docs/cli.md"))[: len(COMMANDS)]

    assert table == [[f"[`{name}`](#{name})", line] for name, (line, _) in COMMANDS.items()]
    assert [title for level, title in headings(read("docs/cli.md")) if level == 2] == [
        "Rules for all of them",
        *COMMANDS,
    ]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_synopsis_of_a_command_has_exactly_its_options(command: str) -> None:
    rules = section(read("docs/cli.md"), "Rules for all of them")
    everywhere = {row[0].split()[0].strip("`") for row in rows(rules) if row[0].startswith("`--")}
    own = section(read("docs/cli.md"), command)
    synopsis = own.strip().splitlines()[0]

    assert synopsis.startswith(f"`ringwood {command}")
    assert everywhere <= options_of(command)
    assert set(re.findall(r"--[a-z-]+", synopsis)) - {"--space"} == options_of(command) - everywhere
    for option in (row[0] for row in rows(own)):
        assert option.split()[0].strip("`") in synopsis


NAMED_BY_DATA = {"states", "spaces", "timings_ms"}
"""Objects whose keys are what the home happens to hold."""


def shape(value: object) -> object:
    """Reduce JSON to its keys: what a program that reads it relies on."""
    if isinstance(value, dict):
        named = NAMED_BY_DATA & {key for key, below in value.items() if isinstance(below, dict)}
        return {key: None if key in named else shape(below) for key, below in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value and isinstance(value[0], dict) else []
    return None


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("init", ()),
        ("store", ("notes/queue.md",)),
        ("import", ("notes",)),
        ("recall", ("why not Redis", "--why")),
        ("show", ("/job-queue/why-sqlite",)),
        ("tree", ()),
        ("recent", ()),
        ("stats", ()),
        ("forget", ("/job-queue/limits", "--dry-run")),
        ("pause", ()),
        ("resume", ()),
        ("rotate", ()),
        ("dream", ("--dry-run",)),
        ("spaces", ()),
        ("config", ("budget.max_nodes",)),
    ],
)
def test_a_command_prints_the_json_that_is_documented(
    command: str,
    arguments: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (documented,) = fences(section(read("docs/cli.md"), command), "json")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "queue.md").write_text(QUEUE, "utf-8")
    (tmp_path / "notes" / "photo.md").write_bytes(bytes(range(32)) * 8)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RINGWOOD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RINGWOOD_EMBEDDER", "hashing")
    if command not in {"init", "store", "import"}:
        assert run(["import", "notes", "--quiet"]) == 0
    capsys.readouterr()

    assert run([command, *arguments, "--json"]) == 0

    printed = json.loads(capsys.readouterr().out)
    expected = json.loads(documented)
    if command == "show":
        expected["neighbours"] = printed["neighbours"]  # as many as the embedder finds
    assert shape(printed) == shape(expected)


def test_every_setting_is_documented_with_its_default(tmp_path: Path) -> None:
    words = {"True": "`true`", "False": "`false`", "None": "none"}
    promised = {
        f"`{setting.key}`": words.get(str(setting.value), f"`{setting.value}`")
        for setting in config.settings(str(tmp_path), {})
    }
    assert len(promised) > 20

    documented = {row[0]: row[1] for row in rows(read("docs/configuration.md"))}

    assert documented == promised


def test_every_value_of_the_vocabulary_is_in_the_glossary() -> None:
    values = {
        re.sub(r"(?<=.)([A-Z])", r" \1", name).lower().removesuffix("s")
        for name, value in vars(types).items()
        if dataclasses.is_dataclass(value)
    }
    assert len(values) > 8

    words = {row[0] for row in rows(read("docs/glossary.md"))}

    assert values <= words


def test_the_glossary_gives_each_word_once() -> None:
    words = [row[0] for row in rows(read("docs/glossary.md"))]

    assert len(words) == len(set(words))


@pytest.mark.parametrize("name", READMES)
def test_the_code_in_the_readme_prints_what_the_readme_says(name: str, tmp_path: Path) -> None:
    (code,) = fences(read(name), "python")
    (printed,) = fences(read(name), "text")
    own = {key: value for key, value in os.environ.items() if not key.startswith("RINGWOOD_")}
    settings = {"RINGWOOD_HOME": str(tmp_path / "home"), "RINGWOOD_EMBEDDER": "words"}

    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", code],
        cwd=tmp_path,
        env={**own, **settings},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )

    assert done.stderr == ""
    assert done.stdout == printed != ""


@pytest.mark.parametrize(("english", "chinese"), TRANSLATIONS)
def test_a_translation_has_the_same_outline(english: str, chinese: str) -> None:
    levels = [level for level, _ in headings(read(english))]

    assert len(levels) > 4
    assert [level for level, _ in headings(read(chinese))] == levels


def test_every_link_leads_somewhere() -> None:
    broken = []
    for file in [*DOCS.glob("*.md"), *(ROOT / name for name in READMES), ROOT / "CHANGELOG.md"]:
        for target in re.findall(r"\]\(([^)\s]+)\)", prose(file.read_text("utf-8"))):
            if target.startswith("https://"):
                continue
            path, _, anchor = target.partition("#")
            linked = file.parent / path if path else file
            anchors = (
                {re.sub(r"\W+", "-", title.lower()) for _, title in headings(linked.read_text())}
                if anchor
                else {""}
            )
            if not linked.exists() or anchor not in anchors:
                broken.append(f"{file.name}: {target}")

    assert broken == []


def test_the_public_names_are_these_and_all_of_them_load() -> None:
    assert ringwood.__all__ == [
        "AddressError",
        "BusyError",
        "ConfigError",
        "Dropped",
        "EmbedderError",
        "Hit",
        "HomeError",
        "Memory",
        "NoHomeError",
        "Recall",
        "Receipt",
        "RingwoodError",
        "SchemaError",
        "Signals",
        "StorageError",
        "Term",
        "UsageError",
        "__version__",
    ]
    for name in ringwood.__all__:
        assert getattr(ringwood, name) is not None


def test_importing_the_package_loads_nothing_but_itself() -> None:
    code = "import sys, ringwood; print({'numpy', 'apsw', 'click'} & set(sys.modules))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "set()\n"


def test_no_file_names_a_place_on_somebodys_machine() -> None:
    # Written apart, so that this file does not find itself.
    place = re.compile(rb"(?<![\w.*~-])/(?:wor" rb"k|roo" rb"t|Use" rb"rs|hom" rb"e/\w+)/")
    found = []
    for name in tracked_files():
        for number, line in enumerate((ROOT / name).read_bytes().splitlines(), start=1):
            if place.search(line) and name != "uv.lock":
                found.append(f"{name}:{number}: {line.decode('utf-8', 'replace').strip()}")

    assert found == []


def test_the_windows_note_comes_out_of_git_with_its_line_ends() -> None:
    text = (ROOT / "examples/notes/team/windows-build.md").read_bytes()

    assert text.count(b"\r\n") == text.count(b"\n") > 10
