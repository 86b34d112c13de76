"""Recalls of this process that are to be written down, and what the newest of all said."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any

from ringwood import home as homes
from ringwood.errors import StorageError
from ringwood.open_home.database import OpenDatabase
from ringwood.recall.usage import LOG_KEEP, Use, unpack, write_uses
from ringwood.write.retry import Piece
from ringwood.write.troubles import note_trouble, settle

_log = logging.getLogger(__name__)

_USES = Piece("recall log")
"""What is noted when recalls cannot be logged."""
RECENT_LOGS = 64
"""Recalls in which an answer is looked for as a quotation: an hour of talk holds a few."""


class Uses(OpenDatabase):
    """Keeps what was recalled until it is logged, unless a text is forgotten meanwhile."""

    def _begin_uses(self) -> None:
        """Have nothing to write down."""
        self._log_lock = Lock()  # held while uses are written, and while a text is forgotten
        self._uses: list[Use] = []
        self._forgets = 0

    @property
    def forgets(self) -> int:
        """How often a text was forgotten here: a recall that began before the last is not kept."""
        return self._forgets

    def keep(self, use: Use, *, forgets: int) -> None:
        """Keep a use to be written down, unless something was forgotten since it began."""
        with self._lock:
            if forgets == self._forgets:
                self._uses = [*self._uses, use][-LOG_KEEP:]

    def write_uses(self) -> None:
        """Log recalls and count accesses; what cannot be written now waits for the next time."""
        with self._log_lock:
            with self._lock:
                engine, uses, self._uses = self._engine, self._uses, []
            if engine is None or not uses:
                return
            try:
                write_uses(engine, uses)
                settle(engine, _USES)
            except StorageError as error:
                _log.info("recalls were not logged yet: %s", error.message)
                with suppress(StorageError):
                    note_trouble(engine, _USES, error.message, self._config.upkeep.retry_s)
                with self._lock:
                    self._uses = [*uses, *self._uses][-LOG_KEEP:]

    def recalled(self, space: str) -> tuple[str, ...]:
        """Return the texts of the newest recalls in a space, each once, as they were logged."""
        hits = (hit for log in self.recent_recalls(space) for hit in log["hits"])
        return tuple(dict.fromkeys(hit["text"] for hit in hits))

    def recent_recalls(self, space: str) -> list[dict[str, Any]]:
        """Return what the newest `RECENT_LOGS` recalls logged, those in a space, newest first."""
        with self.engine().reading() as reader:
            logs = [unpack(payload) for payload in reader.recent_logs(RECENT_LOGS)]
        return [log for log in logs if log["space"] == space]

    @contextmanager
    def forgetting(self) -> Iterator[None]:
        """Keep the log as it is meanwhile, and then nothing that may quote what was forgotten."""
        with self._log_lock:
            try:
                yield
            finally:
                with self._lock:
                    self._forgets += 1
                    self._uses = []
                homes.drop_briefs(self._home)
