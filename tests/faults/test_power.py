"""A power cut anywhere in a day loses nothing that was acknowledged, and brings nothing back."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.faults.careless import CONTROLS, Recording
from tests.faults.days import DAYS
from tests.faults.disk import (
    KINDS,
    SECTOR,
    Change,
    Disk,
    Entry,
    Kind,
    Rename,
    Sync,
    SyncFolder,
    Truncate,
    Write,
)
from tests.faults.power import cut, record

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="asks /proc which file a descriptor is of"
)

CUTS = 24
"""Per day; `scripts/torture power` makes the two thousand of docs/reliability.md."""
CONTROL_CUTS = 160
"""At most: the first that shows a fault is enough."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Recording]:
    """Recordings of days, each made once."""
    made: dict[str, Recording] = {}

    def recording_of(day: str) -> Recording:
        if day not in made:
            made[day] = record(DAYS[day], tmp_path_factory.mktemp("day"), seed=1)
        return made[day]

    return recording_of


@pytest.mark.parametrize("day", DAYS)
def test_no_power_cut_loses_doubles_tears_or_brings_back_a_text(
    day: str, recorded: Callable[[str], Recording], tmp_path: Path
) -> None:  # dur-02, dur-05
    verdicts = list(cut(recorded(day), tmp_path / "left", CUTS, seed=1))

    assert [each for each in verdicts if each.faults] == []


@pytest.mark.parametrize(
    ("day", "control"), [(day, name) for day in DAYS for name in CONTROLS[day]]
)
def test_a_power_cut_shows_what_is_not_protected(
    day: str, control: str, recorded: Callable[[str], Recording], tmp_path: Path
) -> None:
    careless = CONTROLS[day][control](recorded(day))

    verdicts = cut(careless, tmp_path / "left", CONTROL_CUTS, seed=1, through=3)

    assert any(each.faults for each in verdicts)


@pytest.mark.parametrize("day", DAYS)
def test_the_log_says_all_that_lies_on_the_disk_in_the_end(day: str, tmp_path: Path) -> None:
    log = record(DAYS[day], tmp_path, seed=2).log
    disk = played(log, "strict")
    there = {
        str(file.relative_to(tmp_path)): None if file.is_dir() else file.read_bytes()
        for file in tmp_path.rglob("*")
    }

    said = disk.all()

    assert said.keys() == there.keys()
    differing = {path for path in said if said[path] != there[path]}
    assert {path for path in differing if not path.endswith("lock")} == set()  # who has it


# -- the disk itself -------------------------------------------------------------------------------

NAMED = (Entry("", "a", 1), SyncFolder(""))
OLD, NEW = b"o" * SECTOR * 3, b"n" * SECTOR * 3


def played(log: Sequence[Change], kind: Kind) -> Disk:
    disk = Disk(kind)
    for change in log:
        disk.play(change)
    return disk


def left(log: tuple[Change, ...], kind: Kind, times: int = 200) -> list[dict[str, bytes | None]]:
    """Cut the power many times after the same log."""
    disk = played(log, kind)
    return [disk.cut(random.Random(seed)) for seed in range(times)]


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_synced_with_its_name_is_always_left(kind: Kind) -> None:
    log = (*NAMED, Write(1, 0, OLD), Sync(1))

    assert all(tree == {"a": OLD} for tree in left(log, kind))


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_not_synced_may_be_lost_kept_or_torn_at_sectors(kind: Kind) -> None:
    log = (*NAMED, Write(1, 0, OLD), Sync(1), Write(1, 0, NEW))

    found = {tree["a"] for tree in left(log, kind)}

    assert {OLD, NEW} < found
    sectors = {content[at : at + SECTOR] for content in found if content for at in (0, SECTOR)}
    assert sectors == {OLD[:SECTOR], NEW[:SECTOR]}


@pytest.mark.parametrize("kind", KINDS)
def test_of_two_writes_the_later_may_be_kept_alone(kind: Kind) -> None:
    log = (*NAMED, Write(1, 0, OLD), Write(1, len(OLD), NEW))

    assert bytes(len(OLD)) + NEW in {tree["a"] for tree in left(log, kind)}


@pytest.mark.parametrize("kind", KINDS)
def test_a_cut_file_may_have_its_old_length(kind: Kind) -> None:
    log = (*NAMED, Write(1, 0, OLD), Sync(1), Truncate(1, 5))

    assert {tree["a"] for tree in left(log, kind)} == {OLD, OLD[:5]}


def test_a_synced_file_may_have_no_name_where_names_last_with_their_folder() -> None:
    log = (Entry("", "a", 1), Write(1, 0, OLD), Sync(1))

    assert {frozenset(tree) for tree in left(log, "strict")} == {frozenset(), frozenset({"a"})}
    assert all(tree == {"a": OLD} for tree in left(log, "ordered"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_is_renamed_within_a_folder_has_one_of_both_names(kind: Kind) -> None:
    log = (*NAMED, Rename((Entry("", "b", 1), Entry("", "a", None))))

    assert {tuple(tree) for tree in left(log, kind)} == {("a",), ("b",)}


def test_a_file_that_is_moved_between_folders_may_be_in_both_or_in_none_until_both_are_synced() -> (
    None
):
    folders = (
        Entry("", "x", "x"),
        Entry("", "y", "y"),
        Entry("x", "a", 1),
        SyncFolder(""),
        SyncFolder("x"),
    )
    log = (*folders, Rename((Entry("y", "a", 1), Entry("x", "a", None))))

    strict = {tuple(sorted(tree.keys() - {"x", "y"})) for tree in left(log, "strict")}
    ordered = {tuple(sorted(tree.keys() - {"x", "y"})) for tree in left(log, "ordered")}

    assert strict == {(), ("x/a",), ("y/a",), ("x/a", "y/a")}
    assert ordered == {("x/a",), ("y/a",)}


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_that_is_renamed_takes_along_what_is_in_it(kind: Kind) -> None:
    made = (Entry("", "x", "x"), Entry("x", "a", 1), SyncFolder("x"), SyncFolder(""))
    log = (*made, Rename((Entry("", "y", "x"), Entry("", "x", None))))

    assert {tuple(tree) for tree in left(log, kind)} == {("x", "x/a"), ("y", "y/a")}


def test_a_lost_folder_takes_along_what_is_in_it() -> None:
    log = (Entry("", "x", "x"), Entry("x", "a", 1), SyncFolder("x"), Write(1, 0, OLD), Sync(1))

    assert {tuple(tree) for tree in left(log, "strict")} == {(), ("x", "x/a")}
