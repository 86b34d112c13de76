"""The command index: a list of the space in a file of somebody else."""

from __future__ import annotations

import json
import resource
import signal
from pathlib import Path

import pytest

from ringwood.memory import Memory
from ringwood.serve.cli.app import run

PERSONS = b"# Rules\r\n\r\nNever push on Fridays.\xff"


@pytest.fixture
def agents(words: Memory, tmp_path: Path) -> Path:
    """A person's file beside a memory of three documents in two spaces."""
    words.store("# Home\n\nPrivate.")
    app = words.within(space="app")
    app.store("# Queue\n\nSQLite.", path="/design/queue")
    app.store("# Cache\n\nNone.", path="/design/cache")
    file = tmp_path / "AGENTS.md"
    file.write_bytes(PERSONS)
    file.chmod(0o640)
    return file


def index(words: Memory, *arguments: str) -> int:
    return run(["--home", str(words.home), "--space", "app", "index", *arguments])


def test_the_list_is_put_in_kept_up_to_date_and_taken_out(words: Memory, agents: Path) -> None:
    assert index(words, str(agents)) == 0
    text = agents.read_bytes()
    assert text.startswith(PERSONS + b"\r\n<!-- ringwood:begin")
    assert b"- app:/design (2 documents)" in text
    assert b"Home" not in text
    inode = agents.stat().st_ino
    assert index(words, str(agents)) == 0
    assert agents.stat().st_ino == inode  # the same again writes nothing

    words.within(space="app").store("# Load\n\nLow.", path="/reports/load")
    index(words, str(agents))
    assert b"- app:/reports (1 document)" in agents.read_bytes()
    index(words, str(agents), "--remove")

    assert agents.read_bytes() == PERSONS
    assert agents.stat().st_mode & 0o777 == 0o640
    assert [each.name for each in agents.parent.iterdir() if each.name.startswith(".AGENTS")] == []


def test_a_dry_run_writes_nothing(
    words: Memory, agents: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index(words, str(agents), "--dry-run", "--json")

    assert json.loads(capsys.readouterr().out)["changed"] is True
    assert agents.read_bytes() == PERSONS


def test_a_link_to_the_file_stays_a_link(words: Memory, agents: Path) -> None:
    link = agents.parent / "CLAUDE.md"
    link.symlink_to(agents.name)

    index(words, str(link))

    assert str(link.readlink()) == agents.name
    assert b"ringwood:begin" in agents.read_bytes()


def test_the_list_is_not_taken_in_as_a_note(words: Memory, agents: Path) -> None:
    agents.write_bytes(PERSONS[:-1])
    index(words, str(agents))

    words.import_notes([agents])
    again = words.import_notes([agents])

    assert again.imported.unchanged == 1
    assert words.read("/rules").source == PERSONS[:-1].decode()


def test_a_broken_marker_is_refused_and_nothing_written(words: Memory, agents: Path) -> None:
    agents.write_bytes(PERSONS + b"\n<!-- ringwood:begin -->\n")

    assert index(words, str(agents)) == 2
    assert agents.read_bytes() == PERSONS + b"\n<!-- ringwood:begin -->\n"


def test_a_disk_that_is_full_leaves_the_file_as_it_was_and_no_draft(
    words: Memory, agents: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index(words, str(agents))
    before = agents.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    # Around the one call only: the limit holds for pytest's own output, too.
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        code = index(words, str(agents), "--remove")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)

    assert code == 2
    assert "File too large" in capsys.readouterr().err
    assert agents.read_bytes() == before
    assert [each.name for each in agents.parent.iterdir() if "AGENTS" in each.name] == [agents.name]


def test_a_link_that_leads_to_itself_is_refused(
    words: Memory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    link = tmp_path / "CLAUDE.md"
    link.symlink_to(link)

    assert index(words, str(link)) == 2
    assert "symbolic links" in capsys.readouterr().err
    assert link.is_symlink()
