"""System calls that kill or fail: strace is attached to a process and spoils the N-th of a kind.

The counts are strace's own: each thread of a process has a count of its own for each kind of call,
and it begins when strace is attached. So a process that waits until it is traced can be spoiled at
the same call again and again, whatever its interpreter did before.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

WRITES = (
    "pwrite64",
    "write",
    "fdatasync",
    "fsync",
    "ftruncate",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "mkdir",
    "mkdirat",
)
"""The calls by which files change. Not `writev`: children acknowledge by it, see `workloads`."""
OPENS = ("openat",)
"""The calls by which files are opened or made."""

_LINE = re.compile(r"^(\d+) +(\w+)\(", re.MULTILINE)
_DETACHES = signal.SIGINT


@dataclass(frozen=True, slots=True)
class Point:
    """One call among those of a process."""

    call: str
    """Its name, for example `pwrite64`."""
    number: int
    """The how manieth of its kind in its thread, from 1."""


@dataclass(frozen=True, slots=True)
class Spoiling:
    """What becomes of a call."""

    point: Point
    """Which one."""
    action: str
    """In strace's words: `signal=SIGKILL`, `error=ENOSPC`."""
    goes_on: bool = False
    """Whether all later ones of its kind fare the same."""

    @property
    def option(self) -> str:
        """How strace is told."""
        when = f"{self.point.number}{'+' if self.goes_on else ''}"
        return f"--inject={self.point.call}:{self.action}:when={when}"


@cache
def why_not() -> str | None:
    """Say why nothing can be traced here; None where it can."""
    if shutil.which("strace") is None:
        return "needs strace"
    probe = subprocess.run(
        ["strace", "-o", os.devnull, "--inject=mkdir:error=EIO:when=1", "true"],
        capture_output=True,
        check=False,
    )
    return None if probe.returncode == 0 else "strace may not trace here"


@contextmanager
def tracing(
    pid: int, log: Path, *spoilings: Spoiling, calls: Collection[str] = WRITES
) -> Iterator[subprocess.Popen[str]]:
    """Trace a process and its threads, and spoil calls of it; leaving lets it go on untouched.

    Yields strace, which ends with the process.

    Args:
        pid: a process that waits for something else than its own calls.
        log: a file that takes one line per call that is traced.
        spoilings: what becomes of which calls.
        calls: which are traced where none is spoiled.
    """
    calls = {each.point.call for each in spoilings} or calls
    command = ["strace", "-f", "-o", str(log), "-p", str(pid)]
    command += [f"--trace={','.join(sorted(calls))}", *(each.option for each in spoilings)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as strace:
        assert strace.stderr is not None
        try:
            told = strace.stderr.readline()
            if "attached" not in told:
                raise RuntimeError(f"strace is not attached: {told}{strace.stderr.read()}")
            yield strace
        finally:
            if strace.poll() is None:
                strace.send_signal(_DETACHES)
            strace.stderr.read()


def calls_in(log: Path) -> Counter[str]:
    """Count the calls of each kind in a log, as many as the busiest thread made."""
    per_thread: Counter[tuple[str, str]] = Counter(_LINE.findall(log.read_text("utf-8", "replace")))
    busiest: Counter[str] = Counter()
    for (_, call), count in per_thread.items():
        busiest[call] = max(busiest[call], count)
    return busiest


def was_spoiled(log: Path) -> bool:
    """Say whether a call was made to fail."""
    return "(INJECTED)" in log.read_text("utf-8", "replace")


def spread(calls: Counter[str], points: int, seed: int) -> list[Point]:
    """Choose calls evenly: each kind gets its share, the rare ones all of theirs, in order.

    Args:
        calls: how many of each kind there are.
        points: how many to choose at most.
        seed: decides which of its stretch of calls stands for it.
    """
    chance = random.Random(seed)
    chosen: list[Point] = []
    kinds = sorted(calls, key=lambda kind: (calls[kind], kind))
    for place, kind in enumerate(kinds):
        count = min(calls[kind], (points - len(chosen)) // (len(kinds) - place))
        stretch = calls[kind] / max(1, count)
        numbers = {1 + int((step + chance.random()) * stretch) for step in range(count)}
        chosen += [Point(kind, number) for number in sorted(numbers)]
    return chosen
