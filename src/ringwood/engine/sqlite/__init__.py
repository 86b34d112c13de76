"""The embedded engine: three SQLite files, read as one and written one at a time."""

from ringwood.engine.sqlite.engine import SqliteEngine
from ringwood.engine.sqlite.load import open_loader
from ringwood.engine.sqlite.open import open_engine

__all__ = ["SqliteEngine", "open_engine", "open_loader"]
