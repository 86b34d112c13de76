"""A row that something changed on the disk is damage, and tells what mends it."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

from ringwood.errors import DamagedError
from ringwood.memory import Memory

CHANGES = {
    "kind": "UPDATE nodes SET kind = 'paragrapi'",
    "actor of a document": "UPDATE documents SET actor = 'perton'",
    "actor of a node": "UPDATE nodes SET actor = 'perton'",
    "state": "UPDATE documents SET state = 'reado'",
    "no time": "UPDATE documents SET created_at = 9e300",
    "span": "UPDATE nodes SET own_start = 'x'",
    "owner": "UPDATE nodes SET document = 4097",
}


def home_of(tmp_path: Path) -> Path:
    with Memory.open(tmp_path, embedder="words", wait_s=10.0) as memory:
        memory.store("# Pump\n\nThe pump leaks near the valve.", source="note")
        memory.store("# Pump\n\nThe pump is tight.", source="note")
    return tmp_path


def change(home: Path, statement: str) -> None:
    """Do what SQLite would not let us do: constraints are of no use against a bit that flips."""
    with closing(apsw.Connection(str(home / "memory.db"))) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(statement)


def look(home: Path) -> None:
    with Memory.open(home, embedder="words", wait_s=0.0) as memory:
        memory.recall("pump tight")
        memory.recent()
        memory.read("global:/pump")


@pytest.mark.parametrize("what", CHANGES)
def test_a_changed_row_is_damage(tmp_path: Path, what: str) -> None:
    home = home_of(tmp_path)
    look(home)  # the control

    change(home, CHANGES[what])

    with pytest.raises(DamagedError, match=r"memory|home|test_") as told:
        look(home)
    assert "verify" in told.value.mend


def test_a_changed_earlier_text_is_damage(tmp_path: Path) -> None:
    home = home_of(tmp_path)
    with closing(apsw.Connection(str(home / "memory.db"))) as connection:
        [(until,)] = connection.execute("SELECT until FROM versions").fetchall()
        connection.execute("UPDATE versions SET nodes = x'0011'")
    at = datetime.fromtimestamp(int(str(until)) / 1_000_000 - 0.001, UTC)

    with (
        Memory.open(home, embedder="words", wait_s=0.0) as memory,
        pytest.raises(DamagedError, match="version"),
    ):
        memory.recall("pump leaks", as_of=at)
