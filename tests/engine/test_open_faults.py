"""What fails at open is said and never taken for damage; what lies beside a file is no trap."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.engine.making import found, store
from tests.engine.moving import FILES

from ringwood.engine.sqlite import open_engine
from ringwood.errors import BusyError, DamagedError, StorageError
from ringwood.memory import Memory

BELOW = apsw.vfs_names()[0]
"""The system's own disk."""

KINDS: dict[str, type[apsw.Error]] = {
    "BUSY": apsw.BusyError,
    "IOERR": apsw.IOError,
    "FULL": apsw.FullError,
    "CANTOPEN": apsw.CantOpenError,
    "CORRUPT": apsw.CorruptError,
}


class Faults:
    """Which call into the disk fails, and how."""

    def __init__(self) -> None:
        """Let nothing fail."""
        self.kind: type[apsw.Error] | None = None
        self.left = 0
        self.struck = 0

    def at(self, kind: type[apsw.Error] | None, number: int) -> None:
        """Let the `number`-th call from now on fail, once."""
        self.kind, self.left, self.struck = kind, number, 0

    def step(self) -> None:
        """Count a call, and fail if it is the one."""
        if self.kind is None:
            return
        self.left -= 1
        if self.left == 0:
            self.struck += 1
            raise self.kind("injected")


class FaultyFile(apsw.VFSFile):
    """A file whose calls count."""

    def __init__(self, faults: Faults, name: Any, flags: list[int]) -> None:  # noqa: ANN401 - apsw's
        """Open it, which counts as well."""
        self._faults = faults
        faults.step()
        super().__init__(BELOW, name, flags)

    def xRead(self, amount: int, offset: int) -> bytes:
        """Read."""
        self._faults.step()
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:
        """Write."""
        self._faults.step()
        super().xWrite(data, offset)

    def xLock(self, level: int) -> None:
        """Lock."""
        self._faults.step()
        super().xLock(level)

    def xFileSize(self) -> int:
        """Measure."""
        self._faults.step()
        return super().xFileSize()


class FaultyDisk(apsw.VFS):
    """What every connection of this process goes through while it is registered."""

    def __init__(self, faults: Faults) -> None:
        """Stand before the system's own."""
        self._faults = faults
        super().__init__("faulty", BELOW, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> FaultyFile:  # noqa: ANN401
        """Open a file."""
        return FaultyFile(self._faults, name, flags)


@pytest.fixture
def full_home(home: Path) -> Path:
    """A closed home with a text."""
    engine = open_engine(home, create=True)
    store(engine, "alpha")
    engine.close()
    return home


@pytest.fixture
def faults(full_home: Path) -> Iterator[Faults]:
    """Faults of the disk under every connection that is opened from now on."""
    told = Faults()
    disk = FaultyDisk(told)
    yield told
    told.at(None, 0)
    disk.unregister()


def contents(home: Path) -> dict[str, bytes]:
    return {name: (home / name).read_bytes() for name in FILES.values()}


def tried(home: Path, faults: Faults, *, create: bool) -> StorageError | tuple[str, ...]:
    """Open a home; give back the tiers that it misses, or why it cannot be opened."""
    try:
        engine = open_engine(home, create=create)
    except StorageError as error:
        return error
    try:
        with engine.reading() as reader:
            return reader.missing_tiers
    except StorageError as error:
        return error
    finally:
        faults.kind = None
        engine.close()


@pytest.mark.parametrize("kind", ["BUSY", "IOERR", "FULL", "CANTOPEN"])
def test_a_fault_at_open_is_no_damage_and_changes_nothing(
    full_home: Path, faults: Faults, kind: str
) -> None:  # res-06
    before, names = contents(full_home), {path.name for path in full_home.iterdir()}
    struck = number = 0
    while number == struck:  # until the open goes through without meeting the fault
        number += 1
        faults.at(KINDS[kind], number)
        told = tried(full_home, faults, create=number % 2 == 0)
        assert not isinstance(told, DamagedError), (number, told)
        if isinstance(told, StorageError):
            assert (kind == "BUSY") == isinstance(told, BusyError), (number, told)
            assert told.mend
        else:
            assert kind == "CANTOPEN" or told == (), (number, told)
        # Whoever keeps the error keeps none of them.
        assert not [c for c in apsw.connections() if Path(c.filename).parent == full_home], number
        struck += faults.struck
        faults.at(None, 0)
    assert struck > 5
    assert contents(full_home) == before
    open_engine(full_home, create=False).close()
    assert {path.name for path in full_home.iterdir()} == names
    engine = open_engine(full_home, create=False)
    with engine.reading() as reader:
        assert reader.missing_tiers == ()
    assert found(engine, "alpha")
    engine.close()


def test_damage_at_open_is_told_from_it(full_home: Path, faults: Faults) -> None:
    """The control of the test above: it would see a fault that is taken for damage."""
    faults.at(KINDS["CORRUPT"], 4)
    with pytest.raises(DamagedError):
        open_engine(full_home, create=False)
    assert faults.struck == 1


# -- what lies beside the file ---------------------------------------------------------------------

KILLED = """
import os, sys
from ringwood.memory import Memory
memory = Memory.open(sys.argv[1], embedder="words", wait_s=0.0)
for text in sys.argv[2:]:
    memory.store(text, source=text)
os.kill(os.getpid(), 9)
"""


def killed(home: Path, *texts: str) -> None:
    """Store texts and die, so that they stand in the log alone."""
    done = subprocess.run([sys.executable, "-c", KILLED, str(home), *texts], check=False)
    assert done.returncode == -signal.SIGKILL
    assert (home / "memory.db-wal").stat().st_size


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_missing_index_of_the_log_is_made_again(home: Path) -> None:
    killed(home, "first", "second")
    (home / "memory.db-shm").unlink()
    engine = open_engine(home, create=False)
    assert found(engine, "second")
    engine.close()


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_log_that_was_cut_off_loses_its_end_and_nothing_before(home: Path) -> None:
    killed(home, *(f"text{number}" for number in range(6)))
    log, size = home / "memory.db-wal", (home / "memory.db-wal").stat().st_size
    whole = home.parent / "whole"
    shutil.copytree(home, whole)
    kept = []
    for tenth in (10, 8, 6, 4, 2, 0):
        shutil.rmtree(home)
        shutil.copytree(whole, home)
        os.truncate(log, size * tenth // 10 + (17 if 0 < tenth < 10 else 0))
        (home / "memory.db-shm").unlink()
        engine = open_engine(home, create=False)
        texts = [bool(found(engine, f"text{number}")) for number in range(6)]
        engine.close()
        assert texts == sorted(texts, reverse=True)  # what is there was stored before what is not
        kept.append(sum(texts))
    assert kept == sorted(kept, reverse=True)
    assert (kept[0], kept[-1]) == (6, 0)


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("garbled", [False, True])
def test_the_log_of_another_database_is_not_merged(
    full_home: Path, tmp_path: Path, garbled: bool
) -> None:
    other = tmp_path / "other"
    killed(other, "foreign")
    log = (other / "memory.db-wal").read_bytes()
    (full_home / "memory.db-wal").write_bytes(os.urandom(len(log)) if garbled else log)
    before = contents(full_home)
    if not garbled:  # each of its frames is right, only not for this file
        with pytest.raises(DamagedError, match="not its own") as caught:
            open_engine(full_home, create=False)
        assert "memory.db-wal" in caught.value.mend
        assert contents(full_home) == before
        (full_home / "memory.db-wal").unlink()
    engine = open_engine(full_home, create=False)
    assert found(engine, "foreign") == ()
    assert found(engine, "alpha")
    store(engine, "omega")
    assert found(engine, "omega")
    engine.close()


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_backup_put_in_the_place_of_a_file_does_not_take_over_its_log(
    home: Path, tmp_path: Path
) -> None:
    with Memory.open(home, embedder="words", wait_s=0.0) as memory:
        memory.store("alpha")
        memory.backup(tmp_path / "backup")
    killed(home, "omega")
    shutil.copyfile(tmp_path / "backup" / "memory.db", home / "memory.db")
    with pytest.raises(DamagedError, match="not its own"):
        open_engine(home, create=False)


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_its_own_log_is_read(home: Path) -> None:
    """The control of the two above."""
    with Memory.open(home, embedder="words", wait_s=0.0) as memory:
        memory.store("alpha")
    killed(home, "omega")
    engine = open_engine(home, create=False)
    assert found(engine, "alpha")
    assert found(engine, "omega")
    engine.close()
