"""A file is replaced whole or not at all, and a refusal of the disk says what mends it."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.faults import tracing

from ringwood.durable import draft_of, replacing, sync_folder, sync_tree
from ringwood.errors import FullError, ReadOnlyError, StorageError, refusal

REPLACE = """
import sys
from ringwood.durable import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"new")
"""
SYNC = """
import sys
from ringwood.durable import sync_folder, sync_tree
{"folder": sync_folder, "tree": sync_tree}[sys.argv[1]](sys.argv[2])
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with something in it, alone in its folder."""
    path = tmp_path / "notes.txt"
    path.write_bytes(b"old")
    return path


def under(injected: str, code: str, *arguments: str) -> tuple[int, str]:
    """Run Python code with one system call spoiled; return how it ended, and its last words."""
    if reason := tracing.why_not():
        pytest.skip(reason)
    call = injected.split(":")[0]
    traced = ["strace", "-f", "-o", os.devnull, f"--trace={call}", f"--inject={injected}"]
    done = subprocess.run(
        [*traced, sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stderr


def test_a_file_takes_its_name_when_it_is_whole(file: Path) -> None:
    with replacing(str(file)) as opened:
        opened.write(b"new")
        opened.flush()
        assert file.read_bytes() == b"old"
        assert len(list(file.parent.iterdir())) == 2
    assert file.read_bytes() == b"new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(file.parent.iterdir()) == [file]


def test_whoever_is_interrupted_leaves_the_old_file_alone(file: Path) -> None:
    def write() -> None:
        with replacing(str(file)) as opened:
            opened.write(b"new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert file.read_bytes() == b"old"
    assert list(file.parent.iterdir()) == [file]


def test_no_draft_has_the_name_of_another_or_follows_a_link(file: Path) -> None:
    assert len({draft_of(str(file)) for _ in range(100)}) == 100
    planted = file.with_name("planted")
    planted.symlink_to(file)
    with pytest.raises(FileExistsError), replacing(str(file), draft=str(planted)):
        pass
    assert file.read_bytes() == b"old"
    assert planted.is_symlink()


@pytest.mark.parametrize("call", ["fsync", "rename"])
@pytest.mark.parametrize("error", ["ENOSPC", "EIO", "EDQUOT"])
def test_a_step_that_fails_leaves_the_old_file_and_no_draft(
    file: Path, call: str, error: str
) -> None:
    code, told = under(f"{call}:error={error}:when=1", REPLACE, str(file))
    assert code != 0
    assert os.strerror(getattr(errno, error)) in told
    assert file.read_bytes() == b"old"
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("error", ["EINVAL", "EIO"])
def test_only_a_file_system_that_knows_no_sync_of_folders_is_excused(
    file: Path, error: str
) -> None:
    code, told = under(f"fsync:error={error}:when=2", REPLACE, str(file))
    assert (code == 0) == (error == "EINVAL"), told
    assert file.read_bytes() == b"new"
    assert list(file.parent.iterdir()) == [file]


def test_every_file_and_folder_of_a_tree_is_synced(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").write_bytes(b"x")
    for number in range(1, 5):  # the file, and three folders
        code, told = under(f"fsync:error=EIO:when={number}", SYNC, "tree", str(tmp_path))
        assert code != 0, told
    assert under("fsync:error=EIO:when=5", SYNC, "tree", str(tmp_path))[0] == 0
    sync_tree(str(tmp_path))


def test_a_folder_is_synced_by_path_and_by_descriptor(tmp_path: Path) -> None:
    sync_folder(str(tmp_path))
    handle = os.open(tmp_path, os.O_RDONLY)
    try:
        sync_folder(handle)
    finally:
        os.close(handle)
    with pytest.raises(FileNotFoundError):
        sync_folder(str(tmp_path / "gone"))


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, FullError),
        (errno.EDQUOT, FullError),
        (errno.EROFS, ReadOnlyError),
        (errno.EACCES, ReadOnlyError),
        (errno.EPERM, ReadOnlyError),
        (errno.EIO, StorageError),
        (errno.EMFILE, StorageError),
    ],
)
def test_a_refusal_is_of_the_class_of_what_mends_it(number: int, kind: type[StorageError]) -> None:
    cause = OSError(number, os.strerror(number))
    told = refusal(cause, "The file cannot be written", mend="look at it", meanwhile="all is safe")
    assert type(told) is kind
    assert told.message == f"The file cannot be written: {os.strerror(number)}."
    assert told.mend.endswith("; all is safe")
    assert (kind is StorageError) == told.mend.startswith("look at it")
