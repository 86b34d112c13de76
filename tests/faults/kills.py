"""Kill -9 at the N-th write of every workload, and judge what is left by what was acknowledged."""

from __future__ import annotations

import queue
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path

from tests.faults import judge, naive, workloads
from tests.faults.report import Figure, Torture
from tests.faults.tracing import Point, Spoiling, calls_in, spread, tracing, why_not
from tests.faults.warm import Warm

AT_ONCE = 2
"""Trials side by side: as many as the least machine has cores."""
CONTROL_SHARE = 0.02
"""Trials of each control, as a share of all."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found after one trial."""

    point: Point
    """Where the process was killed."""
    killed: bool
    """False: it never came to that call, and ended by itself."""
    problems: tuple[str, ...]
    """What was wrong; none is well."""


class Bench:
    """Warm interpreters, and homes that are prepared once."""

    def __init__(self, folder: Path, warm: Sequence[Warm]) -> None:
        """Take a folder, and interpreters that are entered."""
        self._folder = folder
        self._free: queue.Queue[Warm] = queue.Queue()
        for each in warm:
            self._free.put(each)
        self._numbers = iter(range(1_000_000))

    @contextmanager
    def warm(self) -> Iterator[Warm]:
        """Have an interpreter for oneself."""
        each = self._free.get()
        try:
            yield each
        finally:
            self._free.put(each)

    def prepare(self, name: str) -> Path:
        """Make the home that every trial of a workload begins with."""
        prepared = self._folder / f"prepared-{name.replace(' ', '-')}"
        if not prepared.exists():
            prepared.mkdir()
            with self.warm() as warm:
                code = warm.call(workloads.prepare, name, str(prepared))
            if code != 0:
                raise RuntimeError(f"{name} cannot be prepared: {code}")
        return prepared

    @contextmanager
    def trial(self, prepared: Path) -> Iterator[Path]:
        """Copy what was prepared into a folder of its own."""
        folder = self._folder / f"trial-{next(self._numbers)}"
        shutil.copytree(prepared, folder)
        try:
            yield folder
        finally:
            shutil.rmtree(folder)

    def calls(self, case: Case) -> Counter[str]:
        """Count the calls that a workload makes when nothing happens to it, and judge that."""
        with self.trial(self.prepare(case.like)) as folder, self.warm() as warm:
            with (
                warm.child(case.run, case.name, str(folder)) as child,
                tracing(child.pid, folder / "calls") as strace,
            ):
                child.go()
                strace.wait()
            if child.code != 0:
                raise RuntimeError(f"{case.name} does not run even untouched: {child.code}")
            return calls_in(folder / "calls")

    def kill(self, case: Case, point: Point) -> Verdict:
        """Run a workload, kill it at a call, and judge its home."""
        spoiling = Spoiling(point, "signal=SIGKILL")
        with self.trial(self.prepare(case.like)) as folder, self.warm() as warm:
            with (
                warm.child(case.run, case.name, str(folder)) as child,
                tracing(child.pid, folder / "calls", spoiling) as strace,
            ):
                child.go()
                strace.wait()
            warm.call(case.judge, case.like, str(folder))
            return Verdict(point, child.code == -9, tuple(judge.found_in(folder)))

    def sweep(self, case: Case, points: Iterable[Point], until: float = inf) -> list[Verdict]:
        """Kill at each of these points; at none any more when the time has come."""

        def each(point: Point) -> Verdict | None:
            return self.kill(case, point) if time.monotonic() < until else None

        with ThreadPoolExecutor(AT_ONCE) as lanes:
            return [verdict for verdict in lanes.map(each, points) if verdict is not None]


@dataclass(frozen=True, slots=True)
class Case:
    """A workload, or a control of one."""

    name: str
    """How its module knows it."""
    run: Callable[[str, str], None]
    """What the child does."""
    like: str
    """The workload as which it is prepared and judged."""
    judge: Callable[[str, str], None] = judge.judge
    """Who judges."""


def case_of(name: str) -> Case:
    """Return a workload as a case."""
    return Case(name, workloads.run, name)


def control_of(name: str) -> Case:
    """Return a control as a case."""
    control = naive.CONTROLS[name]
    return Case(name, naive.run, control.like, control.judge)


@contextmanager
def bench(folder: Path) -> Iterator[Bench]:
    """Open a bench.

    Raises:
        RuntimeError: when nothing can be traced here.
    """
    if reason := why_not():
        raise RuntimeError(reason)
    with ExitStack() as open_ones:
        yield Bench(folder, [open_ones.enter_context(Warm()) for _ in range(AT_ONCE)])


def torture(options: Torture, say: Callable[[str], None]) -> Iterable[Figure]:
    """Kill every workload, and every control."""
    until = time.monotonic() + options.minutes * 60
    left = len(workloads.WORKLOADS) + len(naive.CONTROLS)
    each = max(1, options.points // len(workloads.WORKLOADS))
    of_a_control = max(1, int(CONTROL_SHARE * options.points))
    with bench(options.folder) as ready:

        def swept(case: Case, points: int) -> list[Verdict]:
            nonlocal left
            chosen = spread(ready.calls(case), points, options.seed)
            now = time.monotonic()  # what is counted first must not use up the share of the trials
            share_s, left = (until - now) / left, left - 1
            return ready.sweep(case, chosen, now + share_s)

        missed: set[str] = set()
        told: dict[str, list[str]] = {name: [] for name in workloads.WORKLOADS}
        for name, control in naive.CONTROLS.items():
            verdicts = swept(control_of(name), of_a_control)
            harmed = sum(map(is_harmed, verdicts))
            found = summed(verdict.problems for verdict in verdicts)
            say(f"control, {name}: {harmed} of {len(verdicts)}: {found}")
            told[control.like].append(f"{name}: {harmed} of {len(verdicts)} trials")
            if not harmed:
                missed.add(control.like)
        for name in workloads.WORKLOADS:
            verdicts = swept(case_of(name), each)
            for wrong in (verdict for verdict in verdicts if verdict.problems):
                say(f"{name}, {wrong.point}: {'; '.join(wrong.problems[:4])}")
            killed = sum(verdict.killed for verdict in verdicts)
            well = not any(verdict.problems for verdict in verdicts)
            yield Figure(
                name=f"kill -9 at a write call: {name}",
                trials=killed,
                result=summed(verdict.problems for verdict in verdicts),
                control="; ".join(told[name]) or "-",
                holds=killed > 0 and well and name not in missed,
            )


def is_harmed(verdict: Verdict) -> bool:
    """Say whether a text came to harm in a trial."""
    return any(map(judge.is_harm, verdict.problems))


def summed(problems: Iterable[Sequence[str]]) -> str:
    """Say in figures what was found over all trials."""
    found = judge.kinds([problem for of_one in problems for problem in of_one])
    named = {kind: found.pop(kind, 0) for kind in judge.HARM} | dict(found)
    return ", ".join(f"{count} {kind}" for kind, count in named.items())
