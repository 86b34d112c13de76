"""Open the files of a home, in whichever way they can be opened."""

from __future__ import annotations

from pathlib import Path

from ringwood.engine.sqlite import files
from ringwood.engine.sqlite.connection import BUSY_TIMEOUT_S, is_writable, no_home
from ringwood.engine.sqlite.engine import SqliteEngine, tier_paths
from ringwood.engine.sqlite.gate import gate_for
from ringwood.engine.sqlite.read_only import ReadOnlyEngine


def open_engine(
    home_dir: Path, *, warm_path: Path | None = None, cold_path: Path | None = None, create: bool
) -> SqliteEngine:
    """Open the memory of a home, bringing older files up to date.

    One that this user may not write is opened as it is: then `writable` is False.

    Args:
        home_dir: Where the hot tier lies.
        warm_path: File of the warm tier; None: beside the hot one.
        cold_path: File of the cold tier; None: beside the hot one.
        create: Make what is not there yet.

    Raises:
        NoHomeError: when nothing was stored here yet and `create` is False.
        SchemaError: when a newer Ringwood wrote any of the files. None of them was changed.
        BusyError: when another process holds the home for too long.
        StorageError: when the disk refuses, or the hot tier is damaged.
    """
    paths = tier_paths(home_dir, warm_path=warm_path, cold_path=cold_path)
    if not files.exists(paths["hot"]):
        if not create:
            raise no_home(home_dir)
        files.make_directory(home_dir)
    elif not is_writable(paths["hot"]):
        read_only = ReadOnlyEngine(paths)
        with read_only.reading():  # what keeps it from being read is said now
            return read_only
    gate = gate_for(home_dir / "write.lock")
    attached = files.open_current(paths)
    if attached is None:
        gate.acquire(BUSY_TIMEOUT_S)
        try:
            files.make_current(paths, create=create)
        finally:
            gate.release()
    engine = SqliteEngine(paths, gate, attached)
    engine.settle()
    return engine
