"""Whatever happens to the child, a turn of the real host goes on, and soon."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest
from tests.hosts.conftest import Dsh
from tests.hosts.mock_model import Say
from tests.processes import eventually, is_alive

pytestmark = [pytest.mark.host, pytest.mark.slow]

SOON_S = 3.0
"""From a turn's beginning to its first step, where nothing is waited for: the host takes 0.03 s."""
FIRST_S = 15.0
"""The same in the first turn of a process, which on a loaded machine took the host 3.3 s by itself.
A child that hangs does so for ten minutes; how long it is waited for is tested under Node alone."""

NOTE_PID = "import os; open({file!r}, 'a').write(f'{{os.getpid()}} '); "
GREET = (
    "import sys; sys.stdin.readline(); "
    'print(\'{{"id": 1, "result": {{"protocol": 1, "version": "0"}}}}\', flush=True); '
)
BROKEN = {
    "is killed at once": "import signal; os.kill(os.getpid(), signal.SIGKILL)",
    "never reads and never answers": "import time; time.sleep(600)",
    "is stopped after its greeting": GREET + "import signal; os.kill(os.getpid(), signal.SIGSTOP)",
    "answers what nobody understands": "print('{{', flush=True); import time; time.sleep(600)",
    "ends after its greeting": GREET,
}
"""What stands in for the child: a line of Python each."""


@pytest.mark.parametrize("fault", BROKEN)
def test_a_turn_goes_on_without_a_child_that(fault: str, dsh: Dsh, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    code = (NOTE_PID + BROKEN[fault]).format(file=str(pids))
    dsh.install(command=[sys.executable, "-c", code])

    with dsh.running() as host:
        first = host.ask("one", "Where does the ferry to Vesterholm leave?", Say("At the quay."))
        second = host.ask("one", "And when does it leave for Vesterholm?", Say("At nine."))

    assert (first.answer, second.answer) == ("At the quay.", "At nine.")
    assert first.waited_s < FIRST_S
    assert second.waited_s < SOON_S  # one that did not answer is not waited for again
    assert "turn without memory" in dsh.log()
    assert "Vesterholm" not in dsh.log()
    assert pids.is_file()  # otherwise it never ran
    eventually(lambda: not any(map(is_alive, map(int, pids.read_text().split()))))


def test_where_there_is_no_python_the_plugin_stays_away_and_says_so_once(dsh: Dsh) -> None:
    dsh.install(command=["/nowhere/python", "-m", "ringwood"])

    with dsh.running() as host:
        first = host.ask("one", "Where does the ferry to Vesterholm leave?", Say("At the quay."))
        second = host.ask("one", "And when does it leave for Vesterholm?", Say("At nine."))

    assert (first.answer, second.answer) == ("At the quay.", "At nine.")
    assert first.waited_s < FIRST_S
    assert second.waited_s < SOON_S
    assert dsh.log().count("no memory from here on") == 1


def test_what_was_said_without_a_child_is_taken_in_by_the_next(dsh: Dsh) -> None:
    dsh.install(command=["/nowhere/python", "-m", "ringwood"])
    dsh.ask("one", "The ferry to Vesterholm leaves at nine.", Say("Noted: nine."))
    assert dsh.exchanges() == {}
    dsh.uninstall()
    dsh.install()

    with dsh.running() as host:
        host.ask("two", "Good morning to you.", Say("Good morning."))
        dsh.wait_for_document("dsh:one:8")

    assert set(dsh.exchanges()) == {"dsh:one:8", "dsh:two:8"}


def test_a_child_that_is_killed_is_replaced_and_what_it_acknowledged_is_kept(dsh: Dsh) -> None:
    with dsh.running() as host:
        host.ask("one", "The ferry to Vesterholm leaves at nine.", Say("Noted: nine."))
        [child] = dsh.children()
        os.kill(child, signal.SIGKILL)
        host.ask("one", "It is painted with ochre.", Say("Noted: ochre."))
        dsh.wait_for_document("dsh:one:8")
        while len(dsh.children()) < 2:  # bounded by the life of the host's process
            time.sleep(0.05)
        recalled = host.ask("two", "When does the ferry to Vesterholm leave?", Say("At nine."))

    assert "leaves at nine" in recalled.first
    assert len(dsh.exchanges()) == 3


def test_a_host_that_crashes_leaves_no_child_and_loses_no_finished_turn(dsh: Dsh) -> None:
    with dsh.running() as host:
        host.ask("one", "The ferry to Vesterholm leaves at nine.", Say("Noted: nine."))
        host.kill()

    eventually(lambda: not any(map(is_alive, dsh.children())))
    assert set(dsh.exchanges()) == {"dsh:one:8"}
