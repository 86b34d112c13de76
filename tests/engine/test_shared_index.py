"""An index of a log that could be opened for reading only, once, keeps nobody from writing later.

SQLite shares that index (`-shm`) among the connections of a process. Where it cannot open it to
write, it opens it to read, and stays with that until the last of the connections is closed.
"""

from __future__ import annotations

import ctypes
import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from tests.engine.making import found, store
from tests.engine.moving import FILES

from ringwood.engine.sqlite import open_engine
from ringwood.engine.sqlite.engine import SqliteEngine
from ringwood.errors import StorageError
from ringwood.types import TIERS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="stands in for open(2)")

_HOLD = """
import sys, apsw
held = [apsw.Connection(path) for path in sys.argv[1:]]
for each in held:
    each.execute("SELECT count(*) FROM documents").fetchall()
print(flush=True)
sys.stdin.read()
"""
_OPEN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_int, use_errno=True)


class Opens:
    """Stands in for the call by which SQLite opens files; lets one for an index fail."""

    def __init__(self, below: int) -> None:
        """Fail nothing yet."""
        self._below = _OPEN(below)
        self.ending = b"-shm"
        self.left = 0

    def __call__(self, path: bytes, flags: int, mode: int) -> int:
        """Open a file, unless it is the one that fails."""
        if path.endswith(self.ending) and flags & os.O_RDWR:
            self.left -= 1
            if self.left == 0:
                ctypes.set_errno(errno.EIO)
                return -1
        return int(self._below(path, flags, mode))


@pytest.fixture
def opens() -> Iterator[Opens]:
    system = apsw.VFS("opens", apsw.vfs_names()[0])
    below = system.xGetSystemCall("open")
    assert below is not None
    told = Opens(below)
    called = _OPEN(told)
    system.xSetSystemCall("open", ctypes.cast(called, ctypes.c_void_p).value or 0)
    yield told
    system.xSetSystemCall("open", below)
    system.unregister()


@pytest.fixture(params=["in use", "left over"])
def full_home(home: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A home whose indexes are there: another process has it open, or was killed."""
    engine = open_engine(home, create=True)
    store(engine, "alpha")
    engine.close()
    files = [str(home / name) for name in FILES.values()]
    with subprocess.Popen(
        [sys.executable, "-c", _HOLD, *files], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        if request.param == "left over":
            other.kill()
            other.wait()
        yield home
        other.kill()


def write_everywhere(engine: SqliteEngine) -> None:
    """Take each tier's write lock, and store."""
    for tier in TIERS:
        with engine.writing(tier, timeout_s=1.0):
            pass
    store(engine, "omega")


def test_sqlite_keeps_to_reading_while_a_connection_is_open(full_home: Path, opens: Opens) -> None:
    """The control: what is failed here does what the engine has to get along with."""
    path = str(full_home / "memory.db")
    opens.left = 1
    reader, writer = apsw.Connection(path), apsw.Connection(path)
    reader.execute("SELECT count(*) FROM documents").fetchall()
    with pytest.raises(apsw.ReadOnlyError):
        writer.execute("BEGIN IMMEDIATE")
    reader.close()
    writer.close()
    again = apsw.Connection(path)
    again.execute("BEGIN IMMEDIATE")
    again.close()


@pytest.mark.parametrize("ending", [b"-shm", b"-wal"])
@pytest.mark.parametrize("number", range(1, 9))
def test_whichever_open_fails_once_the_same_process_writes_later(
    full_home: Path, opens: Opens, number: int, ending: bytes
) -> None:
    opens.ending, opens.left = ending, number
    try:
        engine = open_engine(full_home, create=False)
    except StorageError:
        engine = open_engine(full_home, create=False)
    with engine.reading():
        pass
    opens.left = 0

    write_everywhere(engine)

    assert found(engine, "alpha")
    assert found(engine, "omega")
    engine.close()


def test_other_memories_of_the_home_make_way(full_home: Path, opens: Opens) -> None:
    opens.left = 4  # behind the looks at each of the three files
    first = open_engine(full_home, create=False)
    second = open_engine(full_home, create=False)

    write_everywhere(second)
    write_everywhere(first)

    first.close()
    second.close()


def test_a_reading_under_way_is_let_finish_and_the_refusal_passes(
    full_home: Path, opens: Opens
) -> None:
    opens.left = 4
    engine = open_engine(full_home, create=False)

    with engine.reading(), pytest.raises(StorageError) as caught, engine.writing(timeout_s=1.0):
        pass

    assert caught.value.code == "storage"
    write_everywhere(engine)
    engine.close()
