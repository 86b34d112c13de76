"""Days in the life of a home: what a person and an agent do with it, each call noted in a ledger.

Every day begins with no home at all. It speaks through `Memory` and what the hosts call, never
through what lies below.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.faults.promised import PAUSED, SETTING, Ledger

from ringwood import config
from ringwood.capture import consent, spool
from ringwood.capture.exchange import admit, conversation
from ringwood.embed.hashing import HashingEmbedder
from ringwood.memory import Memory

WORDS = tuple(
    """
    harbour ferry timetable winter crossing ledger keeper lantern mooring tide gauge pilot signal
    crane customs berth rope anchor chart compass deck engine fender gangway hatch keel ladder mast
    oar pier quay rudder sail tiller vessel wharf buoy cargo draught hull jetty lock
    """.split()  # noqa: SIM905 - as words, not as ninety quotation marks
)

Day = Callable[["Person"], None]
"""What is done on a day."""


class Person:
    """Somebody who keeps things in a home and notes what was promised."""

    def __init__(self, home: Path, ledger: Ledger, chance: random.Random) -> None:
        """Have nothing kept yet."""
        self.home = home
        self.chance = chance
        self._ledger = ledger
        self._serial = itertools.count()
        self._said: dict[str, tuple[str, ...]] = {}

    def memory(self, wait_s: float = 10.0) -> Memory:
        """Open the home."""
        return Memory.open(self.home, embedder="hashing", wait_s=wait_s)

    def text(self, paragraphs: int = 0) -> str:
        """Write something that nobody has written before."""
        number = paragraphs or self.chance.choice((1, 1, 2, 3, 12))
        return "\n\n".join([f"# {self._sentence(4)}", *(self._sentence() for _ in range(number))])

    def _sentence(self, length: int = 0) -> str:
        chosen = self.chance.choices(WORDS, k=length or self.chance.randint(8, 60))
        return " ".join([*chosen, f"{self.chance.choice(WORDS)}{self.chance.getrandbits(32):08x}"])

    def store(
        self, memory: Memory, text: str | None = None, *, key: str | None = None, age_days: int = 0
    ) -> str:
        """Store a text, by default a new one, and return its key."""
        told = text or self.text()
        key = key or f"note-{next(self._serial)}"
        at = datetime.now(UTC) - timedelta(days=age_days) if age_days else None
        with self._ledger.step() as changes:
            changes[key] = (told,)
            memory.store(told, source=key, at=at)
        return key

    def forget(self, memory: Memory, key: str) -> None:
        """Forget a document."""
        with self._ledger.step() as changes:
            changes[key] = None
            memory.forget(source=key)

    def cut_out(self, memory: Memory, key: str) -> None:
        """Forget the last paragraph of a document."""
        [document] = [each for each in memory.recent(limit=1000) if each.source == key]
        root = memory.read(f"{document.space}:{document.path}")
        last = memory.read(f"{document.space}:{root.children[-1].path}")
        with self._ledger.step() as changes:
            changes[key] = (root.source[: last.node.span[0]].strip(),)
            memory.forget(f"{document.space}:{last.node.path}")

    def ask(self, session: str, sequence: int, text: str | None = None) -> str:
        """Catch what a person says, as a host's hook does; return the key of the exchange."""
        return self._hear(session, sequence, "person", text or self.text(1))

    def answer(self, session: str, sequence: int) -> str:
        """Catch what the assistant answers; return the key of the exchange."""
        return self._hear(session, sequence, "assistant", self.text())

    def _hear(self, session: str, sequence: int, kind: str, text: str) -> str:
        event = admit(
            host="somewhere",
            session=session,
            sequence=str(sequence),
            kind=kind,
            text=text,
            at=time.time(),
            directory="",
        )
        assert event is not None
        key = f"{conversation('somewhere', session)}:{sequence}"
        self._said[key] = (*self._said.get(key, ()), text)
        with self._ledger.step() as changes:
            changes[key] = self._said[key]
            spool.append(str(self.home), event)
        return key

    def rotate(self, memory: Memory) -> None:
        """Move documents to the tier of their age, which changes nothing of them."""
        with self._ledger.step("rotate"):
            memory.rotate()

    def dream(self, memory: Memory, texts: Mapping[str, str]) -> None:
        """Have those texts merged that say the same; who survives is the memory's choice."""
        with self._ledger.step() as changes:
            memory.dream()
            there = {each.source for each in memory.recent(limit=1000)}
            changes.update({key: None for key in texts if key not in there})

    def undo(self, memory: Memory, texts: Mapping[str, str]) -> None:
        """Take the last dream back, which brings these texts back."""
        with self._ledger.step() as changes:
            changes.update({key: (text,) for key, text in texts.items()})
            memory.undo()

    def forget_twins(self, memory: Memory, keys: Iterable[str]) -> None:
        """Forget a text that others were merged into."""
        there = {each.source for each in memory.recent(limit=1000)}
        with self._ledger.step() as changes:
            changes.update(dict.fromkeys(keys))
            for key in keys:
                if key in there:
                    memory.forget(source=key)

    @contextmanager
    def elsewhere(self) -> Iterator[tuple[Memory, dict[str, str]]]:
        """Open another home, with some documents of several ages in it; say which."""
        texts = {f"copied-{number}": self.text() for number in range(4)}
        with Memory.open(self.home.parent / "elsewhere", embedder="hashing") as memory:
            for number, (key, text) in enumerate(texts.items()):
                at = datetime.now(UTC) - timedelta(days=90 * number)
                memory.store(text, source=key, at=at)
            memory.rotate()
            yield memory, texts

    def restore(self, export: Path, texts: Mapping[str, str]) -> None:
        """Make this home what an export was made of."""
        with self.memory() as memory, self._ledger.step() as changes:
            changes.update({key: (text,) for key, text in texts.items()})
            memory.restore(export)

    def back_up(self, memory: Memory, texts: Mapping[str, str]) -> None:
        """Make this home as a backup of another one."""
        with self._ledger.step() as changes:
            changes.update({key: (text,) for key, text in texts.items()})
            memory.backup(self.home)

    def pause(self) -> None:
        """Pause capture."""
        with self._ledger.step() as changes:
            changes[PAUSED] = ("yes",)
            consent.pause(str(self.home), None)

    def set_up(self, nodes: int) -> None:
        """Change a setting."""
        with self._ledger.step() as changes:
            changes[SETTING] = (str(nodes),)
            config.set_value(str(self.home), SETTING, str(nodes))


def writing(person: Person) -> None:
    """Store, edit and forget, from the moment when there is no home."""
    chance = person.chance
    with person.memory() as memory:
        keys = [person.store(memory) for _ in range(chance.randint(2, 5))]
        person.store(memory, key=chance.choice(keys))
    with person.memory() as memory:
        keys += [person.store(memory, person.text(3)) for _ in range(chance.randint(2, 5))]
        memory.wait()
        person.cut_out(memory, keys[-1])
        person.forget(memory, keys.pop(chance.randrange(len(keys) - 1)))
        person.store(memory, key=keys[0])
        memory.recall("ferry timetable")
        person.store(memory)


def ageing(person: Person) -> None:
    """Let documents go from tier to tier, and change and forget some on the way."""
    chance = person.chance
    ages = [0, 3, 45, 60, 90, 250, 300, 500]
    chance.shuffle(ages)
    with person.memory() as memory:
        keys = {person.store(memory, age_days=age): age for age in ages}
    with person.memory() as memory:
        person.rotate(memory)
        old = [key for key, age in keys.items() if age > 30]
        chance.shuffle(old)
        person.forget(memory, old[0])
        person.store(memory, key=old[1])  # edited where it lies
        for _ in range(3):
            person.store(memory, age_days=chance.choice((0, 50, 400)))
        person.rotate(memory)
        memory.compact()
        person.cut_out(memory, person.store(memory, person.text(2)))


def listening(person: Person) -> None:
    """Catch what is said, and store it when it is due, with events that come in between."""
    chance = person.chance
    for sequence in (1, 2):
        person.ask("morning", sequence)
        person.answer("morning", sequence)
    person.set_up(chance.randint(2, 9))
    with person.memory() as memory:
        memory.take_in()
        person.ask("evening", 1)
        person.ask("morning", 3)
        memory.take_in()
        person.answer("morning", 3)
        memory.take_in(everything=chance.random() < 0.5)
    person.pause()
    person.answer("evening", 1)
    person.set_up(chance.randint(10, 20))
    with person.memory() as memory:
        person.ask("evening", 2)
        heard = person.answer("evening", 2)
        memory.take_in(everything=True)
        person.forget(memory, heard)
        person.ask("night", 1)
        person.answer("night", 1)


def tending(person: Person) -> None:
    """Merge what says the same and take it back, and go over to another embedder."""
    with person.memory() as memory:
        for _ in range(3):
            person.store(memory)
        first, second = person.text(2), person.text(3)
        pairs = [
            {person.store(memory, told): told for told in (text, f"{text}\n")}
            for text in (first, second)
        ]
        memory.wait()
        person.dream(memory, pairs[0] | pairs[1])
        person.store(memory)
        person.forget_twins(memory, pairs[0])
        person.undo(memory, pairs[1])
    with person.memory() as memory:
        memory.reindex(HashingEmbedder(dim=128))
        person.store(memory)


def copying(person: Person) -> None:
    """Begin a home as what another one was exported as, or as its backup, and go on in it."""
    chance = person.chance
    with person.elsewhere() as (memory, texts):
        if chance.random() < 0.5:
            memory.export(person.home.parent / "export.jsonl")
            person.restore(person.home.parent / "export.jsonl", texts)
        else:
            person.back_up(memory, texts)
    with person.memory() as memory:
        person.store(memory)
        person.store(memory, key=chance.choice(list(texts)))
        person.forget(memory, person.store(memory))


DAYS: dict[str, Day] = {
    "storing, editing, forgetting": writing,
    "rotating hot, warm, cold": ageing,
    "capturing and taking in": listening,
    "dreaming, undoing, reindexing": tending,
    "restoring, backing up": copying,
}
"""Every day, by what is done."""
