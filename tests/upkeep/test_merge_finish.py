"""A dream that was cut short is finished by whoever opens the home next."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.upkeep.merging import PORT

from ringwood import home as homes
from ringwood.engine.sqlite import open_engine
from ringwood.memory import Memory
from ringwood.upkeep.dreaming.merge import DREAM, finish, is_unfinished
from ringwood.upkeep.lease import holding

CUT_SHORT = """
import os, sys
from ringwood.memory import Memory
from ringwood.upkeep.dreaming import dream

def dies(engine, mirror_root):
    with engine.reading() as reader:
        if reader.steps(is_open=True):
            os._exit(9)

dream.finish = dies
with Memory.open(sys.argv[1], embedder="hashing") as memory:
    memory.dream()
"""


def cut_short(home: Path) -> None:
    """Have two texts merged, and die before the page of the one is removed."""
    with Memory.open(home, embedder="hashing") as memory:
        memory.store(PORT, path="/one", source="one")
        memory.store(PORT.replace(" ", "  "), path="/two", source="two")
    command = [sys.executable, "-c", CUT_SHORT, str(home)]
    assert subprocess.run(command, check=False).returncode == 9


def pages(home: Path) -> list[str]:
    return sorted(each.name for each in (home / homes.MIRROR_FOLDER).rglob("*.md"))


def test_the_page_of_a_merged_text_goes_without_another_dream(tmp_path: Path) -> None:
    cut_short(tmp_path)
    assert pages(tmp_path) == ["one.md", "two.md"]

    with Memory.open(tmp_path, embedder="hashing") as memory:
        memory.recall("anything")
        assert memory.wait()
        assert pages(tmp_path) == ["one.md"]


def test_a_text_that_has_the_path_of_a_merged_one_since_keeps_its_page(tmp_path: Path) -> None:
    cut_short(tmp_path)
    with (
        holding(tmp_path, DREAM) as held,  # so that nobody finishes it before
        Memory.open(tmp_path, embedder="hashing") as memory,
    ):
        memory.store("# Two\n\nSomething else altogether.", path="/two", source="one")
        assert memory.wait()
    assert held

    engine = open_engine(tmp_path, create=False)
    assert is_unfinished(engine)
    finish(engine, str(tmp_path / homes.MIRROR_FOLDER))
    assert not is_unfinished(engine)
    engine.close()

    assert pages(tmp_path) == ["two.md"]
