"""The documents say what the program does: every promise in them is checked against it."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import ringwood
from ringwood import config, errors, types

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
READMES = ("README.md", "README.zh.md")
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
