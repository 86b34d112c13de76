"""Compaction that is killed: every file is whole, in WAL mode, and nothing is left beside it."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path
from time import sleep

import apsw
import pytest
from tests.engine.moving import FILES
from tests.upkeep.aged import fill, rotated, text_of

from ringwood.engine.sqlite import open_engine

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
NOTES = 400
TRIALS = 12
LONGEST_S = 0.3
"""About what compacting takes: the last of the random moments may lie behind its end."""

COMPACT = """
import sys
from pathlib import Path
from ringwood.engine.sqlite import open_engine
from ringwood.upkeep.compact import compact
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


def kill_during(script: str, filled: Path, home: Path, after_s: float) -> None:
    """Run a script on a copy of a home in another process, and kill it."""
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(filled, home)
    command = [sys.executable, "-c", script, str(home)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "go\n"
        sleep(after_s)
        process.kill()


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
    chance = random.Random(5)
    home, unfinished = tmp_path / "home", 0
    before = (filled / FILES["hot"]).stat().st_size
    for _ in range(TRIALS):
        kill_during(COMPACT, filled, home, chance.random() * LONGEST_S)
        assert faults(home) == []
        unfinished += (home / FILES["hot"]).stat().st_size == before
    assert unfinished > 0  # some were killed before they were done


def test_the_same_test_sees_what_a_change_of_journal_mode_leaves(
    filled: Path, tmp_path: Path
) -> None:
    chance = random.Random(5)
    for _ in range(4 * TRIALS):
        kill_during(NAIVE, filled, tmp_path / "home", chance.random() * LONGEST_S / 3)
        if faults(tmp_path / "home"):
            return
    pytest.fail("no kill left a file in another mode: this test cannot fail")
