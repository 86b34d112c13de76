"""What a home owes after a fault: all that was acknowledged, once, whole, and nothing forgotten.

A workload notes in a `Ledger` what every call changes, when it began and when it returned. At any
moment between, what the call was to change may be as it was before or as it is after.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from ringwood import config
from ringwood import home as homes
from ringwood.capture import spool
from ringwood.capture.consent import is_paused_everywhere
from ringwood.errors import AddressError
from ringwood.memory import Memory
from ringwood.types import Document, Dropped, Hit

PAUSED = "capture is paused"
SETTING = "budget.max_nodes"
"""Keys of what is no document. Others are source keys."""

Value = tuple[str, ...] | None
"""What stands under a key: texts that must all be in it; None: nothing does."""


@dataclass(frozen=True, slots=True)
class Step:
    """One call and what it changes."""

    begun: int
    """When it was made, in changes of the log."""
    done: int
    """When it returned."""
    changes: Mapping[str, Value]
    """What stands under which key afterwards."""
    what: str = ""
    """Its name, where somebody asks for it."""


@dataclass(slots=True)
class Ledger:
    """What was asked of a home, in order, and when it was acknowledged."""

    clock: Callable[[], int]
    """Counts the changes of the log so far."""
    steps: list[Step] = field(default_factory=list)

    @contextmanager
    def step(self, what: str = "") -> Iterator[dict[str, Value]]:
        """Note a call, made inside, that changes what is put into the dictionary."""
        begun = self.clock()
        changes: dict[str, Value] = {}
        yield changes
        self.steps.append(Step(begun, self.clock(), changes, what))

    def allowed(self, moment: int) -> dict[str, set[Value]]:
        """Say what may stand under each key at a moment."""
        allowed: defaultdict[str, set[Value]] = defaultdict(lambda: {None})
        for step in self.steps:
            for key, value in step.changes.items():
                if step.done <= moment:
                    allowed[key] = {value}
                elif step.begun < moment:
                    allowed[key] = allowed[key] | {value}
                else:
                    allowed[key] = allowed[key] | set()  # known of, and not there yet
        return dict(allowed)


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is not as it must be."""

    kind: str
    """`lost`, `twice`, `torn`, `back` (it was forgotten or replaced), `corrupt`, `mirror`."""
    what: str
    """Which, for whoever looks into it."""


def judge(home: Path, allowed: Mapping[str, set[Value]], chance: random.Random) -> list[Fault]:
    """Open a home after a fault as a person would, and say all that is not as it must be."""
    try:
        return [*_judged(home, allowed, chance), *_damage(home)]
    except Exception as error:  # noqa: BLE001 - whatever a person would see of a broken home
        return [Fault("corrupt", f"{type(error).__name__}: {error}")]


def _judged(
    home: Path, allowed: Mapping[str, set[Value]], chance: random.Random
) -> Iterator[Fault]:
    found = _plain(home)
    with Memory.open(home, embedder="hashing", wait_s=0.0) as memory:
        memory.take_in(everything=True)
        for name, reason in spool.set_aside(str(home)):
            yield Fault("torn", f"event {name}: {reason}")
        documents = _documents(memory) if homes.exists(str(home)) else []
        texts = {each.id: memory.read(f"{each.space}:{each.path}").source for each in documents}
        for document in documents:
            text = texts[document.id]
            if hashlib.sha256(text.encode()).hexdigest() != document.sha256:
                yield Fault("torn", str(document.source))
            if document.source in found:
                yield Fault("twice", str(document.source))
            found[str(document.source)] = text
        yield from _compared(found, allowed)
        if documents:
            yield from _answers(memory, chance.choice(documents), texts)
            yield from _placed(memory, documents)
        yield from _goes_on(memory)


def looked_through(home: Path) -> Iterator[Fault]:
    """Say what is wrong with words, vectors and mirror once a home had time to catch up."""
    root = home / homes.MIRROR_FOLDER
    with Memory.open(home, embedder="hashing", wait_s=60.0) as memory:
        memory.store("Something to write wakes whoever writes the mirror.", source="waker")
        memory.dream()  # which finishes one that was cut short
        memory.wait()
        owed = {memory.read(f"{each.space}:{each.path}").source for each in _documents(memory)}
        for finding in memory.verify().findings:
            # A text that is half forgotten is one whose command never returned.
            if finding.level != "untidy" and finding.what != "forgotten":
                yield Fault("corrupt", f"{finding.what}, {finding.where}: {finding.says}")
    held = []
    for file in root.rglob("*"):
        if file.is_file():
            _, ends, text = file.read_text("utf-8").partition("\n---\n")
            held.append(text if ends else f"a draft, {file.name}")
    yield from (Fault("mirror", f"misses {text[:40]!r}") for text in owed - set(held))
    yield from (Fault("mirror", f"shows {text[:40]!r}") for text in held if text not in owed)


def _plain(home: Path) -> dict[str, str]:
    """Read what is no document."""
    found = {}
    if is_paused_everywhere(str(home)):
        found[PAUSED] = "yes"
    setting = config.setting(str(home), SETTING)
    if setting.origin == homes.CONFIG_FILE:
        found[SETTING] = str(setting.value)
    return found


def _documents(memory: Memory) -> list[Document]:
    return [
        document
        for space in memory.spaces()
        for document in memory.within(space=space).recent(limit=10_000)
        if document.space == space
    ]


def _compared(found: Mapping[str, str], allowed: Mapping[str, set[Value]]) -> Iterator[Fault]:
    for key, values in allowed.items():
        text = found.get(key)
        if text is None and None not in values:
            yield Fault("lost", key)
        elif text is not None and not any(_holds(text, value) for value in values):
            yield Fault("back" if None in values else "lost", key)
    yield from (Fault("back", key) for key in found.keys() - allowed.keys())


def _holds(text: str, value: Value) -> bool:
    return value is not None and all(part in text for part in value)


def _answers(memory: Memory, document: Document, texts: Mapping[int, str]) -> Iterator[Fault]:
    """Ask for a text by its rarest word."""
    counts = Counter(word for text in texts.values() for word in set(text.split()))
    word = min(texts[document.id].split(), key=lambda each: (counts[each], -len(each)))
    answer = memory.recall(word, floor=0.0)
    candidates: list[Hit | Dropped] = [*answer.hits, *answer.dropped]
    by_words = {
        each.document
        for each in candidates
        if any(term.name == "lexical" and term.value > 0 for term in each.terms)
    }
    if str(document.id) not in by_words:
        yield Fault("lost", f"words of {document.source}")


def _placed(memory: Memory, documents: list[Document]) -> Iterator[Fault]:
    """Have what a fault interrupted finished: then each document lies in one file.

    But for a copy that a move to a hotter tier leaves for a minute, for readers who began before:
    of that the next rotation must know.
    """
    memory.rotate()
    told = memory.stats()
    yield from (Fault("lost", f"the {tier} tier") for tier in told.missing_tiers)
    counts = {tier: held["documents"] for tier, held in told.tiers.items()}
    if sum(counts.values()) != len(documents) + memory.rotate(dry_run=True).copies:
        yield Fault("twice", f"{len(documents)} documents lie as {counts}")
    if {each.id for each in _documents(memory)} != {each.id for each in documents}:
        yield Fault("lost", "in a rotation afterwards")


def _goes_on(memory: Memory) -> Iterator[Fault]:
    """Store one more, by which everything must go on."""
    receipt = memory.store("After the fault life goes on as it was.", source="afterwards")
    try:
        memory.read(receipt.address)
    except AddressError:
        yield Fault("lost", "what was stored afterwards")


def _damage(home: Path) -> Iterator[Fault]:
    for file in home.glob("*.db"):
        try:
            with closing(apsw.Connection(str(file))) as connection:
                verdict = connection.pragma("quick_check")
        except apsw.Error as error:
            verdict = str(error)
        if verdict != "ok":
            yield Fault("corrupt", f"{file.name}: {verdict}")
