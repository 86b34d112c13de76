"""Single bits flipped in the files of a home, and what verify and recall make of it.

The harness writes a home by its public face, closes it, flips one bit of a file and looks: does
`verify` find it, does anything raise what is no error of ours, is anything deleted? The control is
what SQLite's own integrity check finds of the same flips.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random

import apsw
from tests.faults.report import Figure, Torture

from ringwood.errors import RingwoodError
from ringwood.memory import Memory

HOT = "memory.db"
FLOOR = 0.99
"""The share of flips in document text that verify finds, at least."""

_SENTENCES = (
    "The queue moved from a broker to a table, because a restart lost what was in flight.",
    "Backups run at night; whoever is on call looks at the report in the morning.",
    "缓存的键包含语言，否则译文会互相覆盖。",
    "- the importer reads every file twice\n- the second time it compares digests",
    "```\nretry = 3\ntimeout_s = 12\n```",
)


@dataclass(frozen=True, slots=True)
class Flip:
    """One bit of one file."""

    offset: int
    """Byte in the file."""
    bit: int
    """0..7."""


@dataclass(slots=True)
class Tally:
    """What became of the flips so far."""

    trials: int = 0
    """Flips."""
    found: int = 0
    """Found by verify."""
    control: int = 0
    """Found by SQLite's integrity check alone."""
    stray: list[str] | None = None
    """Errors that are none of ours, and losses; None while there are none."""

    def complain(self, what: str) -> None:
        """Note what must not happen."""
        self.stray = [*(self.stray or []), what]


def fill(home: Path, documents: int, *, seed: int = 7) -> None:
    """Write a home of notes whose words stand nowhere else in its files."""
    random = Random(seed)
    with Memory.open(home, embedder="words") as memory:
        for number in range(documents):
            body = "\n\n".join(random.sample(_SENTENCES, 3))
            mark = f"marker{random.randrange(10**9)}"
            memory.store(
                f"# Note {number}\n\n{mark} {body}\n\n## Why\n\n{body[::-1]}", source=f"n{number}"
            )
        memory.wait()


def text_offsets(file: Path) -> list[tuple[int, int]]:
    """Find where texts of documents lie in a closed file: runs of bytes, found by content.

    Only what lies on the pages of the table itself counts: pages of overflow and rows alike.
    """
    image = file.read_bytes()
    with closing(apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        texts = [str(row[0]).encode() for row in connection.execute("SELECT text FROM documents")]
    runs = []
    for text in texts:
        start = image.find(text)
        if start >= 0 and image.find(text, start + 1) < 0:
            runs.append((start, start + len(text)))
    return runs


def in_text(file: Path, random: Random) -> Iterator[Flip]:
    """Yield bits that fall in the text of a document, without end."""
    runs = text_offsets(file)
    weights = [end - start for start, end in runs]
    while True:
        start, end = random.choices(runs, weights)[0]
        yield Flip(random.randrange(start, end), random.randrange(8))


def anywhere(file: Path, random: Random) -> Iterator[Flip]:
    """Yield bits of any byte, without end."""
    size = file.stat().st_size
    while True:
        yield Flip(random.randrange(size), random.randrange(8))


def flip(image: bytes, at: Flip) -> bytes:
    """Change one bit."""
    changed = bytearray(image)
    changed[at.offset] ^= 1 << at.bit
    return bytes(changed)


def integrity_check_finds(file: Path) -> bool:
    """Say whether SQLite's own check sees anything. The control."""
    try:
        with closing(apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
            return [row[0] for row in connection.execute("PRAGMA integrity_check")] != ["ok"]
    except apsw.Error:
        return True


def try_flips(
    home: Path, file: str, flips: Iterable[Flip], *, until: float, quick: bool = False
) -> Tally:
    """Flip bits one after the other in a closed home, and look at each.

    Args:
        home: the home; every file is as it was afterwards.
        file: which of its files.
        flips: which bits.
        until: monotonic time at which to stop.
        quick: look quickly.
    """
    target = home / file
    image = target.read_bytes()
    tally = Tally()
    for at in flips:
        if time.monotonic() >= until:
            break
        broken = flip(image, at)
        target.write_bytes(broken)
        tally.trials += 1
        tally.control += integrity_check_finds(target)
        _drop_logs(home)
        tally.found += _is_found(home, tally, at, quick=quick)
        _recall(home, tally, at)
        if not target.exists() or target.stat().st_size != len(broken):
            tally.complain(f"{at}: the file is gone or cut")
        _drop_logs(home)
    target.write_bytes(image)
    return tally


def _is_found(home: Path, tally: Tally, at: Flip, *, quick: bool) -> bool:
    try:
        with Memory.open(home, embedder="words", wait_s=0.0) as memory:
            return bool(memory.verify(quick=quick).findings)
    except RingwoodError:
        return True
    except Exception as error:  # noqa: BLE001 - whatever leaks is what is looked for
        tally.complain(f"{at}: verify raised {type(error).__name__}: {error}")
        return False


def _recall(home: Path, tally: Tally, at: Flip) -> None:
    try:
        with (
            suppress(RingwoodError),
            Memory.open(home, embedder="words", wait_s=0.0) as memory,
        ):
            memory.recall("queue broker restart", counted=False)
    except Exception as error:  # noqa: BLE001 - the same
        tally.complain(f"{at}: recall raised {type(error).__name__}: {error}")


def _drop_logs(home: Path) -> None:
    for name in home.glob("memory*.db-*"):
        name.unlink()


def torture(options: Torture, say: Callable[[str], None]) -> Iterator[Figure]:
    """Flip bits in texts, then anywhere; see `tests/faults/report.py`."""
    random = Random(options.seed)
    end = time.monotonic() + options.minutes * 60
    home = options.folder / "flips"
    fill(home, 40)
    half = end - options.minutes * 30
    for name, choose, until, quick in (
        ("one bit of a document's text", in_text, half, True),
        ("one bit anywhere in a file", anywhere, end, False),
    ):
        say(f"flips: {name}")
        bits = islice(choose(home / HOT, random), options.points)
        tally = try_flips(home, HOT, bits, until=until, quick=quick)
        stray = len(tally.stray or ())
        enough = tally.found >= FLOOR * tally.trials or choose is anywhere
        yield Figure(
            name=name,
            trials=tally.trials,
            result=f"{tally.found} found, {stray} errors that are none of ours, 0 files deleted",
            control=f"{tally.control} found by integrity_check",
            holds=enough and not stray and tally.control < tally.trials // 2,
        )
    shutil.rmtree(home)
