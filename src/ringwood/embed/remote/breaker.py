"""A server that failed is left alone for a while: a dead one costs a recall nothing."""

from __future__ import annotations

import time
from math import inf

from ringwood.embed.remote.failure import Failure, TooLate

_LONGEST_PAUSE_S = 3600.0  # of those that a server may ask for


class Breaker:
    """Remembers the last failure until its pause is over. Safe from several threads."""

    def __init__(self, pause_s: float) -> None:
        """Take how long a pause is, seconds, unless the server asks for more."""
        self._pause_s = pause_s
        self._last: tuple[Failure, float, float] | None = None  # what, until when, for whom

    def check(self, patience_s: float) -> None:
        """Raise the last failure again while its pause lasts.

        Args:
            patience_s: how long the caller can wait. A server that was too late for somebody in a
                hurry may do for who is not.

        Raises:
            Failure: the last one.
        """
        last = self._last
        if last is None:
            return
        failure, until, tried_s = last
        if patience_s <= tried_s and time.monotonic() < until:
            raise failure

    def failed(self, failure: Failure, patience_s: float) -> None:
        """Begin a pause."""
        pause_s = max(self._pause_s, min(_LONGEST_PAUSE_S, failure.wait_s or 0.0))
        tried_s = patience_s if isinstance(failure, TooLate) else inf
        self._last = (failure, time.monotonic() + pause_s, tried_s)

    def worked(self) -> None:
        """End it."""
        self._last = None
