"""A home that this user may read and not write: it recalls, or says why not, and nothing hangs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from tests.engine.moving import FILES

from ringwood.engine.sqlite import open_engine
from ringwood.engine.sqlite.engine import tier_paths
from ringwood.engine.sqlite.read_only import ReadOnlyEngine
from ringwood.errors import BusyError, ReadOnlyError
from ringwood.memory import Memory

if os.name == "nt":
    pytest.skip("POSIX modes", allow_module_level=True)

STRANGER = 65534
"""A user who owns nothing here."""
WITHOUT_POWERS = ("setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner,-chown")
"""Root as a user like any other: files of others are closed to it by their modes."""


def others() -> tuple[str, ...]:
    """Start a process for which modes count; the test is skipped where that cannot be had."""
    if os.geteuid() != 0:
        return ()
    if shutil.which("setpriv") is None:
        pytest.skip("root may write everything, and there is no setpriv to take that away")
    return WITHOUT_POWERS


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A home with a note, closed by the owner, which only another user may write."""
    home = tmp_path / "home"
    with Memory.open(home, embedder="hashing", wait_s=10.0) as memory:
        memory.store("# Pump\n\nThe pump leaks near the valve.\n", source="note")
        memory.wait(10.0)
    yield home
    give(home, os.geteuid(), 0o700, 0o600)


def give(home: Path, owner: int, folder_mode: int, file_mode: int) -> None:
    """Hand a home to a user; where that cannot be done, take the right to write instead."""
    for path in [home, *home.rglob("*")]:
        path.chmod(folder_mode if path.is_dir() else file_mode)
        if os.geteuid() == 0:
            os.chown(path, owner, owner)


def take_away(home: Path) -> None:
    """Leave this user nothing but to read."""
    give(home, STRANGER, 0o555, 0o444)


def ringwood(home: Path, *arguments: str, stdin: bytes = b"") -> tuple[int, dict[str, object], str]:
    """Run a command as a user for whom modes count."""
    environ = {k: v for k, v in os.environ.items() if not k.startswith("RINGWOOD_")}
    done = subprocess.run(
        [*others(), sys.executable, "-m", "ringwood", *arguments, "--space", "global", "--json"],
        env=environ | {"RINGWOOD_HOME": str(home), "RINGWOOD_EMBEDDER": "hashing"},
        input=stdin,
        capture_output=True,
        timeout=60,
        check=False,
    )
    told = json.loads(done.stdout) if done.stdout else {}
    return done.returncode, told, done.stderr.decode()


def contents(home: Path) -> dict[str, bytes]:
    """Read every file; nobody has one open."""
    return {str(p.relative_to(home)): p.read_bytes() for p in home.rglob("*") if p.is_file()}


def test_reading_works_and_leaves_every_byte(home: Path, tmp_path: Path) -> None:
    with Memory.open(home) as memory:
        logged = memory.recall("pump").recall_id
    before = contents(home)
    take_away(home)
    code, told, _ = ringwood(home, "recall", "pump valve", "--why")
    assert code == 0
    hits = told["hits"]
    assert isinstance(hits, list)
    assert hits[0]["signals"]["cosine"] is not None
    for command in (
        ["stats"],
        ["tree"],
        ["show", "global:/pump"],
        ["recent"],
        ["spaces"],
        ["explain", logged],
        ["config", "budget.max_nodes"],
        ["index", str(tmp_path / "index.md")],
        ["forget", "global:/pump", "--dry-run"],
        ["rotate", "--dry-run"],
        ["dream", "--dry-run"],
    ):
        assert ringwood(home, *command)[0] == 0, command
    looked = ringwood(home, "verify")[1]
    assert looked["documents"] == 1  # it looks, and finds that others can read these files
    foretold = ringwood(home, "verify", "--mend", "--dry-run")[1]
    assert foretold["counts"] == looked["counts"] == {"mode": foretold["mended"]}
    assert ringwood(home, "export", str(tmp_path / "a.jsonl"))[0] == 0
    assert ringwood(home, "backup", str(tmp_path / "backup"))[0] == 0
    give(home, os.geteuid(), 0o700, 0o600)
    assert contents(home) == before
    assert ringwood(tmp_path / "backup", "recall", "pump valve")[0] == 0


def test_writing_is_refused_with_an_error_of_its_own_and_at_once(home: Path) -> None:
    before = contents(home)
    take_away(home)
    note = home.parent / "note.md"
    note.write_text("# Other\n\ntext\n")
    for command in (
        ["store", str(note)],
        ["import", str(note)],
        ["forget", "global:/pump", "--yes"],
        ["compact"],
        ["rotate"],
        ["dream"],
        ["dream", "--undo"],
        ["verify", "--mend"],
        ["pause"],
        ["config", "budget.max_nodes", "7"],
        ["init"],
    ):
        code, told, _ = ringwood(home, *command)
        assert code == 3, command
        error = told["error"]
        assert isinstance(error, dict)
        assert error["code"] == "read_only", (command, error)
        assert error["mend"]
    give(home, os.geteuid(), 0o700, 0o600)
    assert contents(home) == before


def test_the_same_commands_write_where_they_may(home: Path) -> None:
    """The control: it is the modes that keep them from it."""
    note = home.parent / "note.md"
    note.write_text("# Other\n\ntext\n")
    assert ringwood(home, "store", str(note))[0] == 0
    assert ringwood(home, "forget", "global:/pump", "--yes")[0] == 0


def test_a_log_that_may_not_be_brought_in_is_said(home: Path) -> None:
    script = (
        "import os, sys\nfrom ringwood.memory import Memory\n"
        "memory = Memory.open(sys.argv[1], embedder='words', wait_s=0.0)\n"
        "memory.store('written and then killed')\nos.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(home)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert (home / "memory.db-wal").stat().st_size
    (home / "memory.db-shm").unlink()
    give(home, STRANGER, 0o555, 0o444)
    code, told, _ = ringwood(home, "recall", "killed")
    if code:
        error = told["error"]
        assert isinstance(error, dict)
        assert error["code"] == "read_only"
        assert "owner" in error["mend"]
    else:  # SQLite found a way to read the log: then nothing of it may be missing
        assert told["hits"]
    give(home, os.geteuid(), 0o700, 0o600)
    assert ringwood(home, "recall", "killed")[0] == 0


def test_a_read_only_file_system_recalls(home: Path, tmp_path: Path) -> None:
    mount, unshare = shutil.which("mount"), shutil.which("unshare")
    if os.geteuid() != 0 or mount is None or unshare is None:
        pytest.skip("needs the right to mount")
    place = tmp_path / "mounted"
    place.mkdir()
    bound = f"mount --bind '{home}' '{place}' && mount -o remount,ro,bind '{place}'"
    if subprocess.run([unshare, "-m", "sh", "-c", bound], capture_output=True).returncode:
        pytest.skip("may not mount here")
    run = f"{bound} && exec '{sys.executable}' -m ringwood --home '{place}' --space global --json "
    code = {
        line: subprocess.run(
            [unshare, "-m", "sh", "-c", run + line], capture_output=True, timeout=60, check=False
        )
        for line in ("recall 'pump valve'", f"store '{__file__}'", "stats")
    }
    assert [done.returncode for done in code.values()] == [0, 3, 0]
    assert b"read_only" in code[f"store '{__file__}'"].stdout


def test_hooks_stay_silent_and_quick(home: Path, tmp_path: Path) -> None:
    take_away(home)
    event = {
        "session_id": "s",
        "transcript_path": None,
        "cwd": str(tmp_path),
        "hook_event_name": "UserPromptSubmit",
        "prompt": "Why does the pump leak near the valve?",
    }
    environ = os.environ | {"RINGWOOD_HOME": str(home), "RINGWOOD_SERVE_IDLE_S": "1"}
    begun = time.monotonic()
    done = subprocess.run(
        [*others(), sys.executable, "-m", "ringwood", "hook", "claude-code"],
        input=json.dumps(event).encode(),
        env=environ,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout == b""
    assert b"Traceback" not in done.stderr
    assert time.monotonic() - begun < 30


def read_while_written(engine: ReadOnlyEngine, home: Path) -> None:
    with engine.reading():
        writer = apsw.Connection(str(home / "memory.db"))
        writer.execute("UPDATE documents SET seen = seen + 1")
        writer.close()


def test_an_answer_that_a_write_overtook_is_none(home: Path) -> None:
    """Here the owner is this very process: what counts is that the file changes under a reader."""
    engine = ReadOnlyEngine(tier_paths(home))
    with engine.reading() as reader:  # the control
        assert reader.documents_per_space() == {"global": 1}
    with pytest.raises(BusyError, match="while it was read"):
        read_while_written(engine, home)
    with pytest.raises(ReadOnlyError), engine.writing():
        pass
    engine.close()


def test_a_cold_tier_that_can_only_be_read_does_not_stop_the_rest(
    home: Path, tmp_path: Path
) -> None:
    others()
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    (home / FILES["cold"]).rename(shelf / "cold.db")
    give(shelf, STRANGER, 0o555, 0o444)
    (home / "config.toml").write_text(f"[tiers]\ncold_path = '{shelf / 'cold.db'}'\n")
    code, told, _ = ringwood(home, "stats")
    assert code == 0
    tiers = told["tiers"]
    assert isinstance(tiers, dict)
    assert set(tiers) == {"hot", "warm", "cold"}
    assert ringwood(home, "recall", "pump valve")[0] == 0
    give(shelf, os.geteuid(), 0o700, 0o600)


def test_the_owner_opens_a_home_to_write(home: Path) -> None:
    engine = open_engine(home, create=False)
    assert engine.writable
    engine.close()
