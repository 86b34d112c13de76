"""The life of a server process: what it does by the clock, and that it ends when it should."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from threading import Timer
from typing import NoReturn

import anyio
from anyio import TASK_STATUS_IGNORED, to_thread
from anyio.abc import TaskStatus

from ringwood.errors import RingwoodError
from ringwood.memory import Memory

_log = logging.getLogger(__name__)

CATCH_UP_S = 30.0
"""Pause between two looks at what hooks left in the spool."""
WAIT_S = 1.0
"""How long closing waits for vectors: whoever opens the home next takes up what is left."""
LEAVE_S = 4.0
"""How long closing may take in all, then the process ends as it is. What was acknowledged is on
the disk; a host gives a server about five seconds."""


@asynccontextmanager
async def alive(memory: Memory, stop: Callable[[], None] | None = None) -> AsyncIterator[None]:
    """Catch up by the clock while the body serves, and end it when a signal comes.

    Args:
        memory: what is served.
        stop: asks the body to end; None: it is cancelled.
    """
    async with anyio.create_task_group() as group:
        await group.start(_end_on_signal, stop or group.cancel_scope.cancel)
        group.start_soon(_catch_up, memory)
        memory.keep_schedule()
        yield
        group.cancel_scope.cancel()


def leave(memory: Memory) -> NoReturn:
    """Close the memory within `LEAVE_S`, and end the process.

    Not by returning: a thread that reads standard input, or waits for a locked database, cannot be
    stopped, and the interpreter would wait for it.
    """
    last_word = Timer(LEAVE_S, os._exit, (0,))
    last_word.daemon = True
    last_word.start()
    try:
        memory.wait_s = WAIT_S
        memory.close()
    except RingwoodError as error:
        _log.warning("not everything was written down: %s", error.code)
    os._exit(0)


async def _end_on_signal(
    stop: Callable[[], None], *, task_status: TaskStatus[None] = TASK_STATUS_IGNORED
) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        async for _ in signals:
            stop()


async def _catch_up(memory: Memory) -> None:
    """Take in what waits in the spool, now and by the clock."""
    while True:
        await to_thread.run_sync(memory.take_in_or_note, abandon_on_cancel=True)
        await anyio.sleep(CATCH_UP_S)
