"""A backup opens as a home and holds all of one moment, whatever others do meanwhile."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.cases.commands import Command
from tests.databases import database_of
from tests.engine.moving import FILES
from tests.faults import tracing
from tests.upkeep.aged import rotated
from tests.upkeep.shut import nothing_opens
from tests.upkeep.whole import exported, fill
from tests.write.saying import say

from ringwood import config
from ringwood.capture import spool
from ringwood.errors import FullError, NoHomeError, StorageError, UsageError
from ringwood.memory import Memory


@pytest.fixture
def whole(tmp_path: Path) -> Iterator[Memory]:
    """A home with some of everything in it."""
    with Memory.open(tmp_path / "home", embedder="hashing", wait_s=0.0) as memory:
        fill(memory)
        yield memory


def opened(target: Path) -> Memory:
    return Memory.open(target, wait_s=0.0)


def test_a_backup_exports_the_same_bytes_and_is_whole(whole: Memory, tmp_path: Path) -> None:
    before = exported(whole)
    done = whole.backup(tmp_path / "backup")
    with opened(tmp_path / "backup") as backup:
        assert exported(backup) == before
        assert backup.verify().findings == ()
        assert backup.recall("垫片").hits[0].tier == "warm"
        backup.store("the backup is a home of its own")
    assert exported(whole) == before
    assert set(done.tiers) == set(FILES)
    assert done.mirror_files == len(list((tmp_path / "home" / "mirror").rglob("*.md")))


def test_everything_in_it_is_its_owners_alone(whole: Memory, tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        whole.backup(tmp_path / "a" / "backup")
    finally:
        os.umask(old)
    for path in (tmp_path / "a").rglob("*"):
        expected = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == expected, path


def test_keys_are_not_in_it_and_no_file_is_shared_with_the_original(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    config.set_value(str(home), "tiers.cold_path", str(tmp_path / "elsewhere.db"))
    config.set_value(str(home), "embed.ollama_url", "http://localhost:11434")
    with Memory.open(home, embedder="words", wait_s=0.0) as memory:
        memory.store("old", at=datetime.now(UTC) - timedelta(days=900))
        memory.rotate()
        for name in ("credentials.toml", "http-token"):
            (home / name).write_text("canary")
        memory.backup(tmp_path / "backup")
    (tmp_path / "elsewhere.db").unlink()
    names = {path.name for path in (tmp_path / "backup").iterdir()}
    assert names == {*FILES.values(), "mirror", "config.toml"}
    assert config.setting(str(tmp_path / "backup"), "tiers.cold_path").value is None
    assert config.setting(str(tmp_path / "backup"), "embed.ollama_url").origin == "config.toml"
    with opened(tmp_path / "backup") as backup:
        assert backup.recall("old").hits[0].tier == "cold"


def test_what_waits_in_the_spool_is_stored_from_the_backup(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "home", embedder="words", wait_s=0.0) as memory:
        memory.store("something")
        say(memory.home, "person", "Why does the pump leak?")
        say(memory.home, "assistant", "The gasket is worn.", sequence="2")
        assert memory.backup(tmp_path / "backup").spool_files == 2
        assert spool.waiting(memory.home)
    with opened(tmp_path / "backup") as backup:
        backup.take_in(everything=True)
        assert backup.recall("gasket").hits


def test_no_document_is_missing_or_doubled_while_rotations_and_stores_go_on(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    now = datetime.now(UTC)
    with Memory.open(home, embedder="words", wait_s=0.0) as memory:
        for number in range(60):
            memory.store(f"note {number} of many", source=str(number), at=now)
    over = threading.Event()
    failed: list[BaseException] = []

    def disturb() -> None:
        ages, number = (0.0, 60.0), 0
        try:
            with (
                Memory.open(home, embedder="words", wait_s=0.0) as other,
                database_of(other) as engine,
            ):
                while not over.is_set():
                    number += 1
                    later = now + timedelta(days=ages[number % 2])
                    rotated(engine, later)
                    other.store(f"meanwhile {number}", source=f"m{number}", at=now)
        except BaseException as error:  # noqa: BLE001 - told by the test
            failed.append(error)

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        with Memory.open(home, embedder="words", wait_s=0.0) as memory:
            for number in range(8):
                memory.backup(tmp_path / f"backup-{number}")
    finally:
        over.set()
        thread.join()
    assert failed == []
    for number in range(8):
        with opened(tmp_path / f"backup-{number}") as backup:
            lines = exported(backup).splitlines()
            sources = [_source(line) for line in lines if line.startswith(b'{"row":"document"')]
            assert len(sources) == len(set(sources))
            assert {str(i) for i in range(60)} <= set(sources)
            assert [e for e in backup.verify().findings if e.level == "fault"] == []


def _source(line: bytes) -> str:
    source: str = json.loads(line)["source"]
    return source


def test_a_mirror_that_changed_meanwhile_is_written_anew_where_the_backup_is_opened(
    tmp_path: Path,
) -> None:
    with Memory.open(tmp_path / "home", embedder="words", wait_s=5.0) as memory:
        for number in range(3):
            memory.store(f"note {number}", source=str(number))
        memory.wait(10.0)

        def disturb(done: int, total: int) -> None:
            if done == total and not memory.recall("elsewhere now").hits:
                memory.store("elsewhere now", source="1")
                memory.store("new now", source="9")
                memory.forget(source="2")
                memory.wait(10.0)

        memory.backup(tmp_path / "backup", on_page=disturb)
    pages = {path.name for path in (tmp_path / "backup" / "mirror").rglob("*.md")}
    assert "new-now.md" not in pages
    with Memory.open(tmp_path / "backup", wait_s=5.0) as backup:
        assert [each.title for each in backup.recent()] == ["note 2", "note 1", "note 0"]
        backup.recall("note")  # whoever asks in it sees to its mirror
        backup.wait(10.0)
        assert [each for each in backup.verify().findings if each.level == "fault"] == []


# -- what is refused -------------------------------------------------------------------------------


def test_a_target_that_holds_something_is_left_as_it_is(words: Memory, tmp_path: Path) -> None:
    words.store("alpha")
    words.backup(tmp_path / "backup")
    file = tmp_path / "file"
    file.write_text("mine")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere")
    for target in (tmp_path / "backup", file, link, tmp_path):
        with pytest.raises(UsageError, match="holds something"):
            words.backup(target)
    for target in (tmp_path / "home" / "backup", tmp_path / "home" / "mirror" / "b"):
        with pytest.raises(UsageError, match="lies in the home"):
            words.backup(target)
    assert file.read_text() == "mine"
    (tmp_path / "empty").mkdir()
    assert words.backup(tmp_path / "empty").tiers


def test_a_dry_run_and_a_broken_off_backup_leave_nothing(words: Memory, tmp_path: Path) -> None:
    words.store("alpha")
    told = words.backup(tmp_path / "backup", dry_run=True)
    assert told.bytes
    with pytest.raises(KeyboardInterrupt):
        words.backup(tmp_path / "backup", on_page=_interrupt)
    assert [path.name for path in tmp_path.iterdir()] == ["home"]
    assert words.backup(tmp_path / "backup").bytes >= sum(told.tiers.values())


def _interrupt(*_: int) -> None:
    raise KeyboardInterrupt


def test_too_little_room_is_said_before_anything_is_written(words: Memory, tmp_path: Path) -> None:
    words.store("alpha")
    sparse = tmp_path / "home" / "mirror" / "large.md"
    sparse.parent.mkdir(exist_ok=True)
    with sparse.open("wb") as file:
        file.truncate(1 << 43)  # eight terabytes, none of them there
    with pytest.raises(FullError, match="MB are free"):
        words.backup(tmp_path / "backup")
    assert not (tmp_path / "backup").exists()


@pytest.mark.parametrize("fails", ["backup", "spool"])
def test_a_folder_that_cannot_be_looked_into_is_named(
    words: Memory, tmp_path: Path, fails: str
) -> None:
    if fails == "backup":
        (tmp_path / "backup").mkdir()
    else:
        say(words.home, "person", "Why does the pump leak?")
    words.store("something")
    words.backup(tmp_path / "backup", dry_run=True)  # all that is loaded on first use
    with nothing_opens(), pytest.raises(StorageError, match=fails):
        words.backup(tmp_path / "backup")
    words.backup(tmp_path / "backup")


BACK_UP = """
import sys
from ringwood.memory import Memory
with Memory.open(sys.argv[1], embedder="words", wait_s=0.0) as memory:
    memory.backup(sys.argv[2])
"""


def test_a_backup_is_durable_when_it_is_there(words: Memory, tmp_path: Path) -> None:
    if reason := tracing.why_not():
        pytest.skip(reason)
    say(words.home, "person", "Why does the pump leak?")
    words.store("alpha")
    words.wait()
    log, target = tmp_path / "log", tmp_path / "backup"

    def back_up(injected: str) -> tuple[bool, list[str]]:
        """Back up with a sync that fails; say whether that is done, and what was synced."""
        traced = ["strace", "-f", "-y", "-o", str(log), "--trace=fsync", f"--inject={injected}"]
        command = [*traced, sys.executable, "-c", BACK_UP, words.home, str(target)]
        done = subprocess.run(command, capture_output=True, timeout=120, check=False)
        lines = log.read_text("utf-8", "replace").splitlines()
        return done.returncode == 0, [line for line in lines if "fsync(" in line]

    done, synced = back_up("fsync:error=EIO:when=1000")
    assert done
    in_it = [line for line in synced if "backup" in line and "/mirror/" in line]
    assert len([line for line in in_it if line.split(">")[0].endswith(".md")]) == 1
    assert any("/spool/" in line and ".json" in line for line in synced if "backup" in line)

    target.rename(tmp_path / "kept")
    done, again = back_up(f"fsync:error=EIO:when={len(synced)}")  # the folder around it
    assert "INJECTED" in again[-1]
    assert not done
    done, again = back_up("fsync:error=EIO:when=1")  # the folder around the draft, before all else
    assert "INJECTED" in again[-1]
    assert not done
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "kept", "log"]


def test_a_missing_tier_is_missing_in_the_backup_and_said(words: Memory, tmp_path: Path) -> None:
    words.store("alpha")
    (tmp_path / "home" / "memory-cold.db").unlink()
    done = words.backup(tmp_path / "backup")
    assert done.missing_tiers == ("cold",)
    assert not (tmp_path / "backup" / "memory-cold.db").exists()
    with opened(tmp_path / "backup") as backup:
        assert backup.recall("alpha").hits


@pytest.mark.parametrize("known_by", ["source", "document", "address"])
def test_a_home_older_than_a_forgetting_brings_the_text_back_until_it_is_forgotten_again(
    known_by: str, words: Memory, tmp_path: Path
) -> None:
    kept = words.store("The heron stays.")
    gone = words.store("The xylographic heron goes.", source="note")
    named = {"source": "note", "document": gone.document, "address": gone.address}
    words.backup(tmp_path / "backup")
    words.forget(gone.address)
    assert words.store("The xylographic heron goes.", source="note").state == "forgotten"

    with Memory.open(tmp_path / "backup", embedder="words") as older:
        assert [hit.document for hit in older.recall("xylographic").hits] == [gone.document]
        assert older.verify().counts == {}, "it knows nothing of what was forgotten after it"
        given = {key: name if key == known_by else None for key, name in named.items()}
        done = older.forget(given["address"], source=given["source"], document=given["document"])
        assert done.documents == 1

        assert older.recall("xylographic").hits == ()
        assert older.store("The xylographic heron goes.", source="note").state == "forgotten"
        assert [each.path for each in older.recent()] == [kept.path]


def test_there_is_no_backup_of_nothing_or_to_nowhere(words: Memory, tmp_path: Path) -> None:
    with pytest.raises(NoHomeError):
        words.backup(tmp_path / "backup")
    words.store("alpha")
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError):
        words.backup(tmp_path / "file" / "backup")


def test_the_command_backs_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = Command(tmp_path / "home", monkeypatch)
    command("store", stdin=b"# Pump\n\nThe pump leaks.\n")
    dry = command("backup", str(tmp_path / "backup"), "--dry-run", "--json")
    assert (dry.code, dry.json["dry_run"]) == (0, True)
    done = command("backup", str(tmp_path / "backup"), "--json")
    assert (done.code, done.json["mirror_files"]) == (0, 1)
    assert command("backup", str(tmp_path / "backup")).code == 2
    assert Command(tmp_path / "backup", monkeypatch)("recall", "pump").code == 0


# -- no live database is opened as a file ----------------------------------------------------------

LOOK = """
import os, sys
opened = []
def look(event, arguments):
    if event == "open" and str(arguments[0]).endswith((".db", ".db-wal", ".db-shm")):
        place = os.path.dirname(os.path.abspath(os.fsdecode(arguments[0])))
        if place == os.environ["LOOK_AT"]:
            opened.append(arguments[0])
sys.addaudithook(look)
if sys.argv[1] == "--control":
    open(os.path.join(os.environ["LOOK_AT"], "memory.db"), "rb").close()
else:
    from ringwood.serve.cli.app import run
    for line in sys.stdin.read().splitlines():
        run(line.split("\\t"))
sys.exit(f"opened as files: {opened}" if opened else 0)
"""


def test_no_command_opens_a_live_database_as_a_file(tmp_path: Path) -> None:
    home = tmp_path / "home"
    note = tmp_path / "note.md"
    note.write_text("# Note\n\nalpha beta\n")
    commands = [
        ["init"], ["store", str(note)], ["import", str(note)], ["recall", "alpha"], ["stats"],
        ["tree"], ["rotate"], ["dream"], ["compact"], ["verify"], ["reindex"],
        ["export", str(tmp_path / "a.jsonl")], ["backup", str(tmp_path / "backup")],
        ["forget", "--yes"],
    ]  # fmt: skip
    common = ["--home", str(home), "--space", "global", "--quiet"]
    every = "\n".join("\t".join([*line, *common]) for line in commands)
    environ = os.environ | {"LOOK_AT": str(home), "RINGWOOD_EMBEDDER": "words"}

    def look(argument: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", LOOK, argument],
            input=every,
            env=environ,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

    done = look("--run")
    assert (done.returncode, done.stderr) == (0, "")
    control = look("--control")
    assert control.returncode == 1
    assert "memory.db" in control.stderr
