"""Reindex: go over to another embedder while recall goes on.

    want it -> fill its vectors in beside the old ones -> every node has one? switch, in one
    transaction -> compare anew what was linked under the old one -> want nothing more

Recall compares vectors of one identity, the old one until the switch and the new one after it. What
is wanted stands in the home, so that whoever runs goes on with it. All of it can be cut short
anywhere and given again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Literal

from ringwood.embed.choose import WORDS, Choice, Remembered
from ringwood.engine.base import Engine, Reader
from ringwood.engine.coverage import Coverage, Kept
from ringwood.errors import BusyError
from ringwood.lease import Lease
from ringwood.types import TIERS, Tier
from ringwood.upkeep.dreaming.dream import Dreamed, DreamOptions, Progress, dream
from ringwood.upkeep.dreaming.dream import Plan as DreamPlan
from ringwood.upkeep.switching.across import measure_across
from ringwood.upkeep.switching.filling import Filling
from ringwood.write.link import LinkOptions
from ringwood.write.means import refresh_means
from ringwood.write.remembered import remember, remembered, want, wanted

DROPPED = 2000
"""Vectors deleted in one transaction."""
_SETTLED = 100

Step = Literal["more", "waiting", "cancelled", "done"]
"""How a step ended. `waiting`: another process embeds just now. `cancelled`: it is wanted no more,
or another embedder is."""


@dataclass(frozen=True, slots=True)
class ReindexOptions:
    """How gently a home is filled anew."""

    rest: float = 0.25
    """Rest after each step, as a share of the time it took: whoever waits for a processor, for the
    right to embed or for the write lock has it then. 0: never."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a reindex goes about it."""

    link: LinkOptions = field(default_factory=LinkOptions)
    """How many similar edges, and how strong."""
    dream: DreamOptions = field(default_factory=DreamOptions)
    """Spaces of more nodes are not compared anew unasked."""
    tiers: Sequence[Tier] = TIERS
    """Tiers whose nodes have vectors."""
    dreaming: Callable[[], AbstractContextManager[bool]] = lambda: nullcontext(True)
    """Takes the right to go through the whole store; yields False where another process has it."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a home is on its way."""

    current: str
    """The embedder that recall goes by."""
    wanted: str | None
    """The embedder that is filled in; None: no other."""
    coverage: Coverage
    """Of the wanted one; else of the one that recall goes by."""
    others: Kept
    """Vectors of neither of the two."""


@dataclass(frozen=True, slots=True)
class Reindexed:
    """What a reindex came to, read back."""

    before: str
    """The embedder that recall went by."""
    embedder: str
    """The embedder that was asked for."""
    identity: str
    """Under which its vectors are stored; empty for words."""
    nodes: int
    """Nodes that hold a word: each can have a vector."""
    vectors: int
    """Those of them that have one of this embedder."""
    embedded: int
    """Nodes that were embedded in this run."""
    reused: int
    """Nodes that got the vector of an equal text in this run."""
    switched: bool
    """Whether recall goes by it now and did not before."""
    edges: int
    """Similar edges that were found or measured anew."""
    kept: int
    """Vectors of other embedders that are still there."""
    kept_bytes: int
    """What these take."""
    dropped: int
    """Vectors of other embedders that were deleted."""
    notes: tuple[str, ...] = ()
    """What kept it from doing all, and what is to be done, in sentences."""
    dry_run: bool = False
    """Whether nothing was written."""


class Reindex:
    """A home on its way to one embedder, as one process goes about it. For one thread at a time."""

    def __init__(
        self, engine: Engine, target: Choice, lease: Lease, plan: Plan | None = None
    ) -> None:
        """Prepare; `begin` writes down what is wanted.

        Args:
            engine: the home's database.
            target: the embedder, opened.
            lease: the right to embed in this home.
            plan: how.
        """
        self._engine, self._plan = engine, plan or Plan()
        self.target = target
        """The embedder, opened."""
        self.filling = (
            None
            if target.meaning is None
            else Filling(engine, target.meaning, lease, self._plan.tiers)
        )
        """How far the filling is; None for words, which need none."""
        self.switched = False
        """Whether this made the home go over."""
        self.relinked = Dreamed()
        """What comparing anew came to."""

    def begin(self) -> None:
        """Write down that this embedder is wanted, instead of any other."""
        chosen = self.target.remembered
        with self._engine.reading() as reader:
            known = wanted(reader)
        if known != chosen:
            with self._engine.writing() as writer:
                want(writer, chosen)

    def join(self) -> bool:
        """Write down whose vectors these are, for whoever goes on; False when another is wanted."""
        chosen = self.target.remembered
        with self._engine.writing() as writer, self._engine.reading() as reader:
            known = wanted(reader)
            if known is None or known.name != chosen.name:
                return False
            if known != chosen:
                want(writer, chosen)
        return True

    def step(self, on_nodes: Progress = lambda space, done, total: None) -> Step:
        """Go on for a little while; comparing anew, the last step, takes as long as a dream.

        Args:
            on_nodes: told the space and how many of how many nodes are compared, in the last step.

        Raises:
            EmbedderError: when the embedder takes nothing; what is filled in stays.
            BusyError: when the write lock was not had in time.
            StorageError: when the disk refuses.
        """
        with self._engine.reading() as reader:
            if wanted(reader) != self.target.remembered:
                return "cancelled"
        if self.filling is not None:
            filled = self.filling.step()
            if filled is None:
                return "waiting"
            if filled:
                return "more"
            self._take_means()
        if not self._switch():
            return "more"
        self._finish(on_nodes)
        return "done"

    def _take_means(self) -> None:
        """Take the means of every space, so that the first recall after the switch has them."""
        with self._engine.reading() as reader:
            spaces = tuple(reader.documents_per_space())
        for space in spaces:
            if self.target.meaning is not None:
                refresh_means(self._engine, self.target.meaning, space, force=True)

    def _switch(self) -> bool:
        """Let recall go by the new vectors, unless a node has none; say whether it does."""
        chosen = self.target.remembered
        with self._engine.writing() as writer, self._engine.reading() as reader:
            if wanted(reader) != chosen or self._lacks(reader):
                return False
            if remembered(reader) != chosen:
                remember(writer, chosen)
                self.switched = True
        return True

    def _lacks(self, reader: Reader) -> bool:
        identity = self.target.remembered.identity
        return bool(identity and reader.lacking(identity, tiers=self._plan.tiers))

    def _finish(self, on_nodes: Progress) -> None:
        """Compare anew, and want nothing more: until then whoever runs does it again."""
        if self.target.meaning is None:
            _settle(self._engine)
        else:
            plan = DreamPlan(self.target.meaning, self._plan.link, self._plan.dream, merging=False)
            with self._plan.dreaming() as ours:
                if not ours:
                    raise BusyError(
                        "Another process is dreaming in this home.",
                        mend="call again when it is done: all but the links is as it should be",
                    )
                self.relinked = dream(self._engine, plan, on_nodes)
            measure_across(self._engine, self.target.meaning, self._plan.link)
        with self._engine.writing() as writer, self._engine.reading() as reader:
            if wanted(reader) == self.target.remembered:
                want(writer, None)


def _settle(engine: Engine) -> None:
    """Let no document wait for vectors where recall goes by words."""
    while True:
        with engine.reading() as reader:
            waiting = reader.pending(_SETTLED)
        if not waiting:
            return
        for card in waiting:
            with engine.writing(card.tier) as writer:
                writer.set_state(card.id, "ready", None)


def cancel(engine: Engine) -> str | None:
    """Want no other embedder any more; return which it was. What is filled in stays."""
    with engine.writing() as writer, engine.reading() as reader:
        known = wanted(reader)
        want(writer, None)
    return None if known is None else known.name


def ask_for(engine: Engine, name: str) -> None:
    """Want an embedder that somebody else opens and fills in."""
    with engine.writing() as writer, engine.reading() as reader:
        known = wanted(reader)
        if known is None or known.name != name:
            want(writer, Remembered(name, ""))


def standing(reader: Reader, tiers: Sequence[Tier] = TIERS) -> Standing:
    """Say how far a home is on its way. Reads every vector's row: for people."""
    current, coming = remembered(reader), wanted(reader)
    identities = {each.identity for each in (current, coming) if each is not None}
    there = reader.kept_vectors()
    others = [kept for identity, kept in there.items() if identity not in identities]
    shown = coming or current
    return Standing(
        current=current.name if current is not None else WORDS,
        wanted=None if coming is None else coming.name,
        coverage=reader.coverage(shown.identity if shown is not None else "", tiers=tiers),
        others=Kept(sum(each.vectors for each in others), sum(each.bytes for each in others)),
    )


def drop_others(engine: Engine) -> int:
    """Delete the vectors of all embedders but those that recall goes by or that is wanted.

    Returns:
        How many there were.

    Raises:
        BusyError: when the write lock was not had in time.
        StorageError: when the disk refuses. Either way what was deleted before is.
    """
    dropped = 0
    with engine.reading() as reader:
        needed = {e.identity for e in (remembered(reader), wanted(reader)) if e is not None}
        there = [each for each in reader.kept_vectors() if each not in needed]
        tiers = [tier for tier in TIERS if tier not in reader.missing_tiers]
    for identity in there:
        for tier in tiers:
            more = DROPPED
            while more == DROPPED:
                with engine.writing(tier) as writer:
                    more = writer.drop_vectors(identity, DROPPED)
                dropped += more
        with engine.writing() as writer:
            writer.drop_means(embedder=identity)
    return dropped
