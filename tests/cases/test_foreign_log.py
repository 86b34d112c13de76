"""What lies beside a database file and is another's is never read into it, whatever tier it is of.

SQLite takes any whole log for the one of the file that it lies beside. A log is told by the mark of
its file, which is on the first page of both.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from ringwood.errors import DamagedError
from ringwood.memory import Memory
from ringwood.types import TIERS, Tier

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals")

FILES: dict[Tier, str] = {"hot": "memory.db", "warm": "memory-warm.db", "cold": "memory-cold.db"}
FILL = """
import os, sys
from datetime import UTC, datetime, timedelta
from ringwood.memory import Memory
home, word, end = sys.argv[1:]
with Memory.open(home, embedder="words") as memory:
    for tier, days in {"hot": 1, "warm": 60, "cold": 400}.items():
        at = datetime.now(UTC) - timedelta(days=days)
        memory.store(f"The {word} of {tier}.", source=tier, at=at)
    memory.rotate()
    memory.wait()
    if end == "kill after compacting":
        memory.compact()
        for tier in ("hot", "warm", "cold"):  # as compacting does, before it empties the log
            memory._opened.engine().vacuum(tier)
    if end != "close":
        os.kill(os.getpid(), 9)
"""
ENDS = ("kill", pytest.param("kill after compacting", marks=pytest.mark.slow))


def fill(home: Path, word: str, end: str) -> Path:
    """Make a home with one text a tier, by a process that ends in a way."""
    done = subprocess.run([sys.executable, "-c", FILL, str(home), word, end], check=False)
    assert done.returncode == (0 if end == "close" else -signal.SIGKILL)
    return home


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that was closed: its logs are empty or gone."""
    return fill(tmp_path_factory.mktemp("closed") / "home", "alder", "close")


@pytest.fixture(scope="module", params=ENDS)
def killed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another home, whose texts lie in its logs."""
    return fill(tmp_path_factory.mktemp("killed") / "home", "birch", request.param)


def beside(closed: Path, killed: Path, tier: Tier, suffix: str, to: Path) -> Path:
    """Copy the closed home, and lay a file of the other one beside one of its own."""
    shutil.copytree(closed, to)
    shutil.copyfile(killed / f"{FILES[tier]}{suffix}", to / f"{FILES[tier]}{suffix}")
    return to


def found(memory: Memory, word: str) -> set[str]:
    return {hit.tier for hit in memory.recall(word).hits}


@pytest.mark.parametrize("tier", TIERS[1:])
def test_a_log_of_another_database_beside_an_older_tier_costs_that_tier_until_it_is_moved_away(
    tmp_path: Path, closed: Path, killed: Path, tier: Tier
) -> None:  # res-08
    home = beside(closed, killed, tier, "-wal", tmp_path / "home")
    pair = (home / FILES[tier], home / f"{FILES[tier]}-wal")
    before = [path.read_bytes() for path in pair]

    with Memory.open(home, embedder="words") as memory:
        assert found(memory, "birch") == set()
        assert found(memory, "alder") == set(TIERS) - {tier}
        assert any(tier in note for note in memory.recall("alder").notes)
        [told] = [each for each in memory.verify().findings if each.what == "file"]
        assert "not its own" in told.says
        assert pair[1].name in told.mend
        assert memory.store("The cedar.").state == "ready"
    assert [path.read_bytes() for path in pair] == before

    pair[1].rename(tmp_path / "kept")
    with Memory.open(home, embedder="words") as memory:
        assert found(memory, "alder") == set(TIERS)
        assert found(memory, "birch") == set()


def test_a_log_of_another_database_beside_the_hot_file_is_refused(
    tmp_path: Path, closed: Path, killed: Path
) -> None:  # res-08
    home = beside(closed, killed, "hot", "-wal", tmp_path / "home")
    before = (home / FILES["hot"]).read_bytes()

    with pytest.raises(DamagedError, match="not its own") as caught:
        Memory.open(home, embedder="words").recall("alder")

    assert "memory.db-wal" in caught.value.mend
    assert (home / FILES["hot"]).read_bytes() == before


@pytest.mark.parametrize("tier", TIERS)
def test_by_itself_sqlite_would_have_read_it(
    tmp_path: Path, closed: Path, killed: Path, tier: Tier
) -> None:  # res-08
    home = beside(closed, killed, tier, "-wal", tmp_path / "home")

    with closing(apsw.Connection(str(home / FILES[tier]))) as plain:
        texts = plain.execute("SELECT text FROM documents").fetchall()

    assert texts == [(f"The birch of {tier}.",)]


def test_the_logs_of_a_home_itself_are_read(tmp_path: Path, killed: Path) -> None:  # res-08
    home = shutil.copytree(killed, tmp_path / "home")

    with Memory.open(home, embedder="words") as memory:
        assert found(memory, "birch") == set(TIERS)
        assert not [each for each in memory.verify().findings if each.what == "file"]


@pytest.mark.parametrize("tier", TIERS)
def test_an_index_of_another_log_is_made_again(
    tmp_path: Path, closed: Path, killed: Path, tier: Tier
) -> None:  # res-08
    home = beside(closed, killed, tier, "-shm", tmp_path / "home")

    with Memory.open(home, embedder="words") as memory:
        assert found(memory, "alder") == set(TIERS)
        assert found(memory, "birch") == set()
        assert memory.store("The cedar.").state == "ready"


@pytest.mark.parametrize("tier", TIERS)
def test_a_log_that_is_gone_or_cut_off_takes_what_was_in_it_alone(
    tmp_path: Path, closed: Path, tier: Tier
) -> None:  # res-08, CORRUPT 17
    home = shutil.copytree(closed, tmp_path / "home")
    fill(home, "cedar", "kill")  # each text is an edit of what is there
    log = home / f"{FILES[tier]}-wal"
    os.truncate(log, log.stat().st_size // 2)
    (home / f"{FILES[tier]}-shm").unlink()

    for _ in range(2):  # cut off, and then gone
        with Memory.open(home, embedder="words") as memory:
            texts = [hit.text for word in ("alder", "cedar") for hit in memory.recall(word).hits]
        assert sorted(text.rsplit(maxsplit=1)[1] for text in texts) == ["cold.", "hot.", "warm."]
        log.unlink(missing_ok=True)
