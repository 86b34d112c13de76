"""Fail the N-th write, sync, open or rename: it is said, nothing is lost, and work goes on.

Three ways of being at work are tried. A process that has the home open meets the fault, is asked
something meanwhile, and does its work when the fault is gone. Another opens the home only under the
fault. And the command is to answer in one JSON object, whatever fails.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from math import inf
from pathlib import Path
from typing import Literal

from tests.faults import judge
from tests.faults.kills import AT_ONCE, Bench, bench, summed
from tests.faults.log import Log, lines_of
from tests.faults.report import Figure, Torture
from tests.faults.tracing import (
    OPENS,
    WRITES,
    Point,
    Spoiling,
    calls_in,
    spread,
    tracing,
    was_spoiled,
)
from tests.faults.warm import PATIENCE_S, Child, wait_to_go
from tests.faults.workloads import (
    BACKUP,
    EXPORT,
    HOME,
    KNOWN,
    NOTES,
    SMALL,
    WAIT_S,
    Step,
    named,
    note,
)

from ringwood.errors import RingwoodError
from ringwood.memory import Memory
from ringwood.names import GLOBAL
from ringwood.serve.cli.app import run as run_command

ERRORS = ("ENOSPC", "EIO", "EDQUOT")
_NO_ROOM = ("ENOSPC", "EDQUOT")
Way = Literal["open", "opening", "command"]
"""`open`: the home is open before; `opening`: it is opened under the fault."""

_POLL_S = 0.005
_TICK_S = 0.1
_OUT, _ERR = "out", "err"
_COMMANDS = {
    "few stored": ["store", f"{NOTES}/zq000k.md", "--source", "zq000k"],
    "few imported": ["import", NOTES],
    "few rotated": ["rotate"],
    "few compacted": ["compact"],
    "few dreamed of": ["dream"],
    "few recalled": ["recall", KNOWN],
    "few forgotten": ["forget", f"{GLOBAL}:/note-zq000k", "--yes"],
    "few exported": ["export", EXPORT],
    "few backed up": ["backup", BACKUP],
}
"""What a person would type for a workload."""
_AFTERWARDS = {"few stored": note("zq000k"), "few forgotten": None}
"""What is to be found of `zq000k` after a command that changes it."""
_PLACE = dict.fromkeys(("few stored", "few imported", "few recalled"), ("--space", GLOBAL))
"""Where the workload itself works."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One call that fails."""

    point: Point
    """Which."""
    error: str
    """With what."""
    goes_on: bool
    """Whether all later ones of its kind fail, too."""
    way: Way
    """Who meets it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one fault."""

    fault: Fault
    """Which."""
    hit: bool
    """False: it never came to that call."""
    errors: tuple[str, ...]
    """Codes of the errors that the caller got."""
    problems: tuple[str, ...]
    """What was wrong; none is well."""


# -- what the children do --------------------------------------------------------------------------


def work(name: str, trial: str, way: Way) -> None:
    """Do a workload twice under a fault and once when it is gone, telling what happens."""
    folder = Path(trial)
    step, log = named(name).run, Log(folder)
    memory = Memory.open(folder / HOME, embedder=named(name).embedder, wait_s=WAIT_S)
    if way == "open":
        memory.recall(KNOWN)
        memory.wait()
    _stop(log)
    for _ in range(2):
        _attempt(step, memory, log, folder)
    _ask(memory, log, strictly=way == "open")
    _stop(log)
    for trouble in memory.stats().notes:
        if "while catching up" in trouble:
            log.note("problem", f"untyped: {trouble}")
    if not _attempt(step, memory, log, folder):
        log.note("problem", "stuck: it fails still")
    elif not _settles(memory):
        log.note("problem", f"stuck: {memory.stats().notes}")
    memory.close()


def work_carelessly(name: str, trial: str, way: Way) -> None:
    """Do it as one would who takes no error for a reason to say so: the control."""

    def step(memory: Memory, log: Log, folder: Path) -> None:
        for key in ("zq000k", "zq001k"):
            with suppress(RingwoodError):
                memory.store(note(key), source=key)
            log.done(key, note(key))

    folder = Path(trial)
    log = Log(folder)
    with Memory.open(folder / HOME, embedder="hashing", wait_s=WAIT_S) as memory:
        memory.recall(KNOWN)
        _stop(log)
        step(memory, log, folder)
        _stop(log)


def command(name: str, trial: str, way: Way) -> None:
    """Give a command, its two streams in files."""
    folder = Path(trial)
    os.chdir(folder)
    log = Log(folder)
    for number, file in ((1, _OUT), (2, _ERR)):
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(handle, number)
        os.close(handle)
    _stop(log)
    if name in _AFTERWARDS:
        log.begin("zq000k", _AFTERWARDS[name])
    embedder = named(name).embedder
    typed = [*_COMMANDS[name], "--home", HOME, "--embedder", embedder, "--json"]
    try:
        code = run_command([*typed, *_PLACE.get(name, ())])
    except SystemExit as end:  # the answer could not be written
        code = 0 if end.code is None else int(end.code)
    with suppress(OSError):
        sys.stdout.flush()
    if name in _AFTERWARDS and code == 0:
        log.done("zq000k", _AFTERWARDS[name])
    log.note("exit", str(code))
    _stop(log)


def fill() -> None:
    """Store into a small disk, the working directory, until it is full, and then make room."""
    ballast = Path("ballast")
    ballast.write_bytes(bytes(1_000_000))
    stored: list[str] = []
    error = message = ""
    with Memory.open("home", embedder="words", wait_s=WAIT_S) as memory:
        for number in range(1_000):
            key = f"zq{number:03d}k"
            try:
                memory.store(note(key) * 20, source=key)
            except RingwoodError as refused:
                error, message = refused.code, refused.message
                break
            stored.append(key)
        hits = memory.recall(stored[0]).hits
        ballast.unlink()
        memory.store(note("zr000k"), source="zr000k")
        stored.append("zr000k")
        kept = sum(document.source in stored for document in memory.recent(limit=10_000))
        problems = [each.says for each in memory.verify().findings if each.level == "damage"]
    told = {
        "error": error,
        "message": message,
        "hits_while_full": len(hits),
        "acknowledged": len(stored),
        "kept": kept,
        "problems": problems,
    }
    sys.stdout.write(json.dumps(told))


def _stop(log: Log) -> None:
    """Say that this far nothing is left to do, and wait to be told to go on."""
    log.note("stopped", "")
    wait_to_go()


def _attempt(step: Step, memory: Memory, log: Log, folder: Path) -> bool:
    """Do the work; say which error it was where it cannot be done."""
    try:
        step(memory, log, folder)
    except RingwoodError as error:
        log.note("error", error.code)
    except Exception as error:  # noqa: BLE001 - any other is what we look for
        where = error.__traceback__
        while where is not None and where.tb_next is not None:
            where = where.tb_next
        place = "" if where is None else f" in {where.tb_frame.f_code.co_qualname}"
        log.note("problem", f"untyped: {type(error).__name__}: {error}{place}")
    else:
        return True
    return False


def _settles(memory: Memory) -> bool:
    """Wait until all has followed, second attempts too; False where something fails still."""
    until = time.monotonic() + PATIENCE_S / 4
    while not memory.wait() and time.monotonic() < until:
        time.sleep(_TICK_S)
    return memory.wait()


def _ask(memory: Memory, log: Log, *, strictly: bool) -> None:
    """Ask for what the home held before; by who has it open, that is answered whatever fails."""
    try:
        if not memory.recall(KNOWN).hits:
            log.note("problem", "silent: a recall finds nothing and does not say why")
    except RingwoodError as error:
        log.note("problem" if strictly else "error", f"refused: a recall says {error.code}")


# -- what the harness does -------------------------------------------------------------------------


def run_of(way: Way) -> Callable[[str, str, Way], None]:
    """Return what a child does."""
    return command if way == "command" else work


def calls_of(ready: Bench, name: str, way: Way) -> Counter[str]:
    """Count the calls that may fail."""
    with ready.trial(ready.prepare(name)) as folder, ready.warm() as warm:
        with warm.child(run_of(way), name, str(folder), way) as child:
            _let_stop(child, folder, 1)
            with tracing(child.pid, folder / "calls", calls=(*WRITES, *OPENS)):
                _let_stop(child, folder, 2)
        return calls_in(folder / "calls")


def spoil(
    ready: Bench,
    name: str,
    fault: Fault,
    child_does: Callable[[str, str, Way], None] | None = None,
) -> Outcome:
    """Let a call of a workload fail, then judge who made it and the home."""
    spoiling = Spoiling(fault.point, f"error={fault.error}", fault.goes_on)
    does = child_does or run_of(fault.way)
    with ready.trial(ready.prepare(name)) as folder, ready.warm() as warm:
        with warm.child(does, name, str(folder), fault.way) as child:
            _let_stop(child, folder, 1)
            with tracing(child.pid, folder / "calls", spoiling):
                _let_stop(child, folder, 2)
        lines = lines_of(folder)
        problems = [text or "" for what, _, text, *_ in lines if what == "problem"]
        if child.code != 0:
            problems.append(f"untyped: the process ended with {child.code}")
        errors = [text or "" for what, _, text, *_ in lines if what == "error"]
        if fault.way == "command":
            problems += _answer_of(folder, fault, errors)
        problems += _misnamed(fault, errors)
        warm.call(judge.judge, name, str(folder))
        if fault.point.call in OPENS and fault.goes_on:
            # Whom nothing is opened for may be refused, if it is said.
            problems = [each for each in problems if not each.startswith("refused: ")]
        return Outcome(
            fault,
            was_spoiled(folder / "calls"),
            tuple(errors),
            (*problems, *judge.found_in(folder)),
        )


def _let_stop(child: Child, folder: Path, times: int) -> None:
    """Let a child go on until it has stopped so many times, or ended."""
    child.go()
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until and child.runs:
        with suppress(FileNotFoundError):
            if sum(line[0] == "stopped" for line in lines_of(folder)) >= times:
                return
        time.sleep(_POLL_S)


def _answer_of(folder: Path, fault: Fault, errors: list[str]) -> Iterator[str]:
    """Judge what a command said; note the code of the error that it names."""
    said = _text_of(folder / _ERR)
    if "Traceback" in said:
        yield f"untyped: {said.strip().splitlines()[-1]}"
    code = next((text for what, _, text, *_ in lines_of(folder) if what == "exit"), None)
    unreadable = ("2",) if fault.point.call in OPENS else ()  # what a person named to be read
    if code not in ("0", "1", "3", *unreadable):
        yield f"untyped: the command ends with {code}: {_text_of(folder / _OUT)[:300]}"
    if fault.point.call == "write":
        return  # its own output may be what failed
    try:
        answer = json.loads(_text_of(folder / _OUT))
    except ValueError:
        yield "untyped: the command printed no JSON"
        return
    if "error" in answer:
        errors.append(answer["error"]["code"])
        if errors[-1] == "internal":
            yield f"untyped: {answer['error']['message']}"
    if code != "0" and "error" not in answer and answer.get("hits") != []:
        yield f"silent: the command ends with {code} and names no error"


def _misnamed(fault: Fault, errors: Iterable[str]) -> Iterator[str]:
    """Say where a disk that is full was called anything else.

    Not of a file that cannot be opened: SQLite tries it again to read only, and tells of that.
    """
    if fault.error in _NO_ROOM and fault.point.call not in OPENS:
        yield from (f"misnamed: {error}" for error in errors if "disk_full" not in error)


def _text_of(file: Path) -> str:
    """Read what a command printed; one that died early printed nothing."""
    return file.read_text("utf-8", "replace") if file.exists() else ""


def faults_of(calls: Counter[str], points: int, seed: int, way: Way) -> list[Fault]:
    """Choose calls, and for each of them what happens."""
    variants = list(product(ERRORS, (False, True)))
    chance = random.Random(f"{seed} {way}")
    return [Fault(each, *chance.choice(variants), way) for each in spread(calls, points, seed)]


def ways_of(name: str) -> tuple[Way, ...]:
    """Say how a workload is met."""
    return ("open", "opening", "command") if name in _COMMANDS else ("open", "opening")


def sweep(ready: Bench, name: str, faults: Iterable[Fault], until: float = inf) -> list[Outcome]:
    """Try faults, until the time has come."""

    def each(fault: Fault) -> Outcome | None:
        return spoil(ready, name, fault) if time.monotonic() < until else None

    with ThreadPoolExecutor(AT_ONCE) as lanes:
        return [outcome for outcome in lanes.map(each, faults) if outcome is not None]


def torture(options: Torture, say: Callable[[str], None]) -> Iterable[Figure]:
    """Fail every call of every workload, or as many as there are points for."""
    until = time.monotonic() + options.minutes * 60
    ways = [(name, way) for name in SMALL for way in ways_of(name)]
    with bench(options.folder) as ready:
        careless = Fault(Point("fdatasync", 1), "EIO", goes_on=True, way="open")
        caught = spoil(ready, "few stored", careless, work_carelessly)
        found = any(map(judge.is_harm, caught.problems))
        for name in SMALL:
            outcomes: list[Outcome] = []
            for way in ways_of(name):
                calls = calls_of(ready, name, way)
                faults = faults_of(calls, options.points // len(ways), options.seed, way)
                outcomes += sweep(ready, name, faults, until)
            for wrong in (each for each in outcomes if each.problems):
                say(f"{name}, {wrong.fault}: {'; '.join(wrong.problems[:4])}")
            hit = sum(each.hit for each in outcomes)
            refused = sum(bool(each.errors) for each in outcomes)
            yield Figure(
                name=f"a call fails with ENOSPC, EIO or EDQUOT: {name}",
                trials=hit,
                result=f"{summed(each.problems for each in outcomes)}; {refused} typed errors",
                control=f"errors swallowed: {'found out' if found else 'missed'}",
                holds=hit > 0 and found and not any(each.problems for each in outcomes),
            )
