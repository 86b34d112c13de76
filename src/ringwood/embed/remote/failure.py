"""Why a server gave no rows, in terms of what to do about it."""

from __future__ import annotations


class Failure(Exception):
    """One request failed. It never quotes a key, nor a text that was sent."""

    def __init__(
        self,
        message: str,
        *,
        mend: str = "",
        again: bool = False,
        wait_s: float | None = None,
        server: bool = True,
    ) -> None:
        """Say what happened.

        Args:
            message: a sentence for people.
            mend: what to type or do.
            again: whether the same request may do better in a moment.
            wait_s: after how long, when the server says so.
            server: False when these texts may be to blame, and others can go on.
        """
        super().__init__(message)
        self.message = message
        self.mend = mend
        self.again = again
        self.wait_s = wait_s
        self.server = server


class TooLate(Failure):
    """No answer came in the time given. More time might have helped."""


class TooLong(Failure):
    """The texts are more than the server takes at once, or one is more than its model reads."""
