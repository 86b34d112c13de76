"""A machine of hypothesis that takes steps over a memory and its model, and compares the two.

Through two memories that are open on one home, and through children that are killed in the middle.
"""

from __future__ import annotations

import functools
import io
import os
import select
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.faults.comparing import (
    SPACES,
    WORK,
    compare_all,
    compare_counts,
    compare_dead,
    compare_word,
    settle,
)
from tests.faults.model import FORMS, SAME, Entry, Form, Merge, Model, text_of
from tests.processes import PATIENCE_S

from ringwood.capture import consent, spool
from ringwood.capture.exchange import admit
from ringwood.errors import AddressError
from ringwood.memory import Memory
from ringwood.types import Receipt

AGES = (0, 60, 300)
"""Days: of the hot, the warm and the cold tier."""
EMBEDDERS = ("words", "hashing")
"""What a home may be filled with, and go over to."""
SETTLE_S = 20.0
"""How long vectors and mirror are waited for at once, where something waits for them."""
MEMORY_DISK = Path("/dev/shm")
"""A disk that need not be waited for: what was written outlives a killed process on any."""

Item = TypeVar("Item")
Tell = Callable[[str], None]
Step = Callable[..., None]
Place = Literal["global", "work"]

picks = st.integers(min_value=0, max_value=10_000)
spaces = st.sampled_from(SPACES)
pauses = st.integers(min_value=0, max_value=40)
"""Milliseconds that a child may go on before it is killed."""


class NothingToDoError(Exception):
    """What a step needs is not there: it is none."""


def step(**drawn: st.SearchStrategy[Any]) -> Callable[[Step], Step]:
    """Make a rule of a method, and count how often it could be followed.

    Which rules are drawn may not hang on what a kill left: so a step that is none passes.
    """

    def made(act: Step) -> Step:
        @functools.wraps(act)
        def counted(self: Machine, **given: Any) -> None:  # noqa: ANN401 - whatever was drawn
            with suppress(NothingToDoError):
                act(self, **given)
                self.taken[act.__name__] += 1

        of_drawn: Callable[..., Callable[[Step], Step]] = rule  # its type wants names of bundles
        return of_drawn(**drawn)(counted)

    return made


class Machine(RuleBasedStateMachine):
    """Steps over a memory and its model."""

    taken: ClassVar[Counter[str]] = Counter()
    """Steps of all runs, by their names."""

    def __init__(self) -> None:
        """Make a folder for a home, and open it twice."""
        super().__init__()
        disk = MEMORY_DISK if MEMORY_DISK.is_dir() else None
        self.folder = Path(tempfile.mkdtemp(prefix="stateful-", dir=disk))
        self.home = self.folder / "home"
        self.work = self.folder / WORK
        self.work.mkdir()
        self.model = self.new_model()
        self.embedder = ""
        self.made = 0
        self.exchanges = 0
        self.looks = 0
        self.memory, self.other = self._open(), self._open()

    def new_model(self) -> Model:
        """Make the model; a control gives one that is wrong."""
        return Model()

    @initialize(
        embedder=st.sampled_from(EMBEDDERS), ages=st.lists(st.sampled_from(AGES), max_size=8)
    )
    def begin(self, embedder: str, ages: list[int]) -> None:
        """Make the home, and let it hold something."""
        self.embedder = embedder
        with Memory.open(self.home, embedder=embedder, wait_s=0.0) as memory:
            memory.store(text_of([self._word()]))
        with Memory.open(self.home, wait_s=SETTLE_S) as memory:
            [document] = memory.recent()
        address = f"global:{document.path}"
        self.model.add(Entry("global", [self._last], str(document.id), address))
        for number, age in enumerate(ages):
            self._store(SPACES[number % 2], number % 3 + 1, age, has_source=number % 4 == 0)

    def teardown(self) -> None:
        """Compare everything once more, and leave nothing behind."""
        try:
            if self.embedder:
                self.check_everything()
        finally:
            self.memory.close()
            self.other.close()
            shutil.rmtree(self.folder)

    # -- storing -------------------------------------------------------------------------------

    @step(
        space=spaces,
        paragraphs=st.integers(min_value=1, max_value=3),
        age=st.sampled_from(AGES),
        has_source=st.booleans(),
    )
    def store(self, space: str, paragraphs: int, age: int, has_source: bool) -> None:
        """Store a new text."""
        self._store(space, paragraphs, age, has_source=has_source)

    @step(pick=picks)
    def store_again(self, pick: int) -> None:
        """Store what is there, or went into what is there."""
        notes = [entry for _, entry in self.model.notes()]
        merged = [each for entry in notes for each in entry.merged if each.stands]
        entry = _picked([*merged, *notes], pick)
        receipt = self._in(entry.space).store(entry.given, source=entry.source)
        assert receipt.state == "existing"
        if entry.source is not None:  # without a key, a document of the same text is as good
            assert receipt.document == entry.document

    @step(pick=picks)
    def store_forgotten(self, pick: int) -> None:
        """Store what was forgotten."""
        entry = _picked(self.model.gone, pick)
        if entry.is_exchange or self.model.holds_text(entry.space, entry.text):
            raise NothingToDoError
        receipt = self._in(entry.space).store(entry.text, source=entry.source)
        assert receipt.state == "forgotten"

    @step(pick=picks, form=st.sampled_from(sorted(FORMS)))
    def store_alike(self, pick: int, form: Form) -> None:
        """Store what says the same in another form, or nearly the same."""
        self._store_alike(pick, form)

    @step(pick=picks, keep=st.booleans(), moves=st.booleans())
    def edit(self, pick: int, keep: bool, moves: bool) -> None:
        """Store another text under the source key or in the place of a document."""
        handle, entry = self._note(pick)
        words = [*(entry.words[:2] if keep else ()), self._word()]
        path = f"/moved/{words[-1]}" if moves else None
        memory = self._in(entry.space)
        if entry.source is not None:
            receipt = memory.store(text_of(words), source=entry.source, path=path)
        else:
            receipt = memory.store(text_of(words), replace=entry.address, path=path)
        assert receipt.document == entry.document
        self.model.edit(handle, words)
        if receipt.address != entry.address:  # where it lay leads to it still
            entry.former.append(entry.address)
            entry.address = receipt.address

    # -- capturing -----------------------------------------------------------------------------

    @step(space=st.sampled_from(("global", WORK)), take_in=st.booleans(), after_ms=pauses)
    def capture(self, space: Place, take_in: bool, after_ms: int) -> None:
        """Hand over an exchange as a hook does, and take it in at once or in a child."""
        word = self._word()
        self._say(word, str(self.work) if space == WORK else "")
        if not take_in:
            self._killed(lambda memory, tell: memory.take_in(everything=True), after_ms)
        self.memory.take_in(everything=True)
        if not self.model.keeps(space):
            self.model.never(word)
            return
        document, address = self._one_with(word, space)
        self.model.add(Entry(space, [word], document, address, is_exchange=True))

    @step(where=st.sampled_from(("everywhere", WORK)))
    def pause(self, where: str) -> None:
        """Capture nothing from now on, everywhere or in the space of a directory."""
        consent.pause(str(self.home), str(self.work) if where == WORK else None)
        self.model.paused.add(where)

    @step(where=st.sampled_from(("everywhere", WORK)))
    def resume(self, where: str) -> None:
        """Capture again what a pause of the same kind stopped."""
        consent.resume(str(self.home), str(self.work) if where == WORK else None)
        self.model.paused.discard(where)

    # -- forgetting ----------------------------------------------------------------------------

    @step(pick=picks, by=st.sampled_from(("address", "document", "source")))
    def forget(self, pick: int, by: str) -> None:
        """Forget a document."""
        handle, entry = self._any(pick)
        memory = self._in(entry.space)
        self._mark_nodes(entry.address)
        if by == "source" and entry.source is not None:
            memory.forget(source=entry.source)
        elif by == "document":
            memory.forget(document=entry.document)
        else:
            memory.forget(entry.address)
        self.model.forget(handle)

    @step(pick=picks, which=picks)
    def forget_paragraph(self, pick: int, which: int) -> None:
        """Forget one paragraph of a document."""
        handle, entry = _picked([e for e in self.model.notes() if len(e[1].words) > 1], pick)
        word = _picked(entry.words, which)
        memory = self._in(entry.space)
        lines = memory.tree(entry.address, depth=9)[1:]
        [node] = [line.node for line in lines if word in line.node.text]
        address = f"{entry.space}:{node.path}"
        self._mark_nodes(address)
        memory.forget(address)
        title = entry.words[0]
        self.model.forget_paragraph(handle, word)
        if handle in self.model.entries and title not in entry.words:
            # It was the head of its addresses: they lead nowhere any more.
            entry.address, entry.former = self._address_of(entry), []

    @step(chance=st.integers(min_value=0, max_value=3))
    def forget_space(self, chance: int) -> None:
        """Forget all of a space, one time in four."""
        if chance or "app" not in self.model.count():
            raise NothingToDoError
        self.memory.forget(space="app")
        for handle, entry in list(self.model.entries.items()):
            if entry.space == "app":
                self.model.forget(handle)

    # -- asking --------------------------------------------------------------------------------

    @step()
    def ask(self) -> None:
        """Ask for the newest word of every space."""
        newest = {entry.space: entry for entry in self.model.entries.values()}
        for entry in newest.values():
            compare_word(self.memory, entry.words[-1], entry.space, self.model)

    # -- upkeep --------------------------------------------------------------------------------

    @step()
    def rotate(self) -> None:
        """Move everything to the tier of its age."""
        self.other.rotate()
        assert self.memory.rotate(dry_run=True).waiting == 0

    @step()
    def compact(self) -> None:
        """Make the files small."""
        self._settle()
        assert not self.memory.compact().later

    @step(pick=picks, form=st.sampled_from(sorted(SAME)), killed=st.booleans(), after_ms=pauses)
    def dream(self, pick: int, form: Form, killed: bool, after_ms: int) -> None:
        """Merge what says the same; what a child began that was killed is brought to its end."""
        with suppress(NothingToDoError):  # by chance there is seldom something to merge
            self._store_alike(pick, form)
        self._settle()
        twins = self.model.twins()
        if killed:
            self._killed(lambda memory, tell: memory.dream(wait_s=0.0), after_ms)
            done = [each for each in twins if self._is_merged(each)]
            self._note_dream(done)
            twins = [each for each in twins if each not in done]
        self._settle()
        self.other.dream(wait_s=SETTLE_S)
        assert all(self._is_merged(each) for each in twins)
        self._note_dream(twins)

    @step(killed=st.booleans(), after_ms=pauses)
    def undo(self, killed: bool, after_ms: int) -> None:
        """Take the newest run of a dream back, whatever was done since."""
        run = _picked(self.memory.dreams(), 0).id
        if killed:
            self._killed(lambda memory, tell: memory.undo(run), after_ms)
        if run in {each.id for each in self.memory.dreams()}:  # else the child was quick
            self.memory.undo(run)
        self.model.undo(run)
        assert run not in {each.id for each in self.memory.dreams()}
        self.check_everything()

    @step(chance=st.integers(min_value=0, max_value=2), killed=st.booleans(), after_ms=pauses)
    def reindex(self, chance: int, killed: bool, after_ms: int) -> None:
        """Let the home go over to the other embedder, one time in three."""
        if chance:
            raise NothingToDoError
        [to] = {*EMBEDDERS} - {self.embedder}
        if killed:
            self._killed(lambda memory, tell: memory.reindex(to), after_ms)
        self.memory.reindex(to)
        self.embedder = to
        self.check_everything()

    @step()
    def export_and_restore(self) -> None:
        """Make another home of this one: the same bytes come out of it."""
        self._settle()
        first, second = io.BytesIO(), io.BytesIO()
        self.memory.export(first)
        with Memory.open(self.folder / "copy", wait_s=0.0) as memory:
            memory.restore(io.BytesIO(first.getvalue()))
            memory.export(second)
        shutil.rmtree(self.folder / "copy")
        assert first.getvalue() == second.getvalue()

    @step(killed=st.booleans(), after_ms=pauses)
    def back_up(self, killed: bool, after_ms: int) -> None:
        """Copy the home, and find in the copy all that is in the home."""
        target = self.folder / "backup"
        if killed:
            self._killed(lambda memory, tell: memory.backup(target), after_ms)
            if target.exists():  # the child was quick
                shutil.rmtree(target)
        self.memory.backup(target)
        with Memory.open(target, wait_s=SETTLE_S) as memory:
            compare_all(memory, self.model, self.embedder)
        shutil.rmtree(target)

    # -- processes -----------------------------------------------------------------------------

    @step()
    def reopen(self) -> None:
        """Close one of the two and open it again."""
        self.memory.close()
        self.memory = self._open()
        self.check_everything()

    @step(space=spaces, stores=st.integers(min_value=1, max_value=4), after_ms=pauses)
    def kill_while_storing(self, space: str, stores: int, after_ms: int) -> None:
        """Kill a child that stores: what it was told is there, and of the rest all or nothing."""
        words = [self._word() for _ in range(stores)]

        def store(memory: Memory, tell: Tell) -> None:
            for word in words:
                memory.within(space=space).store(text_of([word]))
                tell(word)

        acknowledged = self._killed(store, after_ms)
        for word in words:
            hits = [hit for hit in self._in(space).recall(word).hits if word in hit.text]
            assert hits or word not in acknowledged, f"{word} was acknowledged and is gone"
            if hits:
                document, address = self._one_with(word, space)
                self.model.add(Entry(space, [word], document, address))

    @step(pick=picks, after_ms=pauses)
    def kill_while_forgetting(self, pick: int, after_ms: int) -> None:
        """Kill a child that forgets: given again, the command forgets what is left."""
        handle, entry = self._any(pick)
        self._mark_nodes(entry.address)
        self._killed(lambda memory, tell: memory.forget(document=entry.document), after_ms)
        with suppress(AddressError):
            self._in(entry.space).forget(document=entry.document)
        self.model.forget(handle)

    @step(work=st.sampled_from(("rotate", "compact")), after_ms=pauses)
    def kill_while_tending(self, work: str, after_ms: int) -> None:
        """Kill a child that moves or shrinks: nothing changes."""
        self._killed(lambda memory, tell: getattr(memory, work)(), after_ms)
        self.check_everything()

    # -- comparing -----------------------------------------------------------------------------

    @invariant()
    def counts_agree(self) -> None:
        """Compare the number of documents and what two words find; go on with the other memory."""
        self.memory, self.other = self.other, self.memory
        compare_counts(self.memory, self.model)
        self.looks += 1
        live = [(word, each.space) for each in self.model.entries.values() for word in each.words]
        if live:
            compare_word(self.memory, *_picked(live, self.looks), self.model)
        dead = sorted(self.model.dead_words)
        if dead and self.looks % 2:
            space = _picked((SPACES[1], WORK), self.looks)
            compare_dead(self.memory, [_picked(dead, self.looks)], space)

    def check_everything(self) -> None:
        """Compare all there is."""
        self._settle()
        compare_all(self.memory, self.model, self.embedder)

    # -- what the steps are made of ------------------------------------------------------------

    def _open(self) -> Memory:
        return Memory.open(self.home, wait_s=0.0)

    def _in(self, space: str) -> Memory:
        return self.memory.within(space=space)

    def _settle(self) -> None:
        for memory in (self.other, self.memory):
            settle(memory)

    def _word(self) -> str:
        """Make a word that no text has, and no stemmer shortens, unlike the ones before."""
        self.made += 1
        number, letters = self.made * 48_271_007 % 26**6, ""
        for _ in range(6):
            number, letter = divmod(number, 26)
            letters += chr(ord("a") + letter)
        self._last = f"q{letters}q"
        return self._last

    def _note(self, pick: int) -> tuple[int, Entry]:
        return _picked(self.model.notes(), pick)

    def _any(self, pick: int) -> tuple[int, Entry]:
        return _picked(list(self.model.entries.items()), pick)

    def _mark_nodes(self, address: str) -> None:
        """Note the nodes of what is about to be forgotten."""
        self.model.forgotten_nodes |= {line.node.id for line in self.memory.tree(address, depth=9)}

    def _store(self, space: str, paragraphs: int, age: int, *, has_source: bool) -> None:
        words = [self._word() for _ in range(paragraphs)]
        source = f"key/{words[0]}" if has_source else None
        at = datetime.now(UTC) - timedelta(days=age)
        receipt = self._in(space).store(text_of(words), source=source, at=at)
        assert receipt.state in ("pending", "ready"), receipt
        self._add(space, words, receipt, source)

    def _store_alike(self, pick: int, form: Form) -> None:
        entry = self._note(pick)[1]
        text = text_of(entry.words, form)
        left = self.model.left_of(entry.space, entry.words, form)
        if left != entry.words or self.model.is_kept_out(entry.space, text):
            raise NothingToDoError
        is_there = self.model.holds_text(entry.space, text)
        receipt = self._in(entry.space).store(text)
        assert (receipt.state == "existing") == is_there
        if not is_there:
            self._add(entry.space, list(entry.words), receipt, form=form)

    def _add(
        self,
        space: str,
        words: list[str],
        receipt: Receipt,
        source: str | None = None,
        form: Form = "plain",
    ) -> None:
        self.model.add(Entry(space, words, receipt.document, receipt.address, source, form))

    def _say(self, word: str, directory: str) -> None:
        """Write down what a host told of an exchange, where that may be kept."""
        self.exchanges += 1
        for kind, text in (("person", f"What of {word}?"), ("assistant", "It waits."), ("end", "")):
            event = admit(
                host="test",
                session="session",
                sequence=str(self.exchanges),
                kind=kind,
                text=text,
                at=time.time(),
                directory=directory,
            )
            assert event is not None
            if not consent.is_paused(str(self.home), directory):
                spool.append(str(self.home), event)

    def _one_with(self, word: str, space: str) -> tuple[str, str]:
        """Find the one document with a word: its id, and its address."""
        hits = [hit for hit in self._in(space).recall(word).hits if word in hit.text]
        [document] = {hit.document for hit in hits}
        return document, f"{space}:{self.memory.read(hits[0].address).document.path}"

    def _address_of(self, entry: Entry) -> str:
        [path] = [
            document.path
            for document in self._in(entry.space).recent(limit=1000)
            if str(document.id) == entry.document
        ]
        return f"{entry.space}:{path}"

    def _is_merged(self, merge: Merge) -> bool:
        """Say whether the address of the one that goes leads to the one that stays."""
        goes, stays = (self.model.entries[each] for each in (merge.goes, merge.stays))
        found = str(self.memory.read(goes.address).document.id)
        assert found in (goes.document, stays.document)
        return found == stays.document

    def _note_dream(self, merges: Sequence[Merge]) -> None:
        """Let the model merge what a run did; going over to an embedder is a run without merges."""
        new = [run for run in self.memory.dreams() if run.id not in self.model.runs]
        assert [run.merges for run in new if run.merges] == [len(merges)] * bool(merges)
        for run in new:
            self.model.dream(run.id, merges if run.merges else ())
        compare_counts(self.memory, self.model)

    def _killed(self, work: Callable[[Memory, Tell], object], after_ms: int) -> list[str]:
        """Let a child work on a memory of its own, and kill it; give the lines that it told.

        The time runs from when the child has the home open. Threads of ours are idle when it is
        made: a lock of SQLite that one held would be held in the child for good.
        """
        self._settle()
        listen, tell = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.close(listen)
                memory = self._open()
                memory.create()
                _tell(tell, "opened")
                work(memory, functools.partial(_tell, tell))
                memory.close()
            finally:
                os._exit(0)
        os.close(tell)
        with os.fdopen(listen) as lines:
            try:
                assert _has_line(listen), "the child did not open the home"
                lines.readline()
                time.sleep(after_ms / 1000)
            finally:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            return lines.read().split()


def _has_line(pipe: int) -> bool:
    """Wait until there is something to read; `select` knows no descriptors above 1,023."""
    looking = select.poll()
    looking.register(pipe, select.POLLIN)
    return bool(looking.poll(PATIENCE_S * 1000))


def _tell(pipe: int, line: str) -> None:
    os.write(pipe, f"{line}\n".encode())


def _picked(items: Sequence[Item], pick: int) -> Item:
    """Choose one of several.

    Raises:
        NothingToDoError: when there is none.
    """
    if not items:
        raise NothingToDoError
    return items[pick % len(items)]
