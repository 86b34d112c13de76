"""Files that are renamed, moved, absent or gone: which document goes on, what prune may take."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ringwood.errors import AddressError, UsageError
from ringwood.memory import Memory
from ringwood.write import moved
from ringwood.write.moved import find_moved

PUMP = "# Pump\n\nIt is green.\n\nIt stands in the cellar.\n\n## Repair\n\nReplace the gasket.\n"
TANK = "# Tank\n\nIt is of copper.\n\nIt stands on the roof.\n\n## Outlet\n\nTwo inches.\n"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """Two notes in a folder."""
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "pump.md").write_text(PUMP, "utf-8")
    (folder / "tank.md").write_text(TANK, "utf-8")
    return folder


def documents(memory: Memory) -> int:
    return sum(memory.spaces().values())


def moved_to(name: str, text: str = PUMP) -> Callable[[Path], Path]:
    """Return a step that moves the pump's file and gives it a text."""

    def step(vault: Path) -> Path:
        place = vault / name
        place.parent.mkdir(exist_ok=True)
        (vault / "pump.md").rename(place)
        place.write_text(text, "utf-8")
        return place

    return step


@pytest.mark.parametrize("prune", [False, True])
@pytest.mark.parametrize(
    "step",
    [
        moved_to("engine.md"),
        moved_to("machines/pump.md"),
        moved_to("machines/engine.md"),
        moved_to("machines/engine.md", PUMP.replace("green", "red")),
        moved_to("machines/pump.md", PUMP.replace("green", "red").replace("cellar", "attic")),
    ],
)
def test_a_moved_file_keeps_its_document(
    words: Memory, vault: Path, step: Callable[[Path], Path], prune: bool
) -> None:
    words.import_notes([vault])
    before = words.read("/pump/repair")
    words.recall("replace the gasket")
    words.wait()
    place = step(vault)

    report = words.import_notes([vault], prune=prune)

    after = words.read("/pump/repair")
    assert (report.imported.changed, report.pruned, report.gone) == (1, 0, ())
    assert after.node.id == before.node.id
    assert after.document.id == before.document.id
    assert after.document.source == str(place)
    assert after.document.created_at == before.document.created_at
    assert documents(words) == 2
    assert words.import_notes([vault], prune=prune).imported.unchanged == 2


def test_a_file_that_shares_little_with_one_that_is_gone_is_another(
    words: Memory, vault: Path
) -> None:
    words.import_notes([vault])
    (vault / "pump.md").unlink()
    (vault / "stove.md").write_text("# Stove\n\nIt is green.\n\nIt burns wood.\n", "utf-8")

    report = words.import_notes([vault])

    assert (report.imported.changed, len(report.gone)) == (1, 1)
    assert documents(words) == 3


def test_a_copy_of_a_file_that_is_still_there_is_a_document_of_its_own(
    words: Memory, vault: Path
) -> None:
    words.import_notes([vault])
    (vault / "copy.md").write_text(PUMP, "utf-8")

    words.import_notes([vault])

    assert documents(words) == 3
    assert words.read("/pump").document.source == str(vault / "pump.md")


def test_a_moved_file_is_found_though_it_is_older_than_since(words: Memory, vault: Path) -> None:
    old = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
    for file in vault.iterdir():
        os.utime(file, (old, old))
    words.import_notes([vault])
    (vault / "pump.md").rename(vault / "engine.md")

    report = words.import_notes([vault], since=datetime(2026, 6, 1, tzinfo=UTC), prune=True)

    assert report.pruned == 0
    assert words.read("/pump").document.source == str(vault / "engine.md")


def test_two_copies_continue_one_document_and_make_one(words: Memory, vault: Path) -> None:
    words.import_notes([vault])
    (vault / "pump.md").unlink()
    for name in ("one.md", "two.md"):
        (vault / name).write_text(PUMP, "utf-8")

    words.import_notes([vault], prune=True)

    assert documents(words) == 3
    assert {words.read(path).document.source for path in ("/pump", "/pump~2")} == {
        str(vault / "one.md"),
        str(vault / "two.md"),
    }


def test_a_vault_that_was_moved_as_a_whole_is_not_there_twice(
    words: Memory, vault: Path, tmp_path: Path
) -> None:
    words.import_notes([vault])
    ids = {words.read(path).document.id for path in ("/pump", "/tank")}
    vault.rename(tmp_path / "elsewhere")

    words.import_notes([tmp_path / "elsewhere"])

    assert documents(words) == 2
    assert {words.read(path).document.id for path in ("/pump", "/tank")} == ids


def test_a_dry_run_says_what_a_move_is_and_moves_nothing(words: Memory, vault: Path) -> None:
    words.import_notes([vault])
    (vault / "pump.md").rename(vault / "engine.md")

    report = words.import_notes([vault], dry_run=True)

    assert (report.imported.changed, report.gone) == (1, ())
    assert words.read("/pump").document.source == str(vault / "pump.md")


# -- what is gone ----------------------------------------------------------------------------------


def test_prune_removes_what_is_gone_and_nothing_else(words: Memory, vault: Path) -> None:
    words.import_notes([vault])
    words.store("# Beside\n\nNot from a file.", source="a key")
    (vault / "pump.md").unlink()
    kept = words.import_notes([vault])
    assert (kept.pruned, kept.gone) == (0, (str(vault / "pump.md"),))

    report = words.import_notes([vault], prune=True)

    assert report.pruned == 1
    with pytest.raises(AddressError):
        words.read("/pump")
    assert words.read("/tank").node.title == "Tank"
    assert words.read("/beside").node.title == "Beside"
    (vault / "pump.md").write_text(PUMP, "utf-8")
    assert words.import_notes([vault]).imported.changed == 1  # pruned is not forgotten


def test_a_folder_that_is_missing_is_refused_and_nothing_is_pruned(
    words: Memory, vault: Path, tmp_path: Path
) -> None:
    words.import_notes([vault])
    vault.rename(tmp_path / "away")

    with pytest.raises(UsageError, match="no file or folder"):
        words.import_notes([vault], prune=True)

    (tmp_path / "away").rename(vault)
    assert documents(words) == 2
    assert words.import_notes([vault], prune=True).imported.unchanged == 2


def test_a_folder_in_which_nothing_is_left_is_absent_and_prunes_nothing(
    words: Memory, vault: Path, tmp_path: Path
) -> None:
    words.import_notes([vault])
    vault.rename(tmp_path / "away")
    vault.mkdir()  # a mount point without its drive

    report = words.import_notes([vault], prune=True)

    assert (report.pruned, report.gone) == (0, ())
    [skipped] = report.imported.skipped
    assert skipped.file == str(vault)
    assert "holds no notes now" in skipped.reason
    assert documents(words) == 2


def test_what_is_ignored_or_hidden_now_is_not_gone(words: Memory, vault: Path) -> None:
    words.import_notes([vault])
    (vault / ".ringwoodignore").write_text("pump.md\n", "utf-8")

    assert words.import_notes([vault], prune=True).pruned == 0
    assert words.read("/pump").node.title == "Pump"


def test_a_folder_beside_of_a_like_name_is_not_meant(
    words: Memory, vault: Path, tmp_path: Path
) -> None:
    beside = tmp_path / "vault-2"
    beside.mkdir()
    (beside / "other.md").write_text("# Other\n\nElsewhere.", "utf-8")
    words.import_notes([vault, beside])
    (beside / "other.md").unlink()

    assert words.import_notes([vault], prune=True).pruned == 0


# -- the pairing itself ----------------------------------------------------------------------------


def test_the_best_pairs_are_made_first_and_each_file_once() -> None:
    lines = [f"line {number}" for number in range(10)]
    gone = {"/v/a.md": "\n".join(lines), "/v/b.md": "\n".join(lines[:6])}
    fresh = {"/v/x.md": "\n".join(lines), "/v/y.md": "\n".join(lines[:7])}

    assert find_moved(gone, fresh) == {"/v/x.md": "/v/a.md", "/v/y.md": "/v/b.md"}


def test_what_all_files_share_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = "\n".join(f"## Heading {number}" for number in range(6))
    gone = {f"/v/{number}.md": f"{frame}\nold {number}" for number in range(30)}

    assert find_moved(gone, {"/v/new.md": f"{frame}\nnew"}) == {}
    monkeypatch.setattr(moved, "_COMMON", 30)
    assert len(find_moved(gone, {"/v/new.md": f"{frame}\nnew"})) == 1


def test_nothing_is_paired_with_nothing() -> None:
    assert find_moved({}, {"/v/a.md": "text"}) == {}
    assert find_moved({"/v/a.md": ""}, {"/v/b.md": ""}) == {}
