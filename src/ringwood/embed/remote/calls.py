"""Requests on threads of their own: who asked leaves at a deadline, or when all is closed.

A limit on each read does not bound a request. A server that sends a byte a second keeps to it for
hours, and looking up a name knows no limit at all.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from threading import Lock, Thread
from typing import TypeVar

from ringwood.embed.remote.failure import Failure, TooLate

T = TypeVar("T")


class Calls:
    """Whoever waits for an answer. Safe from several threads."""

    def __init__(self, name: str) -> None:
        """Take the name of who is asked; nobody waits yet."""
        self._name = name
        self._lock = Lock()
        self._waiting: set[Future[object]] = set()
        self._closed = False

    def run(self, work: Callable[[], T], deadline: float) -> T:
        """Do the work and return its result.

        Args:
            work: ends by itself soon after the deadline, whether or not anybody waits.
            deadline: by `time.monotonic()`.

        Raises:
            Failure: when the deadline passes, or all is closed. Also whatever the work raises.
        """
        answer: Future[T] = Future()

        def settle() -> None:
            try:
                result = work()
            except Exception as error:  # noqa: BLE001 - raised again where it is waited for
                with suppress(InvalidStateError):  # nobody waits any more
                    answer.set_exception(error)
            else:
                with suppress(InvalidStateError):
                    answer.set_result(result)

        with self._lock:
            if self._closed:
                raise _closed()
            self._waiting.add(answer)  # type: ignore[arg-type] # a future of anything
        try:
            Thread(target=settle, name="ringwood-embed", daemon=True).start()
            return answer.result(max(0.0, deadline - time.monotonic()))
        except TimeoutError as error:
            raise TooLate(f"{self._name!r} did not answer in time") from error
        finally:
            with self._lock:
                self._waiting.discard(answer)

    def after_fork_in_child(self) -> None:
        """Leave those who wait, and the lock, to the parent."""
        self._lock, self._waiting = Lock(), set()

    def close(self) -> None:
        """Tell all who wait, and all who come, that it is closed. Idempotent."""
        with self._lock:
            self._closed = True
            waiting = tuple(self._waiting)
        for each in waiting:
            with suppress(InvalidStateError):
                each.set_exception(_closed())


def _closed() -> Failure:
    return Failure("this embedder is closed", server=False)
