"""Power cuts at any moment: a day is recorded write by write, then cut where chance will have it.

One recording gives many cuts. The same recording gives the controls, too: with some of its syncs
left out it is what a careless program, or a lying disk, would have written.
"""

from __future__ import annotations

import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.faults.days import DAYS, Day, Person
from tests.faults.disk import KINDS, Change, Disk, Kind, put
from tests.faults.promised import Fault, Ledger, judge, mirror_faults
from tests.faults.recorder import recording
from tests.faults.report import Figure, Torture


@dataclass(frozen=True, slots=True)
class Recording:
    """A day, as it was written to the disk."""

    log: Sequence[Change]
    """Every change, the first first."""
    ledger: Ledger
    """What was promised when."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one cut came to."""

    moment: int
    """After how many changes."""
    kind: Kind
    """On what disk."""
    faults: tuple[Fault, ...]
    """What was not as it must be."""


def record(day: Day, folder: Path, seed: int) -> Recording:
    """Live through a day in an empty folder, and write down all that reaches the disk."""
    with recording(folder) as recorder:
        ledger = Ledger(lambda: recorder.now)
        day(Person(folder / "home", ledger, random.Random(seed)))
    return Recording(tuple(recorder.log), ledger)


def cut(
    recorded: Recording, cuts: int, folder: Path, seed: int, kinds: Sequence[Kind] = KINDS
) -> Iterator[Verdict]:
    """Cut the power at so many moments of a day, and judge what is left each time."""
    chance = random.Random(seed)
    for number, kind in enumerate(kinds):
        share = len(range(number, cuts, len(kinds)))
        moments = sorted(chance.randint(1, len(recorded.log)) for _ in range(share))
        disk, played = Disk(kind), 0
        for moment in moments:
            for change in recorded.log[played:moment]:
                disk.play(change)
            played = moment
            _lay_out(disk, folder, chance)
            found = judge(folder / "home", recorded.ledger.allowed(moment), chance)
            yield Verdict(moment, kind, tuple(found))


def _lay_out(disk: Disk, folder: Path, chance: random.Random) -> None:
    """Put what a cut leaves into a folder, in place of what the last one left."""
    for each in folder.iterdir() if folder.is_dir() else ():
        shutil.rmtree(each)
    folder.mkdir(exist_ok=True)
    put(disk.cut(chance), folder)
