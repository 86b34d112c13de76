"""Compaction that is killed: every file is whole, in WAL mode, and nothing is left beside it."""

from __future__ import annotations

import sys
from pathlib import Path

import apsw
import pytest
from tests.engine.moving import FILES
from tests.upkeep.aged import fill, rotated, text_of
from tests.upkeep.killing import killed

from ringwood.engine.sqlite import open_engine

pytestmark = pytest.mark.slow

NOTES = 400
TRIALS = 12

COMPACT = """
import sys
from pathlib import Path
from ringwood.engine.sqlite import open_engine
from ringwood.upkeep.aging.compact import compact
engine = open_engine(Path(sys.argv[1]), create=False)
print("go", flush=True)
compact(engine)
engine.close()
"""
NAIVE = """
import sys
import apsw
connection = apsw.Connection(sys.argv[1] + "/memory.db")
print("go", flush=True)
connection.execute("PRAGMA journal_mode = DELETE").fetchall()
connection.execute("VACUUM")
connection.execute("PRAGMA journal_mode = WAL").fetchall()
"""


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A home whose hot file is mostly room that was left. Copied for each trial."""
    engine = open_engine(tmp_path / "filled", create=True)
    fill(engine, [400] * (NOTES - 10) + [1] * 10)
    rotated(engine)
    engine.close()
    return tmp_path / "filled"


def faults(home: Path) -> list[str]:
    """List what is wrong with the files of a home: what they hold, their mode, what lies beside."""
    wrong = []
    for name in FILES.values():
        connection = apsw.Connection(str(home / name))
        if connection.pragma("journal_mode") != "wal":
            wrong.append(f"{name} is in mode {connection.pragma('journal_mode')}")
        if connection.pragma("integrity_check") != "ok":
            wrong.append(f"{name} is damaged")
        connection.close()
    engine = open_engine(home, create=False)
    with engine.reading() as reader:
        texts = {reader.text_of(card.id) for card in reader.roots("global")}
    engine.close()
    if texts != {text_of(number) for number in range(NOTES)}:
        wrong.append("texts are not what they were")
    wrong += [
        file.name for file in home.iterdir() if file.name not in {*FILES.values(), "write.lock"}
    ]
    return wrong


def test_a_compaction_that_is_killed_leaves_every_file_whole(filled: Path, tmp_path: Path) -> None:
    unfinished = 0
    before = (filled / FILES["hot"]).stat().st_size
    command = [sys.executable, "-c", COMPACT]
    for home in killed(command, filled, tmp_path / "home", times=TRIALS):
        assert faults(home) == []
        unfinished += (home / FILES["hot"]).stat().st_size == before
    assert unfinished > 0  # some were killed before they were done


def test_the_same_test_sees_what_a_change_of_journal_mode_leaves(
    filled: Path, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", NAIVE]
    for home in killed(command, filled, tmp_path / "home", times=4 * TRIALS):
        if faults(home):
            return
    pytest.fail("no kill left a file in another mode: this test cannot fail")
