"""What is due is done once for a home, whoever is there to do it and whoever dies of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.processes import eventually

from ringwood.engine.attempts import Attempt
from ringwood.engine.base import Engine
from ringwood.errors import NoHomeError
from ringwood.upkeep.lease import holder_of, holding
from ringwood.upkeep.schedule import (
    LEAST_S,
    SCHEDULE,
    Job,
    Schedule,
    StoppedError,
    Stopping,
    UpkeepOptions,
)

HOUR = timedelta(hours=1)
QUICK = UpkeepOptions(retry_s=0.2, start_delay_s=0.05)


class Counted:
    """Work that counts its runs, and does as told."""

    def __init__(self, *, fails: int = 0) -> None:
        self.runs = 0
        self.fails = fails

    def __call__(self, stopping: Stopping) -> None:
        """Count, and fail as often as told."""
        self.runs += 1
        if self.runs <= self.fails:
            raise LookupError("a secret text")


def note(engine: Engine, *, next_in: timedelta, ago: timedelta = HOUR) -> None:
    """Write down that the job ran some time ago, and when it is due."""
    now = datetime.now(UTC)
    with engine.writing() as writer:
        writer.put_attempts([Attempt("test", "", now - ago, now + next_in)])


def noted(engine: Engine) -> Attempt:
    with engine.reading() as reader:
        attempt = reader.attempt("test")
    assert attempt is not None
    return attempt


def scheduled(
    home: Path, engine: Engine, work: Counted, every_s: float = 3600.0, **options: float
) -> Schedule:
    """Make a schedule of one job."""
    given = UpkeepOptions(**{"retry_s": 0.2, "start_delay_s": 0.05, **options})
    return Schedule(str(home), lambda: engine, [Job("test", every_s, work)], given)


def test_what_is_due_is_done_once_however_often_processes_begin(home: Path, engine: Engine) -> None:
    work = Counted()
    note(engine, next_in=-HOUR)
    begun = [scheduled(home, engine, work).run_due() for _ in range(5)]

    assert begun == [("test",), (), (), (), ()]
    assert work.runs == 1
    assert noted(engine).next_at - noted(engine).at == HOUR


def test_many_restarts_do_not_put_off_what_comes_due(home: Path, engine: Engine) -> None:
    work = Counted()
    for _ in range(5):
        scheduled(home, engine, work).run_due()
    first = noted(engine)
    assert first.next_at - first.at == HOUR, "a new home is left alone for a whole interval"
    assert work.runs == 0

    note(engine, next_in=timedelta(0))
    assert scheduled(home, engine, work).run_due() == ("test",)


def test_a_clock_that_went_back_does_not_keep_a_job_from_its_turn(
    home: Path, engine: Engine
) -> None:
    work = Counted()
    note(engine, next_in=timedelta(days=41), ago=timedelta(days=-40))
    assert scheduled(home, engine, work).run_due() == ("test",)

    note(engine, next_in=HOUR / 2, ago=HOUR / 4)
    assert scheduled(home, engine, work).run_due() == (), "the control: not due"


def test_an_interval_that_was_shortened_counts_from_the_last_run(
    home: Path, engine: Engine
) -> None:
    work = Counted()
    note(engine, next_in=timedelta(hours=5))
    assert scheduled(home, engine, work, every_s=7200.0).run_due() == ()
    assert scheduled(home, engine, work, every_s=1800.0).run_due() == ("test",)


def test_a_job_that_raises_is_noted_and_tried_again_with_a_pause(
    home: Path, engine: Engine
) -> None:
    work = Counted(fails=2)
    note(engine, next_in=-HOUR)
    schedule = scheduled(home, engine, work)
    schedule.run_due()
    failed = noted(engine)
    assert (failed.failures, failed.error) == (1, "LookupError")
    schedule.run_due()
    assert work.runs == 1, "not before its pause is over"

    schedule.start()
    eventually(lambda: work.runs == 3)
    eventually(lambda: noted(engine).failures == 0)
    schedule.stop()
    assert schedule.join(30.0)


def test_a_job_that_raises_keeps_no_other_from_its_turn(home: Path, engine: Engine) -> None:
    bad, good = Counted(fails=99), Counted()
    jobs = [Job("bad", 3600.0, bad), Job("test", 3600.0, good)]
    note(engine, next_in=-HOUR)
    with engine.writing() as writer:
        long_ago = datetime.now(UTC) - HOUR
        writer.put_attempts([Attempt("bad", "", long_ago, long_ago)])

    assert Schedule(str(home), lambda: engine, jobs, QUICK).run_due() == ("bad", "test")
    assert (bad.runs, good.runs) == (1, 1)


def test_what_is_off_is_never_done(home: Path, engine: Engine) -> None:
    work = Counted()
    note(engine, next_in=-HOUR)
    schedule = scheduled(home, engine, work, every_s=0.0)
    schedule.start()
    assert schedule.run_due() == ()
    assert schedule.join(0.0), "there is not even a thread"
    assert work.runs == 0


def test_without_a_task_at_the_start_the_first_run_waits_for_the_interval(
    home: Path, engine: Engine
) -> None:
    late, early = Counted(), Counted()
    note(engine, next_in=-HOUR)
    schedules = [
        scheduled(home, engine, late, start_delay_s=0.0),
        # It comes round again and again: had the other begun, too, it would have had its turn.
        Schedule(str(home), lambda: engine, [Job("control", LEAST_S, early)], QUICK),
    ]
    for schedule in schedules:
        schedule.start()
    eventually(lambda: early.runs >= 3)
    for schedule in schedules:
        schedule.stop()
        assert schedule.join(30.0)
    assert late.runs == 0


def test_nothing_is_done_while_another_holds_the_lease(home: Path, engine: Engine) -> None:
    work = Counted()
    note(engine, next_in=-HOUR)
    with holding(home, SCHEDULE) as held:
        assert held
        assert scheduled(home, engine, work).run_due() == ()
    assert scheduled(home, engine, work).run_due() == ("test",)


def test_a_short_command_stops_in_time_and_leaves_the_rest_due(home: Path, engine: Engine) -> None:
    steps = 0

    def work(stopping: Stopping) -> None:
        nonlocal steps
        while not stopping():
            steps += 1
            time.sleep(0.01)
        raise StoppedError

    note(engine, next_in=-HOUR)
    schedule = Schedule(str(home), lambda: engine, [Job("test", 3600.0, work)], QUICK)
    began = time.monotonic()
    assert schedule.run_due(within_s=0.2) == ("test",)
    assert time.monotonic() - began < 30.0
    assert steps

    left = noted(engine)
    assert (left.failures, left.under_way) == (0, False)
    assert left.is_due(datetime.now(UTC))


def test_where_there_is_no_home_yet_the_thread_waits_for_it(tmp_path: Path) -> None:
    asked = 0

    def engine() -> Engine:
        nonlocal asked
        asked += 1
        raise NoHomeError("none")

    schedule = Schedule(str(tmp_path), engine, [Job("test", 0.1, Counted())], QUICK)
    schedule.start()
    eventually(lambda: asked)
    schedule.stop()
    assert schedule.join(30.0)


# -- several processes -----------------------------------------------------------------------


@contextmanager
def process(home: Path, every_s: float, how: str) -> Iterator[subprocess.Popen[str]]:
    """Start a process that keeps a schedule; ends it with its input."""
    command = [sys.executable, "-m", "tests.upkeep.scheduled", str(home), str(every_s), how]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == "go\n"
        try:
            yield started
        finally:
            if started.poll() is None:
                started.communicate(timeout=30.0)


def told(home: Path, file: str) -> list[int]:
    """List the ids of the processes that wrote a line, in order."""
    lines = home / file
    return [int(line) for line in lines.read_text("utf-8").split()] if lines.exists() else []


def runs(home: Path) -> list[int]:
    """List the processes that did the job."""
    return told(home, "runs")


def wait_for_a_look_of(home: Path, process: subprocess.Popen[str]) -> None:
    """Wait until a process has looked at what is due from now on, and done what it found.

    It notes each look before it looks: with the second note, the first look is over.
    """
    before = told(home, "looks").count(process.pid)
    eventually(lambda: told(home, "looks").count(process.pid) >= before + 2)


def test_two_processes_do_each_job_once(home: Path, engine: Engine) -> None:
    note(engine, next_in=-HOUR)
    with process(home, 3600.0, "note") as one, process(home, 3600.0, "note") as other:
        eventually(lambda: runs(home))
        for each in (one, other):
            wait_for_a_look_of(home, each)
    assert len(runs(home)) == 1


def test_when_the_holder_is_killed_the_next_one_takes_over(home: Path, engine: Engine) -> None:
    note(engine, next_in=-HOUR)
    with process(home, 3600.0, "hang") as first:
        eventually(lambda: runs(home) == [first.pid])
        assert holder_of(home, SCHEDULE) == first.pid
        with process(home, 3600.0, "note") as second:
            wait_for_a_look_of(home, second)
            assert runs(home) == [first.pid], "one at a time"

            first.send_signal(signal.SIGKILL)
            first.wait()
            eventually(lambda: runs(home) == [first.pid, second.pid])
            eventually(lambda: not noted(engine).under_way)
    assert noted(engine).failures == 0


def test_a_job_that_kills_each_process_is_tried_ever_more_seldom(
    home: Path, engine: Engine
) -> None:
    note(engine, next_in=-HOUR)
    for _ in range(2):
        with process(home, 3600.0, "hang") as one:
            eventually(lambda: one.pid in runs(home))
            one.send_signal(signal.SIGKILL)
            one.wait()
    with process(home, 3600.0, "hang") as last:
        eventually(lambda: noted(engine).failures == 2)
        wait_for_a_look_of(home, last)
        assert len(runs(home)) == 2, "the third leaves it alone for a minute"
    assert noted(engine).next_at - noted(engine).at == timedelta(seconds=60)


@pytest.mark.parametrize("how", ["hang", "note", "raise"])
def test_a_process_ends_promptly_with_its_input_whatever_the_job_does(
    how: str, home: Path, engine: Engine
) -> None:
    note(engine, next_in=-HOUR)
    with process(home, 3600.0, how) as one:
        eventually(lambda: runs(home))
        output, _ = one.communicate(timeout=30.0)
    assert one.returncode == 0, output
    assert holder_of(home, SCHEDULE) is None
    assert not noted(engine).under_way
    if how == "raise":
        assert noted(engine).error == "LookupError"
    if how == "hang":
        assert noted(engine).is_due(datetime.now(UTC)), "it goes on with whoever comes next"


def test_the_thread_steps_back_for_others(home: Path, engine: Engine) -> None:
    if sys.platform != "linux":
        pytest.skip("priorities of threads are Linux's")
    nice = []
    note(engine, next_in=-HOUR)

    def work(stopping: Stopping) -> None:
        nice.append(os.getpriority(os.PRIO_PROCESS, 0))

    schedule = Schedule(str(home), lambda: engine, [Job("test", 3600.0, work)], QUICK)
    schedule.start()
    eventually(lambda: nice)
    schedule.stop()
    assert schedule.join(30.0)
    assert nice[0] >= 10
    assert os.getpriority(os.PRIO_PROCESS, 0) < 10, "and nothing else does"
