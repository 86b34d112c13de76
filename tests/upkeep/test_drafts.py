"""Drafts that killed processes left go with the next copy, and nobody else's do."""

from __future__ import annotations

import os
import time
from pathlib import Path

from tests.upkeep.shut import nothing_opens

from ringwood.upkeep.copies.drafts import STALE_S, draft_of, give_up, remove_left


def age(*paths: Path) -> None:
    long_ago = time.time() - 2 * STALE_S
    for path in paths:
        os.utime(path, (long_ago, long_ago))


def test_old_drafts_of_a_target_go_and_all_else_stays(tmp_path: Path) -> None:
    target = tmp_path / "memory[1].jsonl"
    old, young, other = draft_of(target), draft_of(target), draft_of(tmp_path / "memory1.jsonl")
    for path in (old, young, other, target):
        path.write_text("half")
    age(old, other, target)

    remove_left(target)

    assert sorted(tmp_path.iterdir()) == sorted([young, other, target])


def test_a_folder_in_which_somebody_writes_is_not_old(tmp_path: Path) -> None:
    old, busy = draft_of(tmp_path / "backup"), draft_of(tmp_path / "backup")
    for folder in (old, busy):
        (folder / "mirror").mkdir(parents=True)
        (folder / "memory.db").write_bytes(b"half")
        age(folder / "mirror", folder)
    age(old / "memory.db")

    remove_left(tmp_path / "backup")

    assert list(tmp_path.iterdir()) == [busy]


def test_a_draft_that_could_not_be_removed_goes_with_the_next_copy(tmp_path: Path) -> None:
    given_up, busy = draft_of(tmp_path / "backup"), draft_of(tmp_path / "backup")
    for folder in (given_up, busy):
        folder.mkdir()
        (folder / "memory.db").write_bytes(b"half")
    with nothing_opens():
        give_up(given_up)
    assert len(list(tmp_path.iterdir())) == 2

    remove_left(tmp_path / "backup")

    assert list(tmp_path.iterdir()) == [busy]
