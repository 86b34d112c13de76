"""The write-ahead log stays bounded in a long life: whoever reads, and however its writers end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.engine.making import store

from ringwood.engine.base import Engine
from ringwood.engine.sqlite import open_engine
from ringwood.engine.sqlite.compaction import LOG_LIMIT

ROOT = Path(__file__).resolve().parents[2]

READER = """
import sys
from pathlib import Path
from ringwood.engine.sqlite import open_engine
engine = open_engine(Path(sys.argv[1]), create=False)
with engine.reading() as reader:
    print(len(reader.roots("global")), flush=True)
    sys.stdin.readline()
    print(len(reader.roots("global")), flush=True)
engine.close()
"""
WRITER = """
import sys, time
from pathlib import Path
from tests.engine.making import store
from ringwood.engine.sqlite import open_engine
engine = open_engine(Path(sys.argv[1]), create=False)
number = int(sys.argv[2])
while True:
    store(engine, f"note {number}\\n" + f"line of {number} " * 2000)
    print(number, flush=True)
    number += 1000
"""


def log_bytes(home: Path) -> int:
    """Count the bytes of the hot tier's log on disk."""
    log = home / "memory.db-wal"
    return log.stat().st_size if log.exists() else 0


@contextmanager
def reading_elsewhere(home: Path) -> Iterator[subprocess.Popen[str]]:
    """Hold a snapshot in another process; it ends at the latest with the context."""
    command = [sys.executable, "-c", READER, str(home)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline()
            yield process
        finally:
            process.kill()


def release(process: subprocess.Popen[str]) -> int:
    """Let the other process look once more and end; return how many documents it sees."""
    seen, _ = process.communicate("\n")
    assert process.returncode == 0
    return int(seen)


def write_megabytes(engine: Engine, count: int) -> None:
    """Write so much into the log, in texts of a megabyte."""
    for number in range(1000, 1000 + count):
        store(engine, f"note {number} " * 100_000)


def test_a_log_that_a_reader_pinned_is_emptied_by_the_next_write_after_it(
    engine: Engine, home: Path
) -> None:
    store(engine, "first")
    with reading_elsewhere(home) as reader:
        write_megabytes(engine, 30)
        grown = log_bytes(home)
        assert grown > 30_000_000  # the control: it could not be emptied so far
        assert engine.large_logs()["hot"].held
        assert engine.large_logs()["hot"].bytes == grown
        assert release(reader) == 1  # its snapshot was never touched

    assert not engine.large_logs()["hot"].held
    store(engine, "the next")

    assert log_bytes(home) <= LOG_LIMIT
    assert engine.large_logs() == {}


def test_a_log_without_readers_never_outgrows_its_limit_by_more_than_a_transaction(
    engine: Engine, home: Path
) -> None:
    largest = 0
    for number in range(50):
        store(engine, f"note {number} " * 40_000)
        largest = max(largest, log_bytes(home))

    assert 0 < largest <= LOG_LIMIT + 2_000_000
    assert engine.large_logs() == {}


@pytest.mark.parametrize("sessions", [12, pytest.param(200, marks=pytest.mark.slow)])
def test_sessions_that_are_killed_leave_neither_a_long_log_nor_a_gap(
    home: Path, sessions: int
) -> None:
    open_engine(home, create=True).close()
    acknowledged = 0
    for number in range(sessions):
        command = [sys.executable, "-c", WRITER, str(home), str(number)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for _ in range(3):
                assert process.stdout.readline()
            os.kill(process.pid, signal.SIGKILL)
            acknowledged += 3 + len(process.stdout.read().split())
        assert log_bytes(home) <= LOG_LIMIT + 2_000_000

    engine = open_engine(home, create=False)
    with engine.reading() as reader:
        there = len(reader.roots("global"))
    engine.close()
    assert acknowledged <= there <= acknowledged + sessions  # one each may have been unsaid
    assert log_bytes(home) == 0  # the last to close brings all of it into the file
