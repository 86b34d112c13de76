"""A long life in one process, with others beside it: nothing grows but what is kept.

The process under test stores, edits, captures, recalls, forgets, rotates, dreams and compacts, and
forgets as much as it stores, so that what it holds stays the same. Run as a program it is that
process: it prints a sample as JSON every so often, until its input ends.
"""

from __future__ import annotations

import json
import os
import random
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

from tests.faults.report import Figure, Torture

from ringwood.capture import spool
from ringwood.capture.exchange import Event
from ringwood.memory import Memory

ROOT = Path(__file__).parents[2]
DOCUMENTS = 100
"""Documents that are kept; those before them are forgotten."""
OTHERS = 20
"""Documents of others beside it that are kept."""
WARM_UP = 2 / 15
"""Share of the run after which growth counts: caches and maps have their size by then."""
GROWTH = 0.05
"""By how much resident memory may grow after that."""
LOG_LIMIT = 16 * 2**20
"""Bytes that a write-ahead log may have outside compaction."""
SAMPLES = 60
"""How many are taken in a run, about."""
PROMPT_S = 30.0
"""How long the process may take to end."""

_WORDS = (
    *("heron", "river", "ledger", "lantern", "copper", "orchard", "ferry", "violin", "harbour"),
    *("keeps", "carries", "mends", "follows", "counts", "paints", "measures", "hides", "granite"),
    *("slowly", "twice", "beside", "under", "before", "port", "8090", "config", "north", "bell"),
)
_HAN = "今天我们讨论了数据库的备份与恢复策略还有端口配置"


@dataclass(frozen=True, slots=True)
class Sample:
    """What the process under test has at one moment, between two calls."""

    at_s: float
    """Seconds since it began."""
    rounds: int
    """Rounds of work that are done."""
    pss: int
    """Bytes of memory that are its own, with its share of what is mapped by several."""
    descriptors: int
    """Open files."""
    threads: int
    """Threads."""
    log: int
    """The largest write-ahead log since the last sample, outside compaction, bytes."""
    documents: int
    """Documents in the home."""


@dataclass(frozen=True, slots=True)
class Soak:
    """A whole run."""

    samples: tuple[Sample, ...]
    """In order."""
    refused: int
    """Commands beside it that failed."""

    @property
    def settled(self) -> tuple[Sample, ...]:
        """The samples after the warm-up."""
        begin = self.samples[-1].at_s * WARM_UP
        return tuple(sample for sample in self.samples if sample.at_s >= begin)

    @property
    def growth(self) -> float:
        """Median memory of the last quarter over that of the first, less one."""
        pss = [sample.pss for sample in self.settled]
        quarter = max(1, len(pss) // 4)
        return median(pss[-quarter:]) / median(pss[:quarter]) - 1

    @property
    def more_descriptors(self) -> int:
        """Descriptors of the last quarter beyond those of the first, at most in each."""
        return self._more([sample.descriptors for sample in self.settled])

    @property
    def more_threads(self) -> int:
        """Threads of the last quarter beyond those of the first, at most in each."""
        return self._more([sample.threads for sample in self.settled])

    @property
    def log(self) -> int:
        """The largest write-ahead log, bytes."""
        return max(sample.log for sample in self.samples)

    def holds(self, growth: float = GROWTH) -> bool:
        """Say whether nothing grew by more than it may."""
        return (
            self.growth < growth
            and self.more_descriptors <= 0
            and self.more_threads <= 0
            and self.log <= LOG_LIMIT
            and not self.refused
        )

    def told(self) -> str:
        """Say it in a line."""
        last = self.samples[-1]
        return (
            f"{last.at_s / 60:.1f} min, memory {last.pss / 2**20:.0f} MB {self.growth:+.1%},"
            f" log at most {self.log / 2**20:.1f} MB, descriptors {self.more_descriptors:+d},"
            f" threads {self.more_threads:+d}, {self.refused} refused"
        )

    @staticmethod
    def _more(counts: Sequence[int]) -> int:
        quarter = max(1, len(counts) // 4)
        return max(counts[-quarter:]) - max(counts[:quarter])


def soak(
    home: Path,
    *,
    minutes: float,
    documents: int = DOCUMENTS,
    seed: int = 1,
    leaks: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> Soak:
    """Let one process live for so long, with hooks and commands beside it."""
    every_s = minutes * 60 / SAMPLES
    words = [str(home), str(documents), str(seed), str(every_s), "leaks" if leaks else "sound"]
    samples: list[Sample] = []
    chance, refused = random.Random(seed), 0
    with subprocess.Popen(
        [sys.executable, "-m", "tests.faults.soak", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        until = time.monotonic() + minutes * 60
        while time.monotonic() < until:
            sample = Sample(**json.loads(process.stdout.readline()))
            samples.append(sample)
            say(json.dumps(asdict(sample)))
            _hand_over(home, chance)
            refused += not _command_succeeds(home, chance)
        process.stdin.close()
        process.stdout.read()
        assert process.wait(PROMPT_S) == 0
    return Soak(tuple(samples), refused)


def torture(options: Torture, say: Callable[[str], None]) -> Iterable[Figure]:
    """Soak for `minutes`, at most 15, and plant a leak for the control."""
    minutes = min(15.0, options.minutes)
    sound = soak(options.folder / "sound", minutes=minutes, seed=options.seed, say=say)
    leaking = soak(options.folder / "leaking", minutes=1.0, seed=options.seed, leaks=True)
    say(f"with a planted leak: {leaking.told()}")
    last = sound.samples[-1]
    yield Figure(
        "live on: write, recall, rotate, dream, compact, forget",
        last.rounds,
        sound.told(),
        f"with a planted leak: {leaking.told()}",
        holds=sound.holds() and not leaking.holds() and leaking.more_descriptors > 0,
    )


# -- beside it -------------------------------------------------------------------------------------


def _hand_over(home: Path, chance: random.Random) -> None:
    """Capture an exchange as a hook does."""
    session, said = f"s{chance.randrange(4)}", str(time.time_ns())
    for kind, text in (("person", _text(chance)), ("assistant", _text(chance)), ("end", "")):
        event = Event(
            host="soak",
            session=session,
            sequence=said,
            kind=kind,
            text=text,
            at=datetime.now(UTC).timestamp(),
        )
        spool.append(str(home), event)


def _command_succeeds(home: Path, chance: random.Random) -> bool:
    """Run a command of another process; finding nothing is no failure."""
    words = chance.choice((["recall", "copper ferry"], ["store", "-"], ["stats"], ["recent"]))
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "ringwood",
            "--home",
            str(home),
            "--space",
            "global",
            "--json",
            *words,
        ],
        input=_text(chance),
        capture_output=True,
        text=True,
        check=False,
    )
    return "error" not in json.loads(done.stdout)


# -- the process under test ------------------------------------------------------------------------


def live(home: Path, documents: int, seed: int, every_s: float, *, leaks: bool) -> None:
    """Work until the input ends, and print a sample every so often."""
    chance, leaked = random.Random(seed), []
    started = sampled = time.monotonic()
    rounds = log = 0
    with Memory.open(home, embedder="hashing", wait_s=0.0) as memory:
        for number in range(-documents, 0):
            _store(memory, chance, number)
        while not select.select([sys.stdin], [], [], 0)[0]:
            _work(memory, chance, rounds, documents)
            rounds += 1
            log = max(log, _log_size(home))
            if rounds % 40 == 0:
                memory.compact()
            if leaks:
                leaked.append((bytearray(200_000), os.open(home, os.O_RDONLY)))
            if time.monotonic() - sampled >= every_s:
                memory.wait(30.0)
                sampled = time.monotonic()
                sample = _sample(sampled - started, rounds, log, sum(memory.spaces().values()))
                sys.stdout.write(json.dumps(asdict(sample)) + "\n")
                sys.stdout.flush()
                log = 0


def _work(memory: Memory, chance: random.Random, rounds: int, documents: int) -> None:
    """Do one round of what a memory does in a day; it holds as much afterwards as before."""
    _store(memory, chance, rounds)
    memory.forget(source=_key(rounds - documents))
    _store(memory, chance, rounds - chance.randrange(documents))
    for _ in range(3):
        memory.recall(" ".join(chance.sample(_WORDS, 3)))
    memory.take_in()
    if rounds % 5 == 0:
        recent = memory.recent(limit=10 * documents)
        others = [each for each in recent if not (each.source or "").startswith(_key(""))]
        for document in others[OTHERS:]:
            memory.forget(document=str(document.id))
    if rounds % 10 == 0:
        memory.rotate()
    if rounds % 20 == 0:
        memory.dream(wait_s=30.0)


def _store(memory: Memory, chance: random.Random, number: int) -> None:
    """Store a document, of any age, or edit it."""
    at = datetime.now(UTC) - timedelta(days=chance.uniform(0, 400))
    memory.store(_text(chance), source=_key(number), at=at)


def _key(number: object) -> str:
    return f"soak/{number}"


def _text(chance: random.Random) -> str:
    """Write a text of a few sections from a fixed set of words."""
    parts = [f"# {' '.join(chance.sample(_WORDS, 3))} {chance.randrange(1000)}"]
    for _ in range(chance.randint(1, 6)):
        parts.append(" ".join(chance.choices(_WORDS, k=chance.randint(5, 60))) + ".")
        parts.append("".join(chance.choices(_HAN, k=12)) + "。")
    return "\n\n".join(parts)


def _sample(at_s: float, rounds: int, log: int, documents: int) -> Sample:
    lines = Path("/proc/self/smaps_rollup").read_text("ascii").splitlines()
    [pss] = [int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")]
    return Sample(
        at_s=round(at_s, 1),
        rounds=rounds,
        pss=pss,
        descriptors=_entries("/proc/self/fd"),
        threads=_entries("/proc/self/task"),
        log=log,
        documents=documents,
    )


def _entries(folder: str) -> int:
    return sum(1 for _ in Path(folder).iterdir())


def _log_size(home: Path) -> int:
    return max(file.stat().st_size for file in home.glob("*.db-wal"))


if __name__ == "__main__":
    where, kept, chosen, often, kind = sys.argv[1:]
    live(Path(where), int(kept), int(chosen), float(often), leaks=kind == "leaks")
