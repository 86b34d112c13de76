"""Whatever is done to a memory, in whatever order: it holds what a dict of documents holds.

A machine of hypothesis takes the steps, through two memories that are open on one home, and through
children that are killed in the middle. After each step a word is asked for that should be found,
and one that should not; now and then everything is compared.
"""

from __future__ import annotations

import io
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)
from tests.faults.model import Entry, Model, text_of
from tests.faults.report import Figure, Torture

from ringwood.capture import spool
from ringwood.capture.exchange import Event
from ringwood.errors import AddressError
from ringwood.memory import Memory
from ringwood.types import Receipt

SPACES = ("global", "app")
AGES = (0, 60, 300)
"""Days: of the hot, the warm and the cold tier."""
RUN_STEPS = 50
"""Steps that hypothesis takes from one empty home."""

Item = TypeVar("Item")

picks = st.integers(min_value=0, max_value=10_000)
spaces = st.sampled_from(SPACES)


class Machine(RuleBasedStateMachine):
    """Steps over a memory and its model."""

    steps = 0
    """Steps of all runs of this class."""

    def __init__(self) -> None:
        """Make an empty home, open it twice."""
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="stateful-"))
        self.home = self.folder / "home"
        self.model = self.new_model()
        self.made = 0
        self.exchanges = 0
        self.memory, self.other = self._open(), self._open()
        self.memory.create()

    def new_model(self) -> Model:
        """Make the model; a control gives one that is wrong."""
        return Model()

    def teardown(self) -> None:
        """Compare everything once more, and leave nothing behind."""
        try:
            self.check_everything()
        finally:
            self.memory.close()
            self.other.close()
            shutil.rmtree(self.folder)

    # -- storing -------------------------------------------------------------------------------

    @rule(
        space=spaces,
        paragraphs=st.integers(min_value=1, max_value=3),
        age=st.sampled_from(AGES),
        has_source=st.booleans(),
    )
    def store(self, space: str, paragraphs: int, age: int, has_source: bool) -> None:
        """Store a new text."""
        words = [self._word() for _ in range(paragraphs)]
        source = f"key/{words[0]}" if has_source else None
        at = datetime.now(UTC) - timedelta(days=age)
        receipt = self._in(space).store(text_of(words), source=source, at=at)
        assert receipt.state == "ready"
        self._add(space, words, receipt, source)

    @rule(pick=picks)
    def store_again(self, pick: int) -> None:
        """Store what is there."""
        if not self._notes():
            self._pass()
            return
        entry = self._note(pick)
        receipt = self._in(entry.space).store(entry.given, source=entry.source)
        assert receipt.state == "existing"
        if entry.source is not None:  # without a key, a document of the same text is as good
            assert receipt.document == entry.document

    @rule(pick=picks)
    def store_forgotten(self, pick: int) -> None:
        """Store what was forgotten."""
        if not self.model.gone:
            self._pass()
            return
        entry = _picked(self.model.gone, pick)
        if entry.is_exchange or any(
            entry.text == each.text and entry.space == each.space
            for each in self.model.entries.values()
        ):
            self._pass()
            return
        receipt = self._in(entry.space).store(entry.text, source=entry.source)
        assert receipt.state == "forgotten"

    @rule(pick=picks, keep=st.booleans(), moves=st.booleans())
    def edit(self, pick: int, keep: bool, moves: bool) -> None:
        """Store another text under the source key or in the place of a document."""
        if not self._notes():
            self._pass()
            return
        handle, entry = _picked(self._notes(), pick)
        words = [*(entry.words[:2] if keep else ()), self._word()]
        path = f"/moved/{words[-1]}" if moves else None
        memory = self._in(entry.space)
        if entry.source is not None:
            receipt = memory.store(text_of(words), source=entry.source, path=path)
        else:
            receipt = memory.store(text_of(words), replace=entry.address, path=path)
        assert receipt.document == entry.document
        self.model.edit(handle, words)
        self._moved(entry, receipt.address)

    # -- capturing -----------------------------------------------------------------------------

    @rule(take_in=st.booleans())
    def capture(self, take_in: bool) -> None:
        """Hand over an exchange as a hook does, and take it in at once or in a child."""
        word = self._word()
        self.exchanges += 1
        for kind, text in (("person", f"What of {word}?"), ("assistant", "It waits."), ("end", "")):
            event = Event(
                host="test",
                session="session",
                sequence=str(self.exchanges),
                kind=kind,
                text=text,
                at=time.time(),
            )
            spool.append(str(self.home), event)
        if not take_in:
            self._killed(lambda memory, told: memory.take_in(everything=True), 8)
        self.memory.take_in(everything=True)
        hit = self._hit(word, "global")
        self.model.add(Entry("global", [word], hit.document, hit.address, is_exchange=True))

    # -- forgetting ----------------------------------------------------------------------------

    @rule(pick=picks, by=st.sampled_from(("address", "document", "source")))
    def forget(self, pick: int, by: str) -> None:
        """Forget a document."""
        if not self.model.entries:
            self._pass()
            return
        handle, entry = _picked(list(self.model.entries.items()), pick)
        memory = self._in(entry.space)
        if by == "source" and entry.source is not None:
            memory.forget(source=entry.source)
        elif by == "document":
            memory.forget(document=entry.document)
        else:
            memory.forget(entry.address)
        self.model.forget(handle)

    @rule(pick=picks, which=picks)
    def forget_paragraph(self, pick: int, which: int) -> None:
        """Forget one paragraph of a document."""
        if not any(len(entry.words) > 1 for _, entry in self._notes()):
            self._pass()
            return
        handle, entry = _picked([each for each in self._notes() if len(each[1].words) > 1], pick)
        word = _picked(entry.words, which)
        memory = self._in(entry.space)
        lines = memory.tree(entry.address, depth=9)[1:]
        [node] = [line.node for line in lines if word in line.node.text]
        memory.forget(f"{entry.space}:{node.path}")
        was_title = word == entry.words[0]
        self.model.forget_paragraph(handle, word)
        if was_title:  # it was the head of its addresses: they lead nowhere any more
            entry.address, entry.former = self._address_of(entry), []

    @rule(chance=st.integers(min_value=0, max_value=3))
    def forget_space(self, chance: int) -> None:
        """Forget all of a space, one time in four."""
        if "app" not in self.model.count():
            self._pass()
            return
        if chance:
            self._pass()
            return
        self.memory.forget(space="app")
        for handle, entry in list(self.model.entries.items()):
            if entry.space == "app":
                self.model.forget(handle)

    # -- upkeep --------------------------------------------------------------------------------

    @rule()
    def rotate(self) -> None:
        """Move everything to the tier of its age."""
        self.other.rotate()
        assert self.memory.rotate(dry_run=True).waiting == 0

    @rule()
    def compact(self) -> None:
        """Make the files small."""
        assert not self.memory.compact().later

    @rule(copied=st.lists(picks, max_size=3), takes_back=st.booleans())
    def dream(self, copied: list[int], takes_back: bool) -> None:
        """Store copies of documents, merge what says the same, and take that back or not."""
        for pick in copied:
            if self._notes():
                self._store_copy(self._note(pick))
        runs = {run.id for run in self.memory.dreams()}
        self.other.dream()
        merged = self._merged()
        new = [run for run in self.memory.dreams() if run.id not in runs]
        assert sum(run.merges for run in new) == len(merged)
        assert sum(self.memory.spaces().values()) == len(self.model.entries) - len(merged)
        if takes_back and new:
            self.memory.undo(new[0].id)
            for pair in merged:
                for handle in pair:
                    self.model.entries[handle].apart = True
            self.check_everything()
            return
        for goes, stays in merged:
            self.model.merge(goes, stays)

    @rule()
    def export_and_restore(self) -> None:
        """Make another home of this one: the same bytes come out of it."""
        first, second = io.BytesIO(), io.BytesIO()
        self.memory.export(first)
        copy = self.folder / "copy"
        with Memory.open(copy, wait_s=0.0) as memory:
            memory.restore(io.BytesIO(first.getvalue()))
            memory.export(second)
        shutil.rmtree(copy)
        assert first.getvalue() == second.getvalue()

    # -- processes -----------------------------------------------------------------------------

    @rule()
    def reopen(self) -> None:
        """Close one of the two and open it again."""
        self.memory.close()
        self.memory = self._open()
        self.check_everything()

    @rule(space=spaces, stores=st.integers(min_value=1, max_value=4), after_ms=st.integers(0, 60))
    def kill_while_storing(self, space: str, stores: int, after_ms: int) -> None:
        """Kill a child that stores: what it was told is there, and of the rest all or nothing."""
        words = [self._word() for _ in range(stores)]

        def store(memory: Memory, told: Callable[[str], None]) -> None:
            for word in words:
                memory.within(space=space).store(text_of([word]))
                told(word)

        acknowledged = self._killed(store, after_ms)
        for word in words:
            hits = [hit for hit in self._in(space).recall(word).hits if word in hit.text]
            assert hits or word not in acknowledged, f"{word} was acknowledged and is gone"
            if hits:
                [document] = {hit.document for hit in hits}
                address = self._root_of(hits[0].address, space)
                self.model.add(Entry(space, [word], document, address))

    @rule(pick=picks, after_ms=st.integers(0, 60))
    def kill_while_forgetting(self, pick: int, after_ms: int) -> None:
        """Kill a child that forgets: given again, the command forgets what is left."""
        if not self.model.entries:
            self._pass()
            return
        handle, entry = _picked(list(self.model.entries.items()), pick)
        self._killed(lambda memory, told: memory.forget(document=entry.document), after_ms)
        with suppress(AddressError):
            self._in(entry.space).forget(document=entry.document)
        self.model.forget(handle)

    @rule(work=st.sampled_from(("rotate", "compact")), after_ms=st.integers(0, 60))
    def kill_while_tending(self, work: str, after_ms: int) -> None:
        """Kill a child that moves or shrinks: nothing changes."""
        self._killed(lambda memory, told: getattr(memory, work)(), after_ms)
        self.check_everything()

    # -- comparing -----------------------------------------------------------------------------

    @invariant()
    def counts_agree(self) -> None:
        """Compare the number of documents and what two words find; go on with the other memory."""
        type(self).steps += 1
        self.memory, self.other = self.other, self.memory
        assert self.memory.spaces() == self.model.count()
        live = list(self.model.entries.values())
        if live:
            self._check_words(live[self.made % len(live)])
        dead = sorted(self.model.dead_words)
        if dead:
            word = dead[self.made % len(dead)]
            for space in SPACES:
                assert not self._found(word, space), f"{word} was forgotten and is found"

    def check_everything(self) -> None:
        """Compare every document: its text, its addresses, and what its words find."""
        assert self.memory.spaces() == self.model.count()
        for entry in self.model.entries.values():
            for address in (entry.address, *entry.former):
                view = self.memory.read(address)
                assert str(view.document.id) == entry.document
            if not entry.is_exchange:
                # What stood around a forgotten paragraph stays: blank lines.
                said = list(filter(None, self.memory.read(entry.address).source.splitlines()))
                assert said == list(filter(None, entry.text.splitlines()))
            self._check_words(entry)
        for word in self.model.dead_words:
            assert not self._found(word, "app"), f"{word} was forgotten and is found"

    def _check_words(self, entry: Entry) -> None:
        for word in entry.words:
            holders = {each.document for each in self.model.holders(word, entry.space)}
            found = self._found(word, entry.space)
            assert found, f"{word} is not found"
            assert found <= holders

    # -- what the steps are made of ------------------------------------------------------------

    def _pass(self) -> None:
        """Take no step: which are drawn may not hang on what a kill left."""
        type(self).steps -= 1

    def _store_copy(self, entry: Entry) -> None:
        """Store what differs from a document in blanks only, unless there is such a copy."""
        text = text_of(entry.words, spaced=True)
        twins = [each for each in self.model.entries.values() if each.words == entry.words]
        kept = self.model.left_of(entry.space, entry.words)
        if len(twins) > 1 or self.model.is_forgotten(entry.space, text) or kept != entry.words:
            return
        receipt = self._in(entry.space).store(text)
        if entry.spaced or entry.has_merged:
            assert receipt.state == "existing"
            return
        self._add(entry.space, list(entry.words), receipt, spaced=True)

    def _open(self) -> Memory:
        return Memory.open(self.home, embedder="words", wait_s=0.0)

    def _in(self, space: str) -> Memory:
        return self.memory.within(space=space)

    def _word(self) -> str:
        """Make a word that no text has, and no stemmer shortens."""
        self.made += 1
        return "q" + "".join(chr(ord("a") + int(digit)) for digit in f"{self.made:05}") + "q"

    def _notes(self) -> list[tuple[int, Entry]]:
        return [each for each in self.model.entries.items() if not each[1].is_exchange]

    def _note(self, pick: int) -> Entry:
        return _picked(self._notes(), pick)[1]

    def _add(
        self,
        space: str,
        words: list[str],
        receipt: Receipt,
        source: str | None = None,
        *,
        spaced: bool = False,
    ) -> None:
        self.model.add(Entry(space, words, receipt.document, receipt.address, source, spaced))

    def _moved(self, entry: Entry, address: str) -> None:
        """Note where a document lies now; where it lay leads to it still."""
        if address != entry.address:
            entry.former.append(entry.address)
            entry.address = address

    def _address_of(self, entry: Entry) -> str:
        [path] = [
            document.path
            for document in self._in(entry.space).recent(limit=1000)
            if str(document.id) == entry.document
        ]
        return f"{entry.space}:{path}"

    def _root_of(self, address: str, space: str) -> str:
        return f"{space}:{self.memory.read(address).document.path}"

    def _found(self, word: str, space: str) -> set[str]:
        hits = self._in(space).recall(word, counted=False).hits
        return {hit.document for hit in hits if word in hit.text}

    def _hit(self, word: str, space: str) -> Entry:
        hits = [hit for hit in self._in(space).recall(word).hits if word in hit.text]
        [document] = {hit.document for hit in hits}
        return Entry(space, [word], document, self._root_of(hits[0].address, space))

    def _merged(self) -> list[tuple[int, int]]:
        """Pair the document that went with the one that stayed, of each pair that says the same."""
        merged = []
        entries = list(self.model.entries.items())
        for place, (handle, entry) in enumerate(entries):
            for other, twin in entries[place + 1 :]:
                same = (twin.space, twin.words, twin.folder) == (
                    entry.space,
                    entry.words,
                    entry.folder,
                )
                if not same or entry.apart or twin.apart:
                    continue
                stays = str(self.memory.read(entry.address).document.id)
                assert stays == str(self.memory.read(twin.address).document.id)
                pair = (handle, other) if stays == twin.document else (other, handle)
                assert stays == self.model.entries[pair[1]].document
                merged.append(pair)
        return merged

    def _killed(
        self, work: Callable[[Memory, Callable[[str], None]], object], after_ms: int
    ) -> list[str]:
        """Let a child work on a memory of its own, and kill it; give the lines that it told."""
        listen, tell = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                memory = self._open()
                work(memory, lambda line: _tell(tell, line))
                memory.close()
            finally:
                os._exit(0)
        os.close(tell)
        time.sleep(after_ms / 1000)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        with os.fdopen(listen) as lines:
            return lines.read().split()


def _tell(pipe: int, line: str) -> None:
    os.write(pipe, f"{line}\n".encode())


def _picked(items: Sequence[Item], pick: int) -> Item:
    return items[pick % len(items)]


def run(machine: type[Machine], *, runs: int, number: int | None = None) -> None:
    """Take steps from so many empty homes; the same ones each time, unless a number is given.

    Raises:
        AssertionError: when memory and model differ.
    """
    options = settings(
        max_examples=runs,
        stateful_step_count=RUN_STEPS,
        derandomize=number is None,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    if number is not None:
        seed(number)(machine)
    run_state_machine_as_test(machine, settings=options)


def torture(options: Torture, say: Callable[[str], None]) -> Iterable[Figure]:
    """Take five steps for each point, by one seed after the other."""
    Machine.steps, differences, number = 0, 0, options.seed
    until = time.monotonic() + options.minutes * 60
    while Machine.steps < 5 * options.points and time.monotonic() < until:
        try:
            run(Machine, runs=10, number=number)
        except Exception as error:  # noqa: BLE001 - told, and the next seed
            differences += 1
            say(f"seed {number}: {type(error).__name__}: {error}\n" + "\n".join(_notes(error)))
        number += 1
        say(f"{Machine.steps:,} steps, {differences} differences")
    caught = {model.__name__: is_caught(model) for model in (Forgetful, Doubling)}
    yield Figure(
        "steps of every kind, kills among them, against a model",
        Machine.steps,
        f"{differences} differences, {number - options.seed} seeds",
        "; ".join(f"{name} model {'caught' if yes else 'MISSED'}" for name, yes in caught.items()),
        holds=not differences and all(caught.values()),
    )


def _notes(error: Exception) -> list[str]:
    return getattr(error, "__notes__", [])


class Forgetful(Model):
    """A wrong model: what is forgotten is still there."""

    def forget(self, handle: int) -> None:
        """Forget nothing."""


class Doubling(Model):
    """A wrong model: it does not know that a dream merges."""

    def merge(self, handle: int, survivor: int) -> None:
        """Keep both."""


def with_model(model: type[Model]) -> type[Machine]:
    """Make a machine that compares with another model."""

    class Other(Machine):
        def new_model(self) -> Model:
            return model()

    return Other


def is_caught(model: type[Model]) -> bool:
    """Say whether the machine finds that a model is wrong."""
    try:
        run(with_model(model), runs=20)
    except AssertionError:
        return True
    return False
