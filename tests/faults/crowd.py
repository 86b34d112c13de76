"""Many processes store into one home at once: nothing is lost, nobody refused, all take turns.

Run as a program it is one of the processes: it says `ready`, waits for a line, does its work, and
says as JSON what it met. All are ready before any begins.
"""

from __future__ import annotations

import json
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import IO, Any

import apsw
from tests.faults.report import Figure, Torture

from ringwood.engine.sqlite import gate
from ringwood.errors import RingwoodError
from ringwood.memory import Memory

ROOT = Path(__file__).parents[2]
KNOWN = "The lighthouse keeper of Vardø counts eiders."
"""Stored before anybody begins; what recalls look for meanwhile."""
SLOWEST, FASTEST, LONGEST = 0.8, 1.5, 20.0
"""Promised of a process's rate over the median rate, and of a store over the median store."""
PAUSE_S = 0.05
"""Between two recalls of a process."""
SAMPLED = 10
"""Of so many texts one is recalled afterwards; all are counted."""
GIVE_UP_S = 900.0
"""When a process that has not ended counts as hanging."""


@dataclass(frozen=True, slots=True)
class Took:
    """What one process that stored met."""

    seconds: float
    """From its first store to the end of its last."""
    waits: list[float]
    """Seconds in each store, in order."""
    errors: list[str]
    """Code of each refusal."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What one process that recalled met."""

    waits: list[float]
    """Seconds in each recall, in order."""
    wrong: list[str]
    """What came instead of the known text, or the code of a refusal."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """What all of them met, and what was found in the home afterwards."""

    expected: int
    """Stores."""
    kept: int
    """Texts that lie there; of every tenth, that are found by the word that only it holds."""
    documents: int
    """Documents in the home, without the known one."""
    took: tuple[Took, ...]
    """Per process that stored."""
    asked: tuple[Asked, ...]
    """Per process that recalled."""
    damage: str
    """What SQLite's own check says: `ok`."""

    @property
    def waits(self) -> list[float]:
        """Seconds in every store, shortest first."""
        return sorted(wait for took in self.took for wait in took.waits)

    @property
    def rates(self) -> list[float]:
        """Stores per second of each process over the median of them, lowest first."""
        rates = sorted(len(took.waits) / took.seconds for took in self.took)
        return [rate / median(rates) for rate in rates]

    @property
    def longest(self) -> float:
        """The longest store over the median one."""
        return self.waits[-1] / median(self.waits)

    @property
    def is_exact(self) -> bool:
        """Whether every store is there once, none was refused, and every recall was right."""
        return (
            self.kept == self.documents == self.expected
            and self.damage == "ok"
            and not any(took.errors for took in self.took)
            and not any(asked.wrong for asked in self.asked)
        )

    @property
    def is_fair(self) -> bool:
        """Whether nobody waited much longer, or got much less, than the others."""
        rates = self.rates
        return rates[0] >= SLOWEST and rates[-1] <= FASTEST and self.longest <= LONGEST

    def told(self) -> str:
        """Say it in a line."""
        refused = sum(len(took.errors) for took in self.took)
        asked = sorted(wait for each in self.asked for wait in each.waits)
        wrong = sum(len(each.wrong) for each in self.asked)
        return (
            f"{self.kept:,} of {self.expected:,} kept, {refused} refused, rate of the slowest and"
            f" fastest over the median {self.rates[0]:.2f} and {self.rates[-1]:.2f}, store median"
            f" {median(self.waits) * 1000:.1f} ms and longest {self.longest:.1f} times it;"
            f" {len(asked):,} recalls meanwhile, {wrong} wrong, median"
            f" {median(asked) * 1000:.0f} and longest {asked[-1] * 1000:.0f} ms"
        )


def crowd(
    home: Path, *, processes: int = 8, stores: int = 500, readers: int = 2, gated: bool = True
) -> Crowd:
    """Let processes store and recall at once, all beginning together."""
    with Memory.open(home, embedder="hashing") as memory:
        memory.store(KNOWN)
    with ExitStack() as stack:

        def begin(*words: str) -> _Process:
            return stack.enter_context(_Process(home, *words))

        how = "gated" if gated else "ungated"
        storing = [begin("store", str(number), str(stores), how) for number in range(processes)]
        asking = [begin("ask") for _ in range(readers)]
        for process in (*asking, *storing):
            process.expect_ready()
        for process in (*asking, *storing):
            process.go()
        took = tuple(Took(**process.result()) for process in storing)
        for process in asking:
            process.enough()
        asked = tuple(Asked(**process.result()) for process in asking)
    expected = [_word(number, i) for number in range(processes) for i in range(stores)]
    with Memory.open(home, wait_s=GIVE_UP_S) as memory:
        memory.warm()
        memory.wait()
        documents = [document.title for document in memory.recent(limit=len(expected) + 100)]
        unfound = [word for word in expected[::SAMPLED] if not _is_found(memory, word)]
    with closing(apsw.Connection(str(home / "memory.db"))) as file:
        damage = str(file.pragma("integrity_check"))
    return Crowd(
        expected=len(expected),
        kept=sum(_text(word) in documents for word in expected) - len(unfound),
        documents=len(documents) - 1,
        took=took,
        asked=asked,
        damage=damage,
    )


def torture(options: Torture, say: Callable[[str], None]) -> Iterable[Figure]:
    """Run the full crowd, and the control without the gate."""
    stores = max(1, min(500, options.points // 4))
    with_gate = crowd(options.folder / "gated", stores=stores)
    say(f"with the gate: {with_gate.told()}")
    without = crowd(options.folder / "ungated", stores=stores, gated=False)
    say(f"without: {without.told()}")
    yield Figure(
        f"8 processes store {stores} texts each at once, 2 recall",
        with_gate.expected,
        with_gate.told(),
        f"without the gate: {without.told()}",
        holds=with_gate.is_exact
        and with_gate.is_fair
        and not (without.is_exact and without.is_fair),
    )


class _Process:
    """One of the crowd, as the harness holds it; a context manager that waits for its end."""

    def __init__(self, home: Path, *words: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.crowd", str(home), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            text=True,
        )

    def __enter__(self) -> _Process:
        return self

    def __exit__(self, *_: object) -> None:
        with self._process as process:  # closes the pipes and waits
            if process.poll() is None:
                process.kill()

    @property
    def _pipes(self) -> tuple[IO[str], IO[str]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        return self._process.stdin, self._process.stdout

    def expect_ready(self) -> None:
        assert self._pipes[1].readline() == "ready\n"

    def go(self) -> None:
        self._pipes[0].write("go\n")
        self._pipes[0].flush()

    def enough(self) -> None:
        self._pipes[0].close()

    def result(self) -> dict[str, Any]:
        line = self._pipes[1].readline()
        self._process.wait(GIVE_UP_S)
        return dict(json.loads(line))


def _word(number: int, i: int) -> str:
    """The word that one text only holds."""
    digits = f"{number}{i:04}"
    return "q" + "".join(chr(ord("a") + int(digit)) for digit in digits) + "q"


def _text(word: str) -> str:
    """What one document says, short enough to be its title."""
    return f"Note {word} by one of many"


def _is_found(memory: Memory, word: str) -> bool:
    hits = memory.recall(word, counted=False).hits
    return bool(hits) and hits[0].text == _text(word)


def _store(home: str, number: int, stores: int) -> Took:
    """Be one of those that store."""
    waits, errors = [], []
    with Memory.open(home, wait_s=0.0) as memory:
        memory.warm()
        _begin()
        started = time.perf_counter()
        for i in range(stores):
            before = time.perf_counter()
            try:
                memory.store(_text(_word(number, i)))
            except RingwoodError as error:
                errors.append(error.code)
            waits.append(time.perf_counter() - before)
        seconds = time.perf_counter() - started
    return Took(seconds, waits, errors)


def _ask(home: str) -> Asked:
    """Be one of those that recall, until the input ends."""
    waits, wrong = [], []
    with Memory.open(home, wait_s=0.0) as memory:
        memory.warm()
        _begin()
        while not _input_ends_within(PAUSE_S):
            before = time.perf_counter()
            try:
                hits = memory.recall("lighthouse keeper eiders", counted=False).hits
            except RingwoodError as error:
                wrong.append(error.code)
            else:
                if not hits or hits[0].text != KNOWN:
                    wrong.append(hits[0].text if hits else "nothing")
            waits.append(time.perf_counter() - before)
    return Asked(waits, wrong)


def _begin() -> None:
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()


def _input_ends_within(seconds: float) -> bool:
    return bool(select.select([sys.stdin], [], [], seconds)[0])


def main(words: Sequence[str]) -> None:
    """Be one of the crowd."""
    home, work, *rest = words
    if work == "ask":
        done: Took | Asked = _ask(home)
    else:
        number, stores, how = rest
        if how == "ungated":
            vars(gate)["fcntl"] = None  # as where the platform has none
        done = _store(home, int(number), int(stores))
    sys.stdout.write(json.dumps(asdict(done)) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
