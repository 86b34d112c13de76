"""What the children of a fault trial do to a home, and how they tell what was acknowledged.

A workload is prepared once, run again and again with a fault in it, and finished by whoever opens
the home next. It speaks through `Memory`, as a front end does. Before each change it writes down
what it is about to do and, after the call has returned, that it is done: the judge asks for exactly
what a caller was promised.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.faults.log import Log

from ringwood.capture import spool
from ringwood.capture.exchange import Event
from ringwood.errors import AddressError, NoHomeError, UsageError
from ringwood.memory import Memory
from ringwood.serve.cli.table import COMMANDS

HOME, NOTES, EXPORT, BACKUP = "home", "notes", "export.jsonl", "backup"
"""What lies in the folder of a trial."""
WAIT_S = 60.0
"""How long vectors and mirror may take on a busy machine, seconds."""

KNOWN = "zs000k"
"""Stands in a note that most homes hold before anything is spoiled."""
_TWICE = ("zt000k", "zt001k", "zt002k")
"""Stand in two documents each, until somebody dreams."""
_COPIED = 10
"""Documents of a home that is copied."""

_AGES = (1, 60, 300)
_THINGS = ("heron", "river", "ledger", "lantern", "copper", "orchard", "ferry", "violin")
_DEEDS = ("keeps", "carries", "mends", "follows", "counts", "paints", "measures", "hides")


Step = Callable[[Memory, Log, Path], None]
"""One part of a workload; it is given the memory, the log and the folder of the trial."""


@dataclass(frozen=True, slots=True)
class Workload:
    """Something that is done to a home."""

    embedder: str
    """Of the home."""
    run: Step
    """What is spoiled."""
    prepare: Step = lambda memory, log, trial: None
    """What the home holds before."""
    finish: Step = lambda memory, log, trial: None
    """What a person does afterwards: mostly the same once more."""
    settings: str = ""
    """The home's settings while it is prepared."""
    check: Callable[[Path], Iterator[str]] = lambda trial: iter(())
    """Looks for what is wrong with what lies beside the home, before anybody goes on."""


def named(name: str) -> Workload:
    """Return a workload."""
    return WORKLOADS[name] if name in WORKLOADS else SMALL[name]


def prepare(name: str, trial: str) -> None:
    """Fill a new home for a workload."""
    workload = named(name)
    home = Path(trial, HOME)
    if workload.settings:
        home.mkdir(mode=0o700)
        (home / "config.toml").write_text(workload.settings, "utf-8")
    with_memory(workload.prepare, Path(trial), workload.embedder)
    (home / "config.toml").unlink(missing_ok=True)


def run(name: str, trial: str) -> None:
    """Do what is to be spoiled."""
    workload = named(name)
    with_memory(workload.run, Path(trial), workload.embedder)


def warm_up(folder: Path) -> None:
    """Use once whatever is loaded on first use."""
    for name in ("import", "forget", "rotate"):
        trial = folder / name
        trial.mkdir()
        for step in (prepare, run):
            step(name, str(trial))
        with Memory.open(trial / HOME) as memory:
            memory.recall("heron")
            memory.dream()
            memory.verify()
    for name in {module for _, module in COMMANDS.values()}:
        import_module(f"ringwood.serve.cli.{name}")


def with_memory(step: Step, trial: Path, embedder: str, log: type[Log] = Log) -> None:
    """Open the home of a trial, do something to it, and close it."""
    told = log(trial)
    try:
        with Memory.open(trial / HOME, embedder=embedder, wait_s=WAIT_S) as memory:
            step(memory, told, trial)
    finally:
        told.close()


# -- texts -----------------------------------------------------------------------------------------


def note(key: str, edition: int = 1) -> str:
    """Write a note of three nodes in which the key stands and no other key does."""
    chance = random.Random(f"{key} {edition}")

    def sentence() -> str:
        words = (f"the {chance.choice(_THINGS)} {chance.choice(_DEEDS)}" for _ in range(6))
        return ", ".join(words).capitalize() + "."

    paragraphs = [" ".join(sentence() for _ in range(3)) for _ in range(2)]
    return f"# Note {key}\n\n{paragraphs[0]}\n\n## Edition {edition}\n\n{paragraphs[1]}\n"


def keys(count: int, prefix: str = "zq") -> list[str]:
    """Make words that stand in no other text."""
    return [f"{prefix}{number:03d}k" for number in range(count)]


def _store(memory: Memory, log: Log, key: str, edition: int = 1, age_days: float = 0.0) -> None:
    text = note(key, edition)
    log.begin(key, text)
    memory.store(text, source=key, at=datetime.now(UTC) - timedelta(days=age_days))
    log.done(key, text)


# -- storing, editing, forgetting ------------------------------------------------------------------


def _store_and_edit(memory: Memory, log: Log, trial: Path) -> None:
    for key in keys(8):
        _store(memory, log, key)
    for key in keys(2):
        _store(memory, log, key, edition=2)
    memory.recall(keys(1)[0])
    for key in keys(4, "zr"):
        _store(memory, log, key)


def _store_two(memory: Memory, log: Log, trial: Path) -> None:
    for key in keys(2):
        _store(memory, log, key)
    memory.wait(WAIT_S)


def _one_note(memory: Memory, log: Log, trial: Path) -> None:
    _store(memory, log, KNOWN)


def _one_note_and_a_file(memory: Memory, log: Log, trial: Path) -> None:
    _one_note(memory, log, trial)
    (trial / NOTES).mkdir()
    (trial / NOTES / "zq000k.md").write_text(note("zq000k"), "utf-8")


def _some_notes(memory: Memory, log: Log, trial: Path) -> None:
    _one_note(memory, log, trial)
    for key in keys(9):
        _store(memory, log, key)


def _forget(memory: Memory, log: Log, trial: Path) -> None:
    for key in keys(5):
        log.begin(key, None)
        with suppress(AddressError):  # it is gone already
            memory.forget(source=key)
        log.done(key, None)


def _recall(memory: Memory, log: Log, trial: Path) -> None:
    for _ in range(3):
        memory.recall(KNOWN)
    memory.recent_recalls()


# -- importing -------------------------------------------------------------------------------------


def _write_notes(memory: Memory, log: Log, trial: Path) -> None:
    for part in range(3):
        folder = trial / NOTES / f"part-{part}"
        folder.mkdir(parents=True)
        for key in keys(12)[part::3]:
            (folder / f"{key}.md").write_text(note(key), "utf-8")
    _one_note(memory, log, trial)


def _import(memory: Memory, log: Log, trial: Path) -> None:
    for part in range(3):
        for key in keys(12)[part::3]:
            log.begin(key, note(key))
        memory.import_notes([trial / NOTES / f"part-{part}"])
        for key in keys(12)[part::3]:
            log.done(key, note(key))


# -- capturing -------------------------------------------------------------------------------------


def _said(key: str, place: int, exchange: int) -> Event:
    """Say a key in one of three conversations."""
    return Event(
        host="test",
        session=f"s{exchange % 3}",
        sequence=f"{exchange}",
        kind=("person", "assistant")[place],
        text=f"Of {key} I say that the {random.Random(key).choice(_THINGS)} waits.",
        at=datetime.now(UTC).timestamp(),
    )


def _append(memory: Memory, log: Log, key: str, place: int, exchange: int) -> None:
    event = _said(key, place, exchange)
    log.begin(key, event.text, whole=False)
    spool.append(memory.home, event)
    log.done(key, event.text, whole=False)


def _capture(exchanges: int, memory: Memory, log: Log, trial: Path) -> None:
    for exchange in range(exchanges):
        for place in range(2):
            _append(memory, log, f"zq{exchange:02d}{'pa'[place]}k", place, exchange)
        if exchange % 3 == 2:
            memory.take_in()
    memory.take_in(everything=True)


def _go_on_talking(memory: Memory, log: Log, trial: Path) -> None:
    _append(memory, log, "zr00pk", 0, 9)
    memory.take_in(everything=True)


# -- upkeep ----------------------------------------------------------------------------------------


def _of_all_ages(count: int, memory: Memory, log: Log, trial: Path) -> None:
    for place, key in enumerate([KNOWN, *keys(count - 1)]):
        _store(memory, log, key, age_days=_AGES[place % 3])
    _store(memory, log, keys(1)[0], edition=2, age_days=_AGES[1])


def _rotate(memory: Memory, log: Log, trial: Path) -> None:
    memory.rotate()


def _rotated(memory: Memory, log: Log, trial: Path) -> None:
    _of_all_ages(12, memory, log, trial)
    memory.wait(WAIT_S)
    memory.rotate()


def _edit_old_ones(memory: Memory, log: Log, trial: Path) -> None:
    for place in (0, 1, 3, 4):
        _store(memory, log, keys(5)[place], edition=3, age_days=_AGES[(place + 1) % 3])


def _compact(memory: Memory, log: Log, trial: Path) -> None:
    memory.compact()


def _mirror(memory: Memory, log: Log, trial: Path) -> None:
    _store(memory, log, "zr000k")
    memory.wait(WAIT_S)


def _reindex(memory: Memory, log: Log, trial: Path) -> None:
    memory.reindex("hashing")


def _said_again(memory: Memory, log: Log, trial: Path) -> None:
    """Keep texts of every age, some of them twice."""
    _of_all_ages(6, memory, log, trial)
    for place, key in enumerate(_TWICE):
        text = note(key)
        for copy in range(2):
            at = datetime.now(UTC) - timedelta(days=_AGES[copy * place])
            log.begin(key, text, copies=2)
            memory.store(text, source=f"{key} {copy}", at=at)
        log.done(key, text, copies=2)


def _dream(memory: Memory, log: Log, trial: Path) -> None:
    memory.dream()


def _merged(memory: Memory, log: Log, trial: Path) -> None:
    memory.dream()
    for key in _TWICE:
        log.done(key, note(key))


def _dreamed(memory: Memory, log: Log, trial: Path) -> None:
    _said_again(memory, log, trial)
    memory.wait(WAIT_S)
    _merged(memory, log, trial)


def _undo(memory: Memory, log: Log, trial: Path) -> None:
    for key in _TWICE:
        log.begin(key, note(key), copies=2)
    if memory.dreams():
        memory.undo()
    for key in _TWICE:
        log.done(key, note(key), copies=2)


# -- copying ---------------------------------------------------------------------------------------


def _export(memory: Memory, log: Log, trial: Path) -> None:
    memory.export(trial / EXPORT)


def _back_up(memory: Memory, log: Log, trial: Path) -> None:
    with suppress(UsageError):  # there is one already
        memory.backup(trial / BACKUP)


def _openable(trial: Path) -> Iterator[str]:
    """Open what lies where a backup was to be: it is whole, or no home."""
    with suppress(NoHomeError), Memory.open(trial / BACKUP, wait_s=0.0) as memory:
        if len(memory.recent()) != _COPIED:
            yield f"torn: the backup holds {len(memory.recent())} documents"
        yield from (f"verify: {each.says}" for each in memory.verify().findings)


def _restorable(trial: Path) -> Iterator[str]:
    """Read what lies where an export was to be: it is whole, or not there."""
    if not (trial / EXPORT).exists():
        return
    with Memory.open(trial / "restored", wait_s=0.0) as memory:
        memory.restore(trial / EXPORT)
        if len(memory.recent()) != _COPIED:
            yield f"torn: the export holds {len(memory.recent())} documents"


def _exported(memory: Memory, log: Log, trial: Path) -> None:
    """Leave an export, and a home that holds nothing."""
    with (
        TemporaryDirectory() as folder,
        Memory.open(folder, embedder="hashing", wait_s=WAIT_S) as full,
    ):
        for key in [KNOWN, *keys(9)]:
            full.store(note(key), source=key)
        full.wait(WAIT_S)
        full.export(trial / EXPORT)


def _restore(memory: Memory, log: Log, trial: Path) -> None:
    for key in [KNOWN, *keys(9)]:
        log.begin(key, note(key))
    with suppress(UsageError):  # it holds something already
        memory.restore(trial / EXPORT)
    for key in [KNOWN, *keys(9)]:
        log.done(key, note(key))


_NO_MIRROR = "[mirror]\nenabled = false\n"

WORKLOADS = {
    "store": Workload("words", _store_and_edit),
    "store with vectors": Workload("hashing", _store_and_edit),
    "forget": Workload("hashing", _forget, _some_notes, _forget),
    "import": Workload("hashing", _import, _write_notes, _import),
    "capture": Workload("words", partial(_capture, 9), finish=_go_on_talking),
    "rotate": Workload("hashing", _rotate, partial(_of_all_ages, 12), _rotate),
    "edit in older tiers": Workload("hashing", _edit_old_ones, _rotated, _rotate),
    "compact": Workload("hashing", _compact, _rotated, _compact),
    "mirror": Workload("words", _mirror, _some_notes, settings=_NO_MIRROR),
    "reindex": Workload("words", _reindex, _some_notes, _reindex),
    "dream": Workload("hashing", _dream, _said_again, _merged),
    "undo a dream": Workload("hashing", _undo, _dreamed, _undo),
    "export": Workload("hashing", _export, _some_notes, _export, check=_restorable),
    "backup": Workload("hashing", _back_up, _some_notes, _back_up, check=_openable),
    "restore": Workload("hashing", _restore, _exported, _restore),
}
"""By what is done. What is prepared is complete, vectors and mirror, before it is spoiled."""

SMALL = {
    "few stored": Workload("hashing", _store_two, _one_note_and_a_file),
    "few imported": Workload("hashing", _import, _write_notes, _import),
    "few captured": Workload("words", partial(_capture, 2), _one_note, _go_on_talking),
    "few rotated": Workload("hashing", _rotate, partial(_of_all_ages, 3), _rotate),
    "few compacted": Workload("hashing", _compact, partial(_of_all_ages, 3), _compact),
    "few dreamed of": Workload("hashing", _dream, _said_again, _merged),
    "few mirrored": Workload("words", _mirror, _one_note, settings=_NO_MIRROR),
    "few recalled": Workload("hashing", _recall, _one_note),
    "few forgotten": Workload("hashing", _forget, _some_notes, _forget),
    "few backed up": Workload("hashing", _back_up, _some_notes, _back_up, check=_openable),
    "few exported": Workload("hashing", _export, _some_notes, _export, check=_restorable),
}
"""The same with so few calls that every one of them can be tried."""
