"""Take in what DSH's sessions hold of the last days and no child was there to hear.

Which files were read is kept in `<home>/dsh-sessions.json`, and so is which sessions were left out
because capture was paused: what was said then is not taken in later, when it no longer is.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any

from ringwood import home as homes

STATE_FILE = "dsh-sessions.json"
DAYS = 7.0
"""How far back a child looks: older sessions are for `ringwood dsh import`."""
MAX_FILES = 100
"""Files read at one start, the newest."""
MAX_BYTES = 32 * 1024 * 1024
"""Of a file, packed: larger ones are for `ringwood dsh import`, which shows how far it is."""
MAX_S = 20.0
"""How long one start goes on with it; the next one goes on from there."""
MAX_LEFT_OUT = 1000
"""Sessions that were left out and are remembered, the newest."""


class Sessions:
    """What is known of a home's DSH sessions. Safe from several threads."""

    def __init__(self, home: str) -> None:
        """Name the home; nothing is read yet."""
        self._file = Path(home) / STATE_FILE
        self._lock = Lock()
        self._told: set[str] = set()

    def leave_out(self, session: str) -> None:
        """Remember that nothing is to be taken in of a session later.

        Raises:
            StorageError: when the disk refuses.
        """
        with self._lock:
            if session in self._told:
                return
            state = self._read() or _nothing()
            if session not in state["left_out"]:
                state["left_out"] = [*state["left_out"], session][-MAX_LEFT_OUT:]
                self._write(state)
            self._told.add(session)

    def is_left_out(self, session: str) -> bool:
        """Say whether nothing is to be taken in of a session."""
        with self._lock:
            state = self._read()
        return state is None or session in state["left_out"]

    def news(self, files: list[Path]) -> list[Path]:
        """Pick the files that changed since they were read, the newest first, within bounds."""
        with self._lock:
            state = self._read()
        if state is None:
            return []
        read = state["files"]
        found = [file for file in files if read.get(str(file)) != _size(file) <= MAX_BYTES]
        return found[: -MAX_FILES - 1 : -1]

    def note(self, file: Path, size: int, among: list[Path]) -> None:
        """Remember a file as read; those that are not among the recent ones are forgotten."""
        recent = {str(each) for each in among}
        with self._lock:
            state = self._read() or _nothing()
            kept = {name: known for name, known in state["files"].items() if name in recent}
            self._write({**state, "files": {**kept, str(file): size}})

    def _read(self) -> dict[str, Any] | None:
        """Read the file; None where it is damaged: then a word too few is taken in."""
        try:
            state = json.loads(self._file.read_text("utf-8"))
            return {"files": dict(state["files"]), "left_out": list(state["left_out"])}
        except FileNotFoundError:
            return _nothing()
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _write(self, state: dict[str, Any]) -> None:
        homes.create_home(str(self._file.parent))
        homes.write_private(str(self._file), json.dumps(state))


def _nothing() -> dict[str, Any]:
    return {"files": {}, "left_out": []}


def catch_up(home_sessions: Sessions, listed: list[Path], take: Callable[[Path], None]) -> None:
    """Hand over the files that are news, one by one, for a bounded time.

    Args:
        home_sessions: what is known already.
        listed: the recent session files, the oldest first.
        take: takes in one file; raises `InterruptedError` when there is no time left for it.
    """
    latest = time.monotonic() + MAX_S
    for file in home_sessions.news(listed):
        if time.monotonic() > latest:
            return
        size = _size(file)  # before it is read: what is written meanwhile is news again
        try:
            take(file)
        except InterruptedError:
            return
        home_sessions.note(file, size, listed)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0
