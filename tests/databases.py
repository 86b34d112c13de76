"""The database of a home, opened beside whoever else has it open, as another process would."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from ringwood.engine.sqlite import SqliteEngine, files, open_engine
from ringwood.engine.sqlite.engine import tier_paths
from ringwood.memory import Memory


@contextmanager
def database_of(memory: Memory) -> Iterator[SqliteEngine]:
    """Open the database that a memory has; it is made where there is none."""
    with closing(open_engine(Path(memory.home), create=True)) as engine:
        yield engine


@contextmanager
def connection_to(home: Path) -> Iterator[apsw.Connection]:
    """Hold a snapshot over all tiers, through the views that every reader uses."""
    paths = tier_paths(home)
    with closing(files.attach_all(paths, files.identities_of(paths)).connection) as connection:
        connection.execute("BEGIN")
        yield connection
