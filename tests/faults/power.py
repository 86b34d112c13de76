"""Power cuts at any moment: a day is recorded write by write, then cut where chance will have it.

One recording gives many cuts. The same recording gives the controls, too: with some of its syncs
left out it is what a careless program, or a lying disk, would have written.
"""

from __future__ import annotations

import logging
import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.faults.careless import CONTROLS, Recording
from tests.faults.days import DAYS, Day, Person
from tests.faults.disk import KINDS, Disk, Kind, put
from tests.faults.promised import Fault, Ledger, judge, looked_through
from tests.faults.recorder import recording
from tests.faults.report import Figure, Torture

CUTS = 50
"""Cuts per recorded day: after that, another day of the same kind shows more."""
CONTROL_CUTS = 40
"""Cuts per control."""
THROUGH = 8
"""Of so many cuts one is looked through, which takes as long as all else."""


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
    recorded: Recording, folder: Path, cuts: int, seed: int, *, through: int = THROUGH
) -> Iterator[Verdict]:
    """Cut the power so many times somewhere in a day, and judge what is left each time.

    Args:
        recorded: the day.
        folder: where what is left is put; what was in it is removed.
        cuts: how often, shared out among the kinds of disk.
        seed: what decides when, and what is left.
        through: of so many cuts one is looked through.
    """
    chance = random.Random(seed)
    first = recorded.ledger.steps[0].begun + 1  # before that nothing is promised
    for number, kind in enumerate(KINDS):
        share = len(range(number, cuts, len(KINDS)))
        moments = sorted(chance.randint(first, len(recorded.log)) for _ in range(share))
        disk, played = Disk(kind), 0
        for turn, moment in enumerate(moments):
            for change in recorded.log[played:moment]:
                disk.play(change)
            played = moment
            _lay_out(disk, folder, chance)
            faults = judge(folder / "home", recorded.ledger.allowed(moment), chance)
            if not faults and turn % through == 0:
                faults = list(looked_through(folder / "home"))
            yield Verdict(moment, kind, tuple(faults))


def _lay_out(disk: Disk, folder: Path, chance: random.Random) -> None:
    """Put what a cut leaves into a folder, in place of what the last one left.

    The index of a write-ahead log is never synced: it may be gone, or hold anything.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    put(disk.cut(chance), folder)
    for database in (folder / "home").glob("*.db"):
        if chance.random() < 0.25:
            index = database.with_name(f"{database.name}-shm")
            index.write_bytes(chance.randbytes(32_768))
            index.chmod(0o600)


def counted(verdicts: Iterable[Verdict]) -> Counter[str]:
    """Count the cuts that show a kind of fault, and under `cuts` all of them."""
    found: Counter[str] = Counter()
    for verdict in verdicts:
        found["cuts"] += 1
        found["bad"] += bool(verdict.faults)
        found.update({fault.kind for fault in verdict.faults})
    return found


def torture(options: Torture, say: Callable[[str], None]) -> Iterator[Figure]:
    """Cut the power at so many moments of every kind of day, and of its controls."""
    logging.getLogger("ringwood").addHandler(logging.NullHandler())
    until = time.monotonic() + options.minutes * 60
    for number, (name, day) in enumerate(DAYS.items()):
        share = len(range(number, options.points, len(DAYS)))
        found: Counter[str] = Counter()
        seed = options.seed
        end = time.monotonic() + (until - time.monotonic()) / (len(DAYS) - number) * 0.8
        while found["cuts"] < share and (time.monotonic() < end or not found):
            recorded = record(day, _empty(options.folder / "day"), seed)
            cuts = min(CUTS, share - found["cuts"])
            for verdict in cut(recorded, options.folder / "left", cuts, seed):
                found += counted([verdict])
                for fault in verdict.faults:
                    say(f"{name}, seed {seed}, {verdict.kind}, {verdict.moment}: {fault}")
            seed += 1
        say(f"{name}: {found['cuts']} cuts in {seed - options.seed} days")
        controls = {
            control: counted(
                cut(change(recorded), options.folder / "left", CONTROL_CUTS, seed, through=1)
            )
            for control, change in CONTROLS[name].items()
        }
        yield Figure(
            f"power cut while {name}",
            found["cuts"],
            ", ".join(f"{found[kind]} {kind}" for kind in _KINDS),
            "; ".join(f"{each}: {n['bad']} of {n['cuts']} bad" for each, n in controls.items()),
            holds=not found["bad"] and all(each["bad"] for each in controls.values()),
        )


_KINDS = ("lost", "twice", "torn", "back", "corrupt", "mirror")


def _empty(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder
