"""What a child was about to do and what was acknowledged to it, in the order of events."""

from __future__ import annotations

import json
import os
from pathlib import Path

LOG = "log"
"""The file in the folder of a trial."""

Line = tuple[str, str, str | None, bool, int]
"""What happened, to which key, with which text, whether that is a document of its own, and how many
documents may hold it."""


class Log:
    """A file of what was begun and what is done, in the order in which it happened."""

    def __init__(self, trial: Path) -> None:
        """Open it for adding to."""
        self._handle = os.open(trial / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def close(self) -> None:
        """Close it."""
        os.close(self._handle)

    def begin(self, key: str, text: str | None, *, whole: bool = True, copies: int = 1) -> None:
        """Say that a text is about to be there.

        Args:
            key: a word that stands in this text and in no other.
            text: what will be kept; None: it will be gone.
            whole: whether it is a document of its own, and not a part of one.
            copies: how many documents may hold it.
        """
        self._add("begin", key, text, whole, copies)

    def done(self, key: str, text: str | None, *, whole: bool = True, copies: int = 1) -> None:
        """Say that it was acknowledged."""
        self._add("done", key, text, whole, copies)

    def note(self, what: str, text: str) -> None:
        """Say something else."""
        self._add(what, "", text, True, 1)

    def _add(self, *fields: object) -> None:
        # `writev` is not among the calls that are spoiled: a trial is to hit what we test.
        os.writev(self._handle, [json.dumps(fields).encode(), b"\n"])


def lines_of(trial: Path) -> list[Line]:
    """Read a log; a line that a kill cut short is none."""
    lines = (trial / LOG).read_text("utf-8").split("\n")[:-1]
    return [tuple(json.loads(line)) for line in lines]
