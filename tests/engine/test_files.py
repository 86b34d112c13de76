"""The files of a home: how they are made, opened, refused and left alone."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import apsw
import pytest
from tests.engine.making import document, found, nodes_of, store
from tests.engine.moving import FILES

from ringwood.engine.base import Engine
from ringwood.engine.sqlite import files, open_engine
from ringwood.engine.sqlite.schema import MIGRATIONS
from ringwood.errors import BusyError, NoHomeError, SchemaError, StorageError, UsageError

MAKE_A_HOME = """
import os, sys
from pathlib import Path
from ringwood.engine.sqlite import files, open_engine
os.umask(int(sys.argv[2], 8))
engine = open_engine(Path(sys.argv[1]), create=True)
with engine.writing() as writer:
    writer.set_meta("k", "v")
with engine.writing("warm") as writer:
    writer.count_access([1])
for path in sorted(Path(sys.argv[1]).iterdir()):
    print(path.name, oct(path.stat().st_mode & 0o777))
"""


@pytest.mark.skipif(os.name == "nt", reason="POSIX modes")
@pytest.mark.parametrize("umask", ["022", "000", "077"])
def test_every_file_is_its_owners_alone(tmp_path: Path, umask: str) -> None:
    home = tmp_path / "new" / "home"
    made = subprocess.run(
        [sys.executable, "-c", MAKE_A_HOME, str(home), umask],
        capture_output=True,
        text=True,
        check=True,
    )
    modes = dict(line.split() for line in made.stdout.splitlines())
    assert set(modes) >= {*FILES.values(), "memory.db-wal", "memory.db-shm", "write.lock"}
    assert set(modes.values()) == {"0o600"}
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_a_home_that_is_not_there_is_not_made_by_reading(tmp_path: Path) -> None:
    for home in (tmp_path / "none", tmp_path):
        with pytest.raises(NoHomeError, match="no memory") as caught:
            open_engine(home, create=False)
        assert "ringwood init" in caught.value.mend
    assert list(tmp_path.iterdir()) == []


def test_a_new_home_has_three_current_files_that_log_ahead(home: Path, engine: Engine) -> None:
    for name in FILES.values():
        connection = apsw.Connection(str(home / name), flags=apsw.SQLITE_OPEN_READONLY)
        assert connection.pragma("journal_mode") == "wal"
        assert connection.pragma("user_version") == len(MIGRATIONS)
        assert connection.pragma("integrity_check") == "ok"
        connection.close()
    assert not list(home.glob("*.new"))


def test_what_was_stored_is_there_when_opened_again(home: Path) -> None:
    engine = open_engine(home, create=True)
    card, nodes = store(engine, "alpha")
    engine.close()
    for create in (True, False):
        engine = open_engine(home, create=create)
        with engine.reading() as reader:
            assert reader.document(card.id) == card
        assert found(engine, "alpha") == (nodes[1].id,)
        engine.close()


@pytest.mark.parametrize("name", FILES.values())
def test_a_newer_schema_is_refused_and_no_byte_is_touched(home: Path, name: str) -> None:  # con-08
    engine = open_engine(home, create=True)
    store(engine, "alpha")
    engine.close()
    newer = apsw.Connection(str(home / name))
    newer.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    newer.pragma("user_version", len(MIGRATIONS) + 1)
    newer.close()  # the version is in the log alone
    before = {f: (home / f).read_bytes() for f in (*FILES.values(), f"{name}-wal")}
    assert before[f"{name}-wal"]
    for create in (False, True):
        with pytest.raises(SchemaError, match="newer Ringwood") as caught:
            open_engine(home, create=create)
        assert "upgrade" in caught.value.mend
    assert {f: (home / f).read_bytes() for f in before} == before


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / "memory.db"))
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    before = (tmp_path / "memory.db").read_bytes()
    with pytest.raises(StorageError, match="another program"):
        open_engine(tmp_path, create=True)
    assert (tmp_path / "memory.db").read_bytes() == before
    assert not (tmp_path / "memory-warm.db").exists()


def test_a_damaged_hot_file_is_reported_and_kept(tmp_path: Path) -> None:
    (tmp_path / "memory.db").write_bytes(b"not a database at all, by any measure" * 200)
    before = (tmp_path / "memory.db").read_bytes()
    for create in (False, True):
        with pytest.raises(StorageError, match="no database") as caught:
            open_engine(tmp_path, create=create)
        assert "mirror" in caught.value.mend
    assert (tmp_path / "memory.db").read_bytes() == before


def test_a_home_removed_under_an_open_engine_is_said_to_be_gone(home: Path, engine: Engine) -> None:
    store(engine, "alpha")
    (home / "memory.db").unlink()
    with pytest.raises(NoHomeError):
        found(engine, "alpha")
    with pytest.raises(NoHomeError):
        store(engine, "beta")
    assert not (home / "memory.db").exists()


def test_a_file_put_back_under_an_open_engine_is_read(home: Path, engine: Engine) -> None:
    store(engine, "alpha")
    engine.erase_traces()
    backup = (home / "memory.db").read_bytes()
    store(engine, "beta")
    copy = home / "copy"
    copy.write_bytes(backup)
    for leftover in ("memory.db-wal", "memory.db-shm"):
        (home / leftover).unlink()
    copy.replace(home / "memory.db")
    assert found(engine, "beta") == ()
    assert found(engine, "alpha") != ()
    store(engine, "gamma")
    assert found(engine, "gamma") != ()


def test_a_closed_engine_says_so(home: Path) -> None:
    engine = open_engine(home, create=True)
    with engine.reading() as reader:
        engine.close()
        assert reader.roots("global") == ()  # who is at it may finish
    engine.close()
    with pytest.raises(UsageError, match="closed"):
        found(engine, "x")
    with pytest.raises(UsageError, match="closed"):
        store(engine, "x")


def test_a_busy_file_is_never_taken_for_damage(home: Path, engine: Engine) -> None:
    other = apsw.Connection(str(home / "memory.db"))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(BusyError), engine.writing(timeout_s=0.05) as writer:
        writer.set_meta("k", "v")
    other.execute("ROLLBACK")
    other.close()
    store(engine, "alpha")
    assert found(engine, "alpha") != ()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write all")
def test_a_read_only_directory_is_a_clear_error(home: Path) -> None:
    open_engine(home, create=True).close()
    home.chmod(0o500)
    try:
        with pytest.raises(StorageError):
            open_engine(home, create=False)
    finally:
        home.chmod(0o700)


def test_a_full_disk_loses_nothing_that_was_acknowledged(home: Path) -> None:
    resource = pytest.importorskip("resource")
    engine = open_engine(home, create=True)
    store(engine, "acknowledged")
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = (home / "memory.db-wal").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 8192, most))
    try:
        with pytest.raises(StorageError) as caught:
            store(engine, "too much\n" * 20_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    assert not isinstance(caught.value, BusyError)
    assert found(engine, "acknowledged") != ()
    assert found(engine, "too") == ()
    store(engine, "afterwards")
    engine.close()
    engine = open_engine(home, create=False)
    assert found(engine, "acknowledged") != ()
    assert found(engine, "afterwards") != ()
    engine.close()


def test_erased_text_is_in_no_file(home: Path, engine: Engine) -> None:
    secret = "sphinxquartz"
    text = "\n".join(f"{secret}{i} {secret}" for i in range(20))
    card = document(2, text, title=f"{secret} title", path=f"/{secret}", source=secret)
    kept_text = "\n".join(f"kept{i} and more" for i in range(2000))
    kept = document(1, kept_text)
    with engine.writing() as writer:  # in one transaction, so that their words share a segment
        writer.put_document(kept, kept_text, nodes_of(kept, kept_text, 1))
        writer.put_document(card, text, nodes_of(card, text, 5000))
    with engine.writing() as writer:
        writer.delete_document(card.id)
    engine.erase_traces()
    for path in home.iterdir():
        seen = subprocess.run(["grep", "-c", secret, str(path)], capture_output=True, check=False)
        assert seen.stdout.strip() == b"0", path
    with engine.reading() as reader:
        assert reader.text_of(kept.id) == kept_text


def test_erasing_tolerates_a_reader(home: Path, engine: Engine) -> None:
    card, _ = store(engine, "alpha")
    with engine.reading() as reader:
        with engine.writing() as writer:
            writer.delete_document(card.id)
        engine.erase_traces()
        assert reader.text_of(card.id) == "alpha"
    engine.erase_traces()
    assert (home / "memory.db-wal").stat().st_size == 0


def test_no_live_database_is_opened_as_a_file() -> None:
    """Closing it would drop the locks that SQLite holds on it in this process."""
    source = Path(files.__file__).parent
    opening = re.compile(r"\bopen\(|\.open\(|fdopen|read_bytes|read_text|copyfile|copy2")
    lines = [
        (path.name, line.strip())
        for path in sorted(source.glob("*.py"))
        for line in path.read_text("utf-8").splitlines()
        if opening.search(line) and "`" not in line
    ]
    assert lines == [
        # the file of the gate
        ("gate.py", "self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)"),
        # the broken file that salvage keeps, where it cannot have a second name
        ("salvage.py", "shutil.copy2(old, kept)"),
        # a copy for a backup, before and after the only connection that it has
        ("transferring.py", "os.close(os.open(path, flags, 0o600))"),
        ("transferring.py", "descriptor = os.open(path, os.O_RDWR)"),
    ]
