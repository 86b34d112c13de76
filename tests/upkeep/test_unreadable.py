"""A folder that cannot be listed for now is said by name, whoever looks into it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.upkeep.shut import nothing_opens

from ringwood.errors import StorageError
from ringwood.memory import Memory
from ringwood.upkeep.checking.modes import open_to_others


def test_the_modes_of_a_home_that_cannot_be_listed_are_not_called_well(tmp_path: Path) -> None:
    with nothing_opens(), pytest.raises(StorageError, match="looked into"):
        list(open_to_others(str(tmp_path)))
    assert set(open_to_others(str(tmp_path))) <= {str(tmp_path)}


def test_a_mirror_that_cannot_be_listed_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "mirror").mkdir()
    memory = Memory.open(tmp_path, embedder="words", wait_s=0.0)
    with memory, nothing_opens(), pytest.raises(StorageError, match="looked into"):
        memory.salvage()
