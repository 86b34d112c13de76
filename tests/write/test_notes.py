"""Reading folders of notes: whatever lies there, the import goes on and says what it left out."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ringwood.errors import UsageError
from ringwood.memory import Memory
from ringwood.write import notes
from ringwood.write.draft import Draft
from ringwood.write.notes import NoteOptions, Skipped


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "good.md").write_text("A good note.", "utf-8")
    return folder


def read_all(*paths: Path) -> tuple[list[str], dict[str, str]]:
    """Read as an import does: texts in order, and the reason for each name left out."""
    texts, reasons = [], {}
    for found in notes.find(paths):
        outcome = found if isinstance(found, Skipped) else notes.read(found, "s", NoteOptions())
        if isinstance(outcome, Draft):
            texts.append(outcome.text)
        else:
            reasons[Path(outcome.file).name] = outcome.reason
    return texts, reasons


def test_links_that_lead_round_in_a_circle_are_left_out_and_said(folder: Path) -> None:
    (folder / "a.md").symlink_to("b.md")
    (folder / "b.md").symlink_to("a.md")
    (folder / "self.md").symlink_to("self.md")

    texts, reasons = read_all(folder)

    assert texts == ["A good note."]
    assert reasons.keys() == {"a.md", "b.md", "self.md"}
    assert all(reason.startswith("cannot be read") for reason in reasons.values())


def test_links_to_folders_are_not_followed(folder: Path) -> None:
    (folder / "up").symlink_to("..")
    (folder / "round").symlink_to("round")

    assert read_all(folder)[0] == ["A good note."]


def test_a_pipe_and_a_device_are_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe.md")
    (folder / "zero.md").symlink_to("/dev/zero")

    texts, reasons = read_all(folder)

    assert texts == ["A good note."]
    assert list(reasons.values()) == ["not a file", "a link that leads out of the folder"]


def test_a_link_to_a_file_is_followed_inside_the_folder_only(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "private.md").write_text("The secret of the house.", "utf-8")
    (folder / "out.md").symlink_to(tmp_path / "private.md")
    (folder / "in.md").symlink_to("good.md")

    texts, reasons = read_all(folder)

    assert texts == ["A good note."]
    assert list(reasons.values()) == ["a link that leads out of the folder"]


def test_a_folder_deeper_than_the_interpreter_recurses_is_walked(
    folder: Path,
) -> None:
    deep = folder.joinpath(*"d" * 300)
    deep.mkdir(parents=True)
    (deep / "deep.md").write_text("A deep note.", "utf-8")
    limit = sys.getrecursionlimit()

    sys.setrecursionlimit(len(inspect.stack()) + 200)
    try:
        texts, _ = read_all(folder)
    finally:
        sys.setrecursionlimit(limit)

    assert texts == ["A good note.", "A deep note."]


def test_files_of_a_folder_come_before_its_folders_and_both_by_name(folder: Path) -> None:
    for name in ("b/two.md", "a/one.md", "zeta.md"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(name, "utf-8")

    assert read_all(folder)[0] == ["A good note.", "zeta.md", "a/one.md", "b/two.md"]


@pytest.mark.parametrize("line", ["!", "\\", "[z-a]"])
def test_a_line_that_is_no_pattern_leaves_the_others_in_force(folder: Path, line: str) -> None:
    (folder / "draft.md").write_text("A draft.", "utf-8")
    (folder / ".ringwoodignore").write_text(f"{line}\ndraft*\n", "utf-8")

    assert read_all(folder) == (["A good note."], {})


def _loop(file: Path) -> None:
    file.symlink_to(file.name)


def _pipe(file: Path) -> None:
    os.mkfifo(file)


@pytest.mark.parametrize("make", [_loop, _pipe])
def test_a_folder_whose_rules_cannot_be_read_is_left_out_and_said(
    folder: Path, make: Callable[[Path], None]
) -> None:
    private = folder / "private"
    private.mkdir()
    (private / "secret.md").write_text("A secret.", "utf-8")
    make(private / ".ringwoodignore")

    texts, reasons = read_all(folder)

    assert texts == ["A good note."]
    assert reasons.keys() == {".ringwoodignore"}


@pytest.mark.parametrize("mtime", [1e13, -1e13])
def test_a_time_beyond_the_calendar_is_no_time(mtime: float) -> None:
    assert notes.time_of(mtime) is None


def test_a_file_that_became_a_circle_of_links_is_not_pruned_as_gone(
    words: Memory, folder: Path
) -> None:
    words.import_notes([folder])
    (folder / "good.md").unlink()
    (folder / "good.md").symlink_to("good.md")

    report = words.import_notes([folder], prune=True)

    assert report.pruned == 0
    assert words.stats().totals.tiers["hot"].documents == 1


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "missing"])
def test_a_path_where_nothing_can_lie_is_a_wrong_call(folder: Path, name: str) -> None:
    with pytest.raises(UsageError, match="no file or folder"):
        list(notes.find([folder / name]))
