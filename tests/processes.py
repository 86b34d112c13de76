"""Waiting for what other processes do: that something comes true, that one of them has ended."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE_S = 30.0
"""How long a test waits for what should take a second, on a machine that has much else to do."""


def eventually(condition: Callable[[], object], within_s: float = PATIENCE_S) -> None:
    """Wait until something holds, and fail when it does not."""
    until = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < until, "it did not come true in time"
        time.sleep(0.05)


def is_alive(pid: int) -> bool:
    """Say whether a process runs; one that has ended and was not yet buried does not.

    A process that was told to end, or whose input ended, takes a moment: ask `eventually`.
    """
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
    except ProcessLookupError:
        return False
    except FileNotFoundError:
        return not Path("/proc/self").exists()
    return state[0] not in "ZX"
