"""A process of ours that is killed in the middle of its work, wherever that is on this machine.

How long work takes differs tenfold between machines, so it is seen here first: the moments to
kill at are shares of one run that nobody disturbed.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def killed(command: Sequence[str], filled: Path, home: Path, *, times: int) -> Iterator[Path]:
    """Run a command on copies of a home, and kill it at moments spread over a whole run.

    The command says "go" once it begins to work, and gets the copy's path as its last argument.

    Args:
        command: What to run, without the home.
        filled: The home to copy.
        home: Where each copy is made. The one before it is removed.
        times: Kills, >= 1: the first at once, the last when a whole run would just be over.

    Yields:
        The copy as each kill left it.

    """
    whole_s = _worked_s(command, filled, home, until_s=None)
    for kill in range(times):
        _worked_s(command, filled, home, until_s=whole_s * kill / max(1, times - 1))
        yield home


def _worked_s(command: Sequence[str], filled: Path, home: Path, *, until_s: float | None) -> float:
    """Run it once on a new copy, killed after `until_s` if that is given; say how long it ran."""
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(filled, home)
    with subprocess.Popen(
        [*command, str(home)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "go\n"
        began = time.monotonic()
        if until_s is not None:
            time.sleep(until_s)
            process.kill()
        else:
            assert process.wait() == 0
        return time.monotonic() - began
