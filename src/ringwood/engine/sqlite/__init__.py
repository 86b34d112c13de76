"""The embedded engine: three SQLite files, read as one and written one at a time."""

from ringwood.engine.sqlite.engine import SqliteEngine, open_engine
from ringwood.engine.sqlite.load import open_loader

__all__ = ["SqliteEngine", "open_engine", "open_loader"]
