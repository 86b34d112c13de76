"""A server that failed is left alone for a while: a dead one costs a recall nothing."""

from __future__ import annotations

import time

from ringwood.embed.remote.failure import Failure

_LONGEST_PAUSE_S = 3600.0  # of those that a server may ask for


class Breaker:
    """Remembers the last failure until its pause is over. Safe from several threads."""

    def __init__(self, pause_s: float) -> None:
        """Take how long a pause is, seconds, unless the server asks for more."""
        self._pause_s = pause_s
        self._open: tuple[Failure, float] | None = None

    def check(self) -> None:
        """Raise the last failure again while its pause lasts.

        Raises:
            Failure: the last one.
        """
        now = self._open
        if now is not None and time.monotonic() < now[1]:
            raise now[0]

    def failed(self, failure: Failure) -> None:
        """Begin a pause."""
        pause_s = max(self._pause_s, min(_LONGEST_PAUSE_S, failure.wait_s or 0.0))
        self._open = (failure, time.monotonic() + pause_s)

    def worked(self) -> None:
        """End it."""
        self._open = None
