"""The database of a home, opened on first use."""

from __future__ import annotations

from pathlib import Path
from threading import RLock

from ringwood import home as homes
from ringwood.config import Config
from ringwood.engine.base import Engine
from ringwood.engine.sqlite import open_engine
from ringwood.errors import UsageError
from ringwood.mounts import require_local


class OpenDatabase:
    """What every part of an open home stands on: its folder, its settings, its database."""

    def __init__(self, home: str, config: Config) -> None:
        """Name the home; nothing is opened."""
        self._home = home
        self._config = config
        self._closed = False
        self._engine: Engine | None = None
        self._lock = RLock()  # of all that is open, but the log

    def engine(self, *, create: bool = False) -> Engine:
        """Return the database, opened.

        Raises:
            NoHomeError: when there is none and `create` is False.
            NetworkError: when it lies on a network file system and may not.
            UsageError: when this was closed.
        """
        with self._lock:
            if self._closed:
                raise UsageError("This memory is closed.", mend="open it again")
            if self._engine is None:
                require_local(self._home, self._config.home)
                if create:
                    homes.create_home(self._home)
                else:
                    homes.require(self._home)
                self._engine = open_engine(
                    Path(self._home),
                    warm_path=_path(self._config.tiers.warm_path),
                    cold_path=_path(self._config.tiers.cold_path),
                    create=create,
                )
            return self._engine

    @property
    def is_open(self) -> bool:
        """Whether the database was opened and not closed yet."""
        return self._engine is not None and not self._closed

    @property
    def _mirror_root(self) -> str:
        return str(Path(self._home) / homes.MIRROR_FOLDER)


def _path(given: str | None) -> Path | None:
    return None if given is None else Path(given).expanduser()
