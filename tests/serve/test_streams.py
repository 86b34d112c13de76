"""Standard streams that are closed, full, or whose reader went away."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from ringwood.memory import Memory


@pytest.fixture
def home(tmp_path: Path) -> Path:
    with Memory.open(tmp_path / "home", embedder="words") as memory:
        memory.store("# Queue\n\nThe queue is SQLite.")
    return tmp_path / "home"


def shell(home: Path, line: str) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in which `ringwood` is ours, in a home of words alone."""
    command = shlex.join([sys.executable, "-m", "ringwood"])
    return subprocess.run(
        ["sh", "-c", line.replace("ringwood", command)],
        env={
            **os.environ,
            "RINGWOOD_HOME": str(home),
            "RINGWOOD_EMBEDDER": "words",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


ANSWERS = [
    "recall queue --space global",
    "recall queue --json --space global",
    "--help",
    "--version",
]


@pytest.mark.parametrize("arguments", ANSWERS)
def test_whoever_closes_standard_output_wants_no_answer(home: Path, arguments: str) -> None:
    done = shell(home, f"ringwood {arguments} >&-")

    assert done.returncode == 0
    assert "ringwood:" not in done.stderr


@pytest.mark.parametrize("arguments", [*ANSWERS, "show /nothing --json", "store --help"])
def test_a_reader_that_goes_away_is_no_fault(home: Path, arguments: str) -> None:
    done = shell(home, f"{{ sleep 0.3; ringwood {arguments}; }} | true")

    assert "Error" not in done.stderr
    assert "Exception" not in done.stderr


@pytest.mark.parametrize("arguments", [*ANSWERS, "show /nothing --json"])
def test_an_answer_that_cannot_be_written_is_a_failure_said_in_a_line(
    home: Path, arguments: str
) -> None:
    done = shell(home, f"ringwood {arguments} > /dev/full")

    assert done.returncode == 1
    assert done.stderr.splitlines()[-1:] == [
        "ringwood: The answer cannot be written: No space left on device."
    ]


def test_nothing_is_stored_from_a_closed_standard_input(home: Path) -> None:
    done = shell(home, "ringwood store --json <&-")

    assert done.returncode == 2
    assert "There is no text to store." in done.stdout


def test_init_asks_nothing_where_standard_input_is_closed(tmp_path: Path) -> None:
    done = shell(tmp_path / "new", "ringwood init <&-")

    assert done.returncode == 0
    assert (tmp_path / "new" / "memory.db").is_file()


def test_closed_streams_lend_their_numbers_to_no_file(home: Path) -> None:
    done = shell(home, "echo A fact. | ringwood store --quiet --space global >&- 2>&-")

    assert done.returncode == 0
    assert shell(home, "ringwood recall fact --json --space global").returncode == 0
