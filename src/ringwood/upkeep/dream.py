"""Dream: compare all with all, space by space, and report what says the same twice.

Storing compares a new node with a bounded number of others; dreaming finds the neighbours that this
missed. It writes nothing that it would not write again: a second run changes nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from ringwood.embed.meaning import Meaning
from ringwood.engine.base import Engine
from ringwood.types import Document, address_of
from ringwood.upkeep.relink import compare, count_edges, read_outline, read_space, write
from ringwood.write.link import LinkOptions
from ringwood.write.means import meaning_of, refresh_means
from ringwood.write.tombstones import text_hash

SHOWN = 20
"""Groups of duplicates that a report names."""


@dataclass(frozen=True, slots=True)
class DreamOptions:
    """How far a dream goes unasked."""

    ask_above: int = 100_000
    """Nodes of one space that are compared unasked: twice as many take four times as long."""


@dataclass(frozen=True, slots=True)
class Dreamed:
    """What a dream came to, read back."""

    nodes: int = 0
    """Nodes that were compared."""
    edges_before: int = 0
    """Similar edges in all spaces."""
    edges_after: int = 0
    """The same afterwards; in a dry run, as they would be."""
    added: int = 0
    """Edges that were found or measured anew."""
    removed: int = 0
    """Edges between nodes of one script that are no longer among the nearest."""
    compared: tuple[str, ...] = ()
    """Spaces that were compared."""
    unchanged: tuple[str, ...] = ()
    """Spaces left as they are: nothing in them changed since they were last compared."""
    too_large: tuple[str, ...] = ()
    """Spaces of more nodes than are compared unasked."""
    duplicates: int = 0
    """Documents that say what an older one of their space says, letter case and spaces aside."""
    groups: tuple[tuple[str, ...], ...] = ()
    """Their addresses, the oldest first; the first twenty groups. Nothing is merged."""
    waiting: int = 0
    """Documents without vectors yet: not compared."""
    notes: tuple[str, ...] = ()
    """What kept it from doing all, in sentences."""
    dry_run: bool = False
    """Whether nothing was written."""

    def __add__(self, space: Dreamed) -> Dreamed:
        return replace(
            self,
            nodes=self.nodes + space.nodes,
            edges_before=self.edges_before + space.edges_before,
            edges_after=self.edges_after + space.edges_after,
            added=self.added + space.added,
            removed=self.removed + space.removed,
            compared=self.compared + space.compared,
            unchanged=self.unchanged + space.unchanged,
            too_large=self.too_large + space.too_large,
            duplicates=self.duplicates + space.duplicates,
            groups=(self.groups + space.groups)[:SHOWN],
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """How a dream goes about it."""

    meaning: Meaning | None
    """How similarity is measured; None: by words alone, and nothing is compared."""
    link: LinkOptions = field(default_factory=LinkOptions)
    """How many edges, and how strong."""
    options: DreamOptions = field(default_factory=DreamOptions)
    """How far it goes unasked."""
    everything: bool = False
    """Whether it was asked to compare large spaces too."""
    dry_run: bool = False
    """Only say what would change."""


Progress = Callable[[str, int, int], None]
"""Told the space, and how many of how many nodes are compared. May raise to stop."""


def dream(
    engine: Engine, plan: Plan, on_nodes: Progress = lambda space, done, total: None
) -> Dreamed:
    """Rebuild the similar edges of every space, and find duplicates.

    Each space is written when it is compared and remembered as done: a dream that is cut short
    goes on where it was. Edges between two scripts stay as storing made them.

    Raises:
        BusyError: when the write lock was not had in time.
        StorageError: when the disk refuses. Either way the spaces before are done.
    """
    with engine.reading() as reader:
        totals = reader.totals()
    waiting = sum(count for state, count in totals.states.items() if state != "ready")
    report = Dreamed(waiting=waiting, dry_run=plan.dry_run)
    for space in sorted(totals.spaces):
        report += _duplicates(engine, space)
        if plan.meaning is not None:

            def on_done(done: int, total: int, space: str = space) -> None:
                on_nodes(space, done, total)

            report += _relink(engine, plan, plan.meaning, space, on_done)
    return replace(report, notes=tuple(_notes(plan, report)))


def _notes(plan: Plan, report: Dreamed) -> Iterator[str]:
    if plan.meaning is None:
        yield "There is nothing to compare: recall goes by words alone here."
    if report.waiting:
        yield f"{report.waiting} documents have no vectors yet and were left out."
    for space in report.too_large:
        yield (
            f"Space {space} holds more than {plan.options.ask_above} nodes and is compared only"
            " when asked for: it takes minutes."
        )


# -- duplicates ------------------------------------------------------------------------------------


def _duplicates(engine: Engine, space: str) -> Dreamed:
    """Report the duplicates of one space alone."""
    same: dict[str, list[Document]] = defaultdict(list)
    with engine.reading() as reader:
        for card in sorted(reader.roots(space), key=lambda each: each.id):
            same[text_hash(reader.text_of(card.id), None)].append(card)
    groups = [group for group in same.values() if len(group) > 1]
    return Dreamed(
        duplicates=sum(len(group) - 1 for group in groups),
        groups=tuple(tuple(address_of(space, each.path) for each in group) for group in groups),
    )


# -- similar edges ---------------------------------------------------------------------------------


def _relink(
    engine: Engine,
    plan: Plan,
    meaning: Meaning,
    name: str,
    on_nodes: Callable[[int, int], None],
) -> Dreamed:
    """Compare the nodes of one space and write what changes; report on it alone."""
    if not plan.dry_run:
        refresh_means(engine, meaning, name, force=True)
    with engine.reading() as reader:
        meaning = meaning_of(reader, meaning, name)
        outline = read_outline(reader, name, meaning, plan.link)
        too_large = len(outline.nodes) > plan.options.ask_above and not plan.everything
        if outline.done or too_large:
            edges = count_edges(reader, outline)
            return Dreamed(
                edges_before=edges,
                edges_after=edges,
                unchanged=(name,) if outline.done else (),
                too_large=() if outline.done else (name,),
            )
        space = read_space(reader, outline, meaning)
    nodes = len(space.nodes)
    change = compare(space, meaning, plan.link, lambda done: on_nodes(done, nodes))
    after = change.count
    if not plan.dry_run:
        write(engine, space, meaning.identity, change)
        with engine.reading() as reader:
            after = count_edges(reader, outline)
    return Dreamed(
        nodes=nodes,
        edges_before=space.count,
        edges_after=after,
        added=len(change.new),
        removed=len(change.old),
        compared=(name,),
    )
