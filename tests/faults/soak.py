"""A long life in one process, with others beside it: nothing grows but what is kept.

The process under test stores, edits, captures, recalls, forgets, rotates, dreams and compacts, and
forgets as much as it stores, so that what it holds stays the same. What it takes up until its home
has that size, and every kind of work was done, is no growth: the measuring begins after that. Run
as a program it is that process: it prints a sample as JSON every so often, until its input ends.
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
WARM_UP = 100
"""Rounds after which growth counts: five dreams and two compactions, so that caches have their
size."""
GROWTH = 0.05
"""By how much resident memory may grow after that, and the home by how many documents."""
LEAK = 200_000
"""Bytes that are lost on purpose with every round, for the control."""
LOG_LIMIT = 16 * 2**20
"""Bytes that a write-ahead log may have outside compaction."""
SAMPLES = 60
"""How many are taken in a run, about."""
SETTLING_S = 600.0
"""How long the warm-up may take beyond the length of the run."""
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
    resident: int
    """Bytes of memory in use: the median over the rounds since the last sample, for upkeep takes
    some for a moment and gives it back."""
    descriptors: int
    """Open files."""
    threads: int
    """Threads."""
    log: int
    """The largest write-ahead log since the last sample, outside compaction, bytes."""
    documents: int
    """Documents in the home."""
    size: int
    """Bytes of its databases."""


@dataclass(frozen=True, slots=True)
class Soak:
    """A whole run."""

    samples: tuple[Sample, ...]
    """In order."""
    refused: int
    """Commands beside it that failed."""
    warm_up: int = WARM_UP
    """Rounds after which growth counts."""

    @property
    def settled(self) -> tuple[Sample, ...]:
        """The samples after the warm-up."""
        return tuple(sample for sample in self.samples if sample.rounds >= self.warm_up)

    @property
    def growth(self) -> float:
        """Growth of the resident memory."""
        return self._growth([sample.resident for sample in self.settled])

    @property
    def more_documents(self) -> float:
        """Growth of the home in documents: where it grows, memory may."""
        return self._growth([sample.documents for sample in self.settled])

    @property
    def more_bytes(self) -> float:
        """Growth of the home in bytes: it keeps what was forgotten as hashes, and some undo."""
        return self._growth([sample.size for sample in self.settled])

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

    def holds(self) -> bool:
        """Say whether nothing grew by more than it may."""
        return (
            self.growth < GROWTH
            and self.more_documents < GROWTH
            and self.more_descriptors <= 0
            and self.more_threads <= 0
            and self.log <= LOG_LIMIT
            and not self.refused
        )

    def told(self) -> str:
        """Say it in a line."""
        first, last = self.settled[0], self.samples[-1]
        return (
            f"{(last.at_s - first.at_s) / 60:.1f} min after {first.rounds} rounds,"
            f" memory {last.resident / 2**20:.0f} MB {self.growth:+.1%},"
            f" {last.documents} documents {self.more_documents:+.1%},"
            f" {last.size / 2**20:.1f} MB on disk {self.more_bytes:+.1%},"
            f" log at most {self.log / 2**20:.1f} MB, descriptors {self.more_descriptors:+d},"
            f" threads {self.more_threads:+d}, {self.refused} refused"
        )

    @staticmethod
    def _growth(values: Sequence[int]) -> float:
        """Compare the median of the last quarter with that of the first."""
        quarter = max(1, len(values) // 4)
        return median(values[-quarter:]) / median(values[:quarter]) - 1

    @staticmethod
    def _more(counts: Sequence[int]) -> int:
        quarter = max(1, len(counts) // 4)
        return max(counts[-quarter:]) - max(counts[:quarter])


def soak(
    home: Path,
    *,
    minutes: float,
    documents: int = DOCUMENTS,
    warm_up: int = WARM_UP,
    seed: int = 1,
    leaks: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> Soak:
    """Let one process live for so long after its warm-up, with hooks and commands beside it."""
    every_s = minutes * 60 / SAMPLES
    words = [str(home), str(documents), str(seed), str(every_s), "leaks" if leaks else "sound"]
    samples: list[Sample] = []
    chance, refused = random.Random(seed), 0
    for _ in range(OTHERS):
        _hand_over(home, chance)
    with subprocess.Popen(
        [sys.executable, "-m", "tests.faults.soak", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        until, latest = None, time.monotonic() + minutes * 60 + SETTLING_S
        while time.monotonic() < (until or latest):
            sample = Sample(**json.loads(process.stdout.readline()))
            samples.append(sample)
            if until is None and sample.rounds >= warm_up:
                until = time.monotonic() + minutes * 60
            say(json.dumps(asdict(sample)))
            _hand_over(home, chance)
            refused += not _command_succeeds(home, chance)
        process.stdin.close()
        samples += [Sample(**json.loads(line)) for line in process.stdout]
        assert process.wait(PROMPT_S) == 0
    assert until is not None, f"only {samples[-1].rounds} rounds of warm-up were done"
    return Soak(tuple(samples), refused, warm_up)


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
        holds=sound.holds() and leaking.growth > GROWTH and leaking.more_descriptors > 0,
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
    rounds, since = 0, _Since()
    with Memory.open(home, embedder="hashing", wait_s=0.0) as memory:
        for number in range(-documents, 0):
            _store(memory, chance, number)
        while not select.select([sys.stdin], [], [], 0)[0]:
            _work(memory, chance, rounds, documents)
            rounds += 1
            if leaks:
                leaked.append((os.urandom(LEAK), os.open(home, os.O_RDONLY)))
            since.note(home)
            if rounds % 40 == 0:
                memory.compact()
            if time.monotonic() - sampled >= every_s:
                memory.wait(30.0)
                sampled = time.monotonic()
                kept = sum(memory.spaces().values())
                sample = since.sample(home, sampled - started, rounds, kept)
                sys.stdout.write(json.dumps(asdict(sample)) + "\n")
                sys.stdout.flush()
                since = _Since()


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


class _Since:
    """What was seen since the last sample."""

    def __init__(self) -> None:
        self._resident: list[int] = []
        self._log = 0

    def note(self, home: Path) -> None:
        """Look after a round."""
        lines = Path("/proc/self/smaps_rollup").read_text("ascii").splitlines()
        [resident] = [int(line.split()[1]) * 1024 for line in lines if line.startswith("Rss:")]
        self._resident.append(resident)
        self._log = max(self._log, *(file.stat().st_size for file in home.glob("*.db-wal")))

    def sample(self, home: Path, at_s: float, rounds: int, documents: int) -> Sample:
        """Sum it up."""
        return Sample(
            at_s=round(at_s, 1),
            rounds=rounds,
            resident=round(median(self._resident)),
            descriptors=_entries("/proc/self/fd"),
            threads=_entries("/proc/self/task"),
            log=self._log,
            documents=documents,
            size=sum(file.stat().st_size for file in home.glob("*.db")),
        )


def _entries(folder: str) -> int:
    return sum(1 for _ in Path(folder).iterdir())


if __name__ == "__main__":
    where, kept, chosen, often, kind = sys.argv[1:]
    live(Path(where), int(kept), int(chosen), float(often), leaks=kind == "leaks")
