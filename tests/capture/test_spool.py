"""An event that was acknowledged is there, once, whole and in order; what is bad blocks nothing."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ringwood.capture import spool
from ringwood.capture.exchange import Event
from ringwood.errors import StorageError


def event(text: str = "hello", **fields: str | float | None) -> Event:
    given: dict[str, str | float | None] = {
        "host": "codex",
        "session": "s",
        "sequence": "7",
        "kind": "person",
        "text": text,
        "at": 5.25,
    }
    return Event(**{**given, **fields})  # type: ignore[arg-type]


def fields_of(found: Event | None) -> dict[str, object]:
    assert found is not None
    return {name: getattr(found, name) for name in Event.__slots__}


def listing(folder: str | Path) -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir())


@pytest.fixture
def home(tmp_path: Path) -> str:
    return str(tmp_path / "home")


@pytest.fixture
def folder(home: str) -> Path:
    return Path(home) / spool.SPOOL_FOLDER


ODD = (
    "lone \ud800 and \udfff",
    "a\0b",
    "line\u2028separator\u2029",
    "\u202eturned\x1b[2J",
    "🇨🇭👩‍👩‍👧",
    '"\\\n',
)


@pytest.mark.parametrize("text", ODD)
def test_any_text_comes_back_as_it_was(home: str, text: str) -> None:
    before = event(text, session=text, space=f"/undecodable/\udcff{text}")

    assert fields_of(spool.read(home, spool.append(home, before))) == fields_of(before)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(exclude_categories=())), at=st.floats(allow_nan=False))
def test_what_is_read_is_what_was_written(home: str, text: str, at: float) -> None:
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")

    found = spool.read(home, spool.append(home, event(text, at=at)))

    assert found is not None
    # Two surrogates that make a pair come back as their character.
    assert found.text.encode("utf-16", "surrogatepass") == joined.encode("utf-16", "surrogatepass")
    assert found.at == at


def test_ten_million_characters_come_back(home: str) -> None:
    text = "汉字 and words " * 800_000

    found = spool.read(home, spool.append(home, event(text)))

    assert found is not None
    assert found.text == text


def test_the_folder_is_its_owners_alone_and_holds_nothing_else(home: str, folder: Path) -> None:
    name = spool.append(home, event())

    assert stat.S_IMODE(Path(home).stat().st_mode) == 0o700
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
    assert listing(folder) == [name]
    assert listing(home) == [spool.SPOOL_FOLDER]


def test_no_spool_is_an_empty_spool(home: str) -> None:
    assert spool.waiting(home) == []
    assert spool.set_aside(home) == []
    assert spool.read(home, "00000000000000000001-00000000.json") is None
    spool.remove(home, ["00000000000000000001-00000000.json"])
    with spool.draining(home) as mine:
        assert mine
    assert not Path(home).exists()


def test_events_wait_in_the_order_in_which_they_came(home: str) -> None:
    names = [spool.append(home, event(str(number))) for number in range(20)]

    assert spool.waiting(home) == names
    assert [fields_of(spool.read(home, name))["text"] for name in names] == list(
        map(str, range(20))
    )


def test_a_clock_that_is_set_back_changes_no_order(home: str, folder: Path) -> None:
    ahead = f"{2**62:020d}-ffffffff.json"
    spool.append(home, event("first"))
    (folder / spool.waiting(home)[0]).rename(folder / ahead)

    later = [spool.append(home, event()) for _ in range(3)]

    assert spool.waiting(home) == [ahead, *later]
    assert spool.stamp_of(later[0]) == 2**62 + 1


def test_threads_and_processes_append_at_once_and_nothing_is_lost(home: str) -> None:
    code = (
        "import sys\n"
        "from ringwood.capture import spool\n"
        "from ringwood.capture.exchange import Event\n"
        "for number in range(40):\n"
        "    spool.append(sys.argv[1], Event(host='h', session=sys.argv[2], sequence='',"
        " kind='person', text=str(number), at=0.0))\n"
    )
    others = [subprocess.Popen([sys.executable, "-c", code, home, str(n)]) for n in range(3)]
    threads = [
        threading.Thread(
            target=lambda session: [
                spool.append(home, event(str(number), session=session)) for number in range(40)
            ],
            args=(f"thread {number}",),
        )
        for number in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [other.wait() for other in others] == [0, 0, 0]

    heard: dict[str, list[str]] = {}
    for name in spool.waiting(home):
        found = fields_of(spool.read(home, name))
        heard.setdefault(str(found["session"]), []).append(str(found["text"]))
    assert len(heard) == 6
    assert all(said == list(map(str, range(40))) for said in heard.values())


BAD = {
    "nothing": b"",
    "half": b'{"host": "cod',
    "no JSON": b"\xff\xfe\x00",
    "a list": b"[]",
    "other fields": b'{"host": "codex"}',
    "more fields": json.dumps({**fields_of(event()), "more": 1}).encode(),
    "another type": json.dumps({**fields_of(event()), "text": 5}).encode(),
    "another kind": json.dumps({**fields_of(event()), "kind": "system"}).encode(),
    "deep": b"[" * 100_000,
    "a huge number": b"1" * 10_000,
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_event_is_set_aside_with_its_reason_and_blocks_nothing(
    home: str, folder: Path, name: str
) -> None:
    good = spool.append(home, event("good"))
    bad = f"{1:020d}-00000000.json"
    (folder / bad).write_bytes(BAD[name])

    read = [spool.read(home, each) for each in spool.waiting(home)]

    assert [found and found.text for found in read] == [None, "good"]
    assert spool.waiting(home) == [good]
    [(set_aside, reason)] = spool.set_aside(home)
    assert set_aside == bad
    assert reason
    assert (folder / spool.BAD_FOLDER / bad).read_bytes() == BAD[name]


def test_a_folder_in_place_of_an_event_is_set_aside_too(home: str, folder: Path) -> None:
    spool.append(home, event("good"))
    odd = f"{1:020d}-00000000.json"
    (folder / odd).mkdir()

    assert spool.read(home, odd) is None
    assert [name for name, _ in spool.set_aside(home)] == [odd]


@contextmanager
def full_disk() -> Iterator[None]:
    """Let no file of this process grow beyond a few bytes, as on a disk that is full.

    For one call only: what the test's own report goes to may be a file, too.
    """
    resource = pytest.importorskip("resource")
    signal = pytest.importorskip("signal")
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.getsignal(signal.SIGXFSZ)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_full_disk_is_told_and_leaves_nothing_torn(home: str, folder: Path) -> None:
    spool.append(home, event("before"))
    before = listing(folder)

    with full_disk(), pytest.raises(StorageError, match="cannot be kept"):
        spool.append(home, event("x" * 10_000))

    assert listing(folder) == before


def test_a_home_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", "utf-8")

    with pytest.raises(StorageError):
        spool.append(str(tmp_path / "file" / "home"), event())


def test_what_was_removed_waits_no_more(home: str) -> None:
    names = [spool.append(home, event()) for _ in range(3)]

    spool.remove(home, names[:2])
    spool.remove(home, names[:2])

    assert spool.waiting(home) == names[2:]
    assert listing(Path(home) / spool.SPOOL_FOLDER) == names[2:]


def test_a_removal_that_was_cut_short_counts_as_done_and_is_finished(
    home: str, folder: Path
) -> None:
    names = [spool.append(home, event()) for _ in range(3)]
    (folder / "removal").write_text(json.dumps(names[:2]), "utf-8")
    (folder / names[0]).unlink()

    assert spool.waiting(home) == names[2:]
    with spool.draining(home) as mine:
        assert mine
        assert not (folder / names[1]).exists()
        assert not (folder / "removal").exists()
        assert spool.waiting(home) == names[2:]


def test_a_draft_that_nobody_writes_any_more_is_swept_and_a_fresh_one_is_not(
    home: str, folder: Path
) -> None:
    spool.append(home, event())
    old, fresh = folder / "old.json.new", folder / "fresh.json.new"
    old.write_text("torn", "utf-8")
    fresh.write_text("torn", "utf-8")
    os.utime(old, (0, 0))

    with spool.draining(home):
        assert not old.exists()
        assert fresh.exists()
        assert len(spool.waiting(home)) == 1


def test_what_cannot_be_put_in_order_is_told_and_keeps_nobody_out_later(
    home: str, folder: Path
) -> None:
    spool.append(home, event())
    (folder / "removal").mkdir()
    with pytest.raises(StorageError, match="cannot be put in order"), spool.draining(home):
        pass
    (folder / "removal").rmdir()
    with spool.draining(home) as ours:
        assert ours


def test_one_at_a_time_drains(home: str) -> None:
    spool.append(home, event())
    with spool.draining(home) as mine, spool.draining(home) as other:
        assert (mine, other) == (True, False)
        found: list[bool] = []

        def drain() -> None:
            with spool.draining(home) as third:
                found.append(third)

        thread = threading.Thread(target=drain)
        thread.start()
        thread.join()
        code = (
            "import sys\nfrom ringwood.capture import spool\n"
            "with spool.draining(sys.argv[1]) as mine: print(mine)"
        )
        asked = [sys.executable, "-c", code, home]
        done = subprocess.run(asked, capture_output=True, text=True, check=True)
        assert (found, done.stdout) == ([False], "False\n")

    with spool.draining(home) as mine:
        assert mine


def test_who_drains_keeps_nobody_from_speaking(home: str) -> None:
    spool.append(home, event())
    with spool.draining(home):
        spool.append(home, event())

        assert len(spool.waiting(home)) == 2


def test_a_process_that_has_too_many_files_open_sets_nothing_aside(home: str) -> None:
    resource = pytest.importorskip("resource")
    name = spool.append(home, event())
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, before[1]))
    try:
        with pytest.raises(StorageError) as caught:
            spool.read(home, name)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)

    assert isinstance(caught.value.__cause__, OSError)
    assert caught.value.__cause__.errno == errno.EMFILE
    assert spool.waiting(home) == [name]


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that fails to read")
def test_an_event_on_a_disk_that_fails_is_not_set_aside(home: str, folder: Path) -> None:
    name = spool.append(home, event())
    kept = (folder / name).rename(folder / "kept")
    (folder / name).symlink_to("/proc/self/mem")  # reading its first bytes says EIO

    with pytest.raises(StorageError) as caught:
        spool.read(home, name)

    assert isinstance(caught.value.__cause__, OSError)
    assert caught.value.__cause__.errno == errno.EIO
    assert spool.set_aside(home) == []
    kept.replace(folder / name)
    assert fields_of(spool.read(home, name)) == fields_of(event())
