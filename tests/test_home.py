"""Where a home may lie, and what a write that fails leaves there."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ringwood import home
from ringwood.errors import HomeError, StorageError, UsageError
from ringwood.memory import Memory


@pytest.mark.parametrize("place", ["/tmp/a\0b", "/tmp/caf\udce9"])
def test_a_path_that_no_database_can_have_is_no_home(place: str) -> None:
    with pytest.raises(HomeError):
        Memory.open(place)


def test_a_working_directory_that_is_gone_is_no_place_to_start_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()

    with pytest.raises(HomeError, match="working directory is gone"):
        Memory.open("home")
    with (
        Memory.open(tmp_path / "home", embedder="words") as memory,
        pytest.raises(UsageError, match="no file or folder"),
    ):
        memory.import_notes([Path()])


@pytest.mark.parametrize("name", ["with space", "记忆 ü 😀", "q?mode=ro&x#y", "new\nline", "%20"])
def test_a_home_may_be_called_anything_else(tmp_path: Path, name: str) -> None:
    with Memory.open(tmp_path / name, embedder="words") as memory:
        memory.store("The canary sings.")
        assert len(memory.recall("canary").hits) == 1


def test_a_write_that_fails_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("old", "utf-8")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    # Around the one call only: the limit holds for pytest's own output, too.
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        home.write_private(str(file), "x" * 100)
        refused = False
    except StorageError:
        refused = True
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)

    assert refused
    assert [each.name for each in tmp_path.iterdir()] == ["config.toml"]
    assert file.read_text("utf-8") == "old"


def test_a_small_file_is_whole_whichever_thread_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "brief.txt"
    whole = {letter * 200_000 for letter in "abc"}
    home.write_private(str(path), "a" * 200_000, synced=False)

    def write(text: str) -> None:
        for _ in range(40):
            home.write_private(str(path), text, synced=False)

    with ThreadPoolExecutor(3) as threads:
        writing = [threads.submit(write, text) for text in whole]
        read = {path.read_text("utf-8") for _ in range(200)}
    for each in writing:
        each.result()

    assert read <= whole
    assert list(tmp_path.iterdir()) == [path]


def test_drafts_of_killed_processes_go_when_the_home_is_opened_and_nothing_else(
    tmp_path: Path,
) -> None:
    with Memory.open(tmp_path, embedder="words") as memory:
        memory.store("A note.")
    killed = (
        "import os, sys\n"
        "from ringwood import home\n"
        "os.replace = lambda *names, **folders: os._exit(9)\n"
        "home.write_private(sys.argv[1], 'half')\n"
    )
    (tmp_path / "sessions").mkdir()
    for name in ("config.toml", "sessions/one.json"):
        path = str(tmp_path / name)
        assert subprocess.run([sys.executable, "-c", killed, path], check=False).returncode == 9
    old = list(tmp_path.rglob("*.new"))
    for draft in old:
        os.utime(draft, (1.0, 1.0))
    young = tmp_path / "config.toml.0f1e2d3c.new"
    young.touch()
    others = [tmp_path / "letter.new", tmp_path / "mirror" / "notes.0f1e2d3c.new"]
    for other in others:
        other.touch()
        os.utime(other, (1.0, 1.0))

    with Memory.open(tmp_path, embedder="words") as memory:
        memory.recall("note")
        memory.wait()

    assert len(old) == 2
    assert sorted(tmp_path.rglob("*.new")) == sorted([young, *others])
