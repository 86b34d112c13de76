"""What every part of a memory stands on: the home, the space, opening and closing."""

from __future__ import annotations

import os
from collections.abc import Callable
from copy import copy
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from ringwood import config as settings
from ringwood import home as homes
from ringwood.capture.consent import is_paused_everywhere, is_paused_in
from ringwood.capture.space import free_name, space_key, space_slug
from ringwood.embed.base import Embedder
from ringwood.engine.sqlite.engine import tier_paths
from ringwood.errors import UsageError, refusal
from ringwood.names import GLOBAL
from ringwood.open_home import OpenHome
from ringwood.recall import browse
from ringwood.types import TIERS, Tier


class Opened:
    """A home with a space in it to work in; a context manager."""

    def __init__(
        self,
        home: str | Path | None = None,
        *,
        space: str | None = None,
        directory: str | None = None,
        embedder: str | Embedder | None = None,
        wait_s: float = 10.0,
    ) -> None:
        """Prepare; see `open`."""
        _require_space_name(space)
        self.home = homes.locate(None if home is None else str(home))
        self.config = settings.load(self.home)
        self.wait_s = wait_s
        self._named_space = space
        self._key = None if directory is None or space is not None else space_key(directory)
        self._opened = OpenHome(self.home, self.config, embedder)
        self._is_view = False

    @classmethod
    def open(
        cls,
        home: str | Path | None = None,
        space: str | None = None,
        embedder: str | Embedder | None = None,
        *,
        directory: str | None = None,
        wait_s: float = 10.0,
    ) -> Self:
        """Open a home.

        Args:
            home: its folder; None: `RINGWOOD_HOME`, else the platform's data folder.
            space: where texts belong and are looked for, besides `global`. None: `global`, or the
                space of `directory`.
            embedder: a name (`bundled`, `words`, `hashing`) or an object. None: what the home was
                made with, else `bundled`.
            directory: a working directory whose space is meant when `space` is None.
            wait_s: how long leaving the context waits for vectors, seconds.

        Raises:
            ConfigError: when the home's settings do not fit.
            UsageError: when a space cannot be called so.
        """
        return cls(home, space=space, embedder=embedder, directory=directory, wait_s=wait_s)

    def within(
        self, *, space: str | None = None, directory: str | None = None, key: str | None = None
    ) -> Self:
        """Return this memory as seen from another space; all that is open is shared.

        Closing the view does nothing: it lives as long as the memory it came from.

        Args:
            space: a space by name.
            directory: a working directory whose space is meant.
            key: a space by its key, as `capture.space.space_key` gives it. None of the three:
                `global`.

        Raises:
            UsageError: when a space cannot be called so.
        """
        _require_space_name(space)
        view = copy(self)
        view._is_view = True
        view._named_space = space
        view._key = key if directory is None else space_key(directory)
        return view

    @property
    def space(self) -> str:
        """The name of the space that texts belong to and are looked for in."""
        key = None if self._named_space is not None else self._key
        if key is None:
            return self._named_space or GLOBAL
        if not homes.exists(self.home):
            return space_slug(key)
        with self._opened.engine().reading() as reader:
            return reader.space_of_key(key) or free_name(space_slug(key), reader.spaces())

    @property
    def _embedded_tiers(self) -> tuple[Tier, ...]:
        """Tiers whose nodes have vectors."""
        return tuple(t for t in TIERS if t != "cold" or not self.config.tiers.drop_cold_vectors)

    @property
    def is_paused(self) -> bool:
        """Whether the person paused capture, everywhere or in this space."""
        if self._named_space not in (None, GLOBAL):
            return is_paused_everywhere(self.home)
        return is_paused_in(self.home, self._key)

    def _writing_space(self) -> str:
        """Return the space to write to, registered under its key."""
        key = None if self._named_space is not None else self._key
        if key is None:
            return self.space
        engine = self._opened.engine(create=True)
        with engine.reading() as reader:
            known = reader.space_of_key(key)
        if known is not None:
            return known
        with engine.writing() as writer:
            return writer.register_space(key, space_slug(key))

    def create(self) -> None:
        """Make the home if there is none. Idempotent."""
        self._opened.engine(create=True)

    def wait(
        self, timeout_s: float | None = None, on_tick: Callable[[int], None] = lambda done: None
    ) -> bool:
        """Wait for vectors and mirror; False when time ran out or something is to be tried again.

        Args:
            timeout_s: how long at most; None: `wait_s`.
            on_tick: told the number of nodes embedded so far, about ten times a second.
        """
        return self._opened.wait(self.wait_s if timeout_s is None else timeout_s, on_tick)

    def require_outside(self, target: Path) -> None:
        """Refuse a file that a person names to be written, where the home keeps its own.

        Raises:
            UsageError: when it lies in the home, or is a file of a tier that lies elsewhere.
            StorageError: when it leads nowhere.
        """
        try:
            place = Path(os.path.realpath(target))
        except OSError as error:  # the working directory is gone
            raise refusal(error, f"{target} leads nowhere", mend="give a whole path") from error
        tiers = [os.path.realpath(path) for path in self._tier_paths().values()]
        # With what SQLite keeps beside each: a `-wal` written over takes what was just stored.
        own = {path + end for path in tiers for end in ("", "-wal", "-shm", "-journal")}
        if place.is_relative_to(os.path.realpath(self.home)) or str(place) in own:
            raise UsageError(
                f"{target} lies in the home, among the files of the memory itself.",
                mend="choose a place outside it",
            )

    def _tier_paths(self) -> dict[Tier, Path]:
        tiers = self.config.tiers
        return tier_paths(
            Path(self.home),
            warm_path=None if tiers.warm_path is None else Path(tiers.warm_path).expanduser(),
            cold_path=None if tiers.cold_path is None else Path(tiers.cold_path).expanduser(),
        )

    def close(self) -> None:
        """Wait up to `wait_s` for vectors, write down what was used, and let go. Idempotent.

        Whatever is asked of a closed memory raises `UsageError`.
        """
        if not self._is_view:
            self._opened.close(self.wait_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            self.wait_s = 0.0
        self.close()


def _require_space_name(space: str | None) -> None:
    if space is not None and not browse.is_space_name(space):
        raise UsageError(
            f"{space!r} is no name for a space: an address could not lead back to it.",
            mend="use letters, digits and hyphens",
        )


def instant(moment: datetime | None) -> datetime | None:
    """Turn a time into UTC; one without a zone is local time, as a person means it."""
    try:
        return None if moment is None else moment.astimezone(UTC)
    except (OverflowError, ValueError) as error:
        raise UsageError(f"{moment} lies beyond the calendar.", mend="give another time") from error
