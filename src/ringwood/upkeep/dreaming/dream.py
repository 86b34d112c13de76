"""Dream: space by space, merge what says the same, and compare all that is left with all.

    find twins -> merge them one by one -> means anew -> compare all with all -> write what changed

Storing compares a new node with a bounded number of others; dreaming finds what this missed. What
it does is noted before or with the doing, so that a run can be undone: see `undo`. A second run
changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from ringwood.embed.meaning import Meaning
from ringwood.engine.base import Engine, Reader, ScriptMean
from ringwood.types import address_of
from ringwood.upkeep.dreaming.duplicates import Twin, find_twins, node_map
from ringwood.upkeep.dreaming.merge import finish, merge
from ringwood.upkeep.dreaming.relink import (
    Outline,
    Relinking,
    Space,
    compare,
    count_edges,
    links_of,
    mark_key,
    mark_of,
    read_outline,
    read_space,
    with_merged,
    write,
)
from ringwood.upkeep.dreaming.underway import Underway
from ringwood.write.link import LinkOptions
from ringwood.write.means import meaning_of, means_among, same_means

SHOWN = 20
"""Merges that a report names."""
_FINISHED = 50
"""Merges after which mirror files and links in colder tiers are seen to."""


@dataclass(frozen=True, slots=True)
class DreamOptions:
    """How far a dream goes unasked, and how much of it can be taken back."""

    ask_above: int = 100_000
    """Nodes of one space that are compared unasked: twice as many take four times as long."""
    keep_runs: int = 10
    """Runs that can be undone. They hold the texts that were merged away."""


@dataclass(frozen=True, slots=True)
class MergeReport:
    """One merge, as people are told of it."""

    merged: str
    """Address of the document that went; it leads to the other one."""
    into: str
    """Address of the document that stays."""
    reason: str
    """Why they are one, and why this one stays, in a few words."""
    similarity: float | None
    """Calibrated, 0..1; None for an exact copy, and by words alone."""


@dataclass(frozen=True, slots=True)
class Dreamed:
    """What a dream came to, read back."""

    run: int | None = None
    """The run's number, under which it can be undone; None when nothing was changed."""
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
    """Spaces that were gone through."""
    unchanged: tuple[str, ...] = ()
    """Spaces left as they are: nothing in them changed since the last time."""
    too_large: tuple[str, ...] = ()
    """Spaces of more nodes than are compared unasked."""
    merged: int = 0
    """Documents that went into others."""
    merges: tuple[MergeReport, ...] = ()
    """The first twenty of them."""
    waiting: int = 0
    """Documents without vectors yet: neither merged nor compared."""
    notes: tuple[str, ...] = ()
    """What kept it from doing all, in sentences."""
    dry_run: bool = False
    """Whether nothing was written."""
    timings_s: Mapping[str, float] = field(default_factory=dict, compare=False)
    """Seconds of its parts: find (twins), merge, read, compare, write."""

    @classmethod
    def elsewhere(cls) -> Dreamed:
        """Say that another process is at it."""
        return cls(notes=("Another process is dreaming in this home: nothing was done here.",))

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
            merged=self.merged + space.merged,
            merges=(self.merges + space.merges)[:SHOWN],
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
    merging: bool = True
    """Whether duplicates are merged; else only links are made anew."""
    mirror_root: str | None = None
    """Folder of the mirror, from which what is merged away is removed; None: there is none."""
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    """The time. UTC."""


Progress = Callable[[str, int, int], None]
"""Told the space, and how many of how many nodes are compared. May raise to stop."""


def dream(
    engine: Engine, plan: Plan, on_nodes: Progress = lambda space, done, total: None
) -> Dreamed:
    """Merge the duplicates of every space and rebuild its similar edges.

    A dream that is cut short goes on where it was: what is merged is merged, and a space that is
    done bears a mark. Edges between two scripts stay as storing made them. Nobody else may dream
    in this home meanwhile; others may store, and what they change is left out.

    Raises:
        BusyError: when the write lock was not had in time.
        StorageError: when the disk refuses. Either way what was done before is done.
    """
    if plan.merging and not plan.dry_run:
        finish(engine, plan.mirror_root)
    with engine.reading() as reader:
        totals = reader.totals()
    waiting = sum(count for state, count in totals.states.items() if state != "ready")
    report = Dreamed(waiting=waiting, dry_run=plan.dry_run)
    run = Underway(engine, plan.now)
    for space in sorted(totals.spaces):

        def on_done(done: int, total: int, space: str = space) -> None:
            on_nodes(space, done, total)

        report += _go_through(engine, plan, run, space, on_done)
    return replace(
        report,
        run=run.end(keep=max(1, plan.options.keep_runs)),
        notes=tuple(_notes(plan, report)),
        timings_s={part: round(seconds, 3) for part, seconds in run.seconds.items()},
    )


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


def _go_through(
    engine: Engine,
    plan: Plan,
    run: Underway,
    name: str,
    on_nodes: Callable[[int, int], None],
) -> Dreamed:
    """Merge and compare in one space; report on it alone."""
    with run.timing("find"), engine.reading() as reader:
        meaning = None if plan.meaning is None else meaning_of(reader, plan.meaning, name)
        outline = read_outline(reader, name, meaning, plan.link, merging=plan.merging)
        too_large = len(outline.nodes) > plan.options.ask_above and not plan.everything
        edges = count_edges(reader, outline) if meaning is not None else 0
        if outline.done or too_large:
            return Dreamed(
                edges_before=edges,
                edges_after=edges,
                unchanged=(name,) if outline.done else (),
                too_large=() if outline.done else (name,),
            )
        twins: tuple[Twin, ...] = ()
        if plan.merging:
            twins = find_twins(reader, outline.cards.values(), plan.meaning, reader.apart(name))
    if not plan.dry_run:
        with run.timing("merge"):
            twins = _merge_all(engine, plan, run, twins)
    report = Dreamed(
        edges_before=edges,
        compared=(name,),
        merged=len(twins),
        merges=tuple(_told(name, twin) for twin in twins[:SHOWN]),
    )
    if plan.meaning is None:
        _mark(engine, plan, outline, twins)
        return report
    return report + _relink(engine, plan, run, plan.meaning, outline, twins, on_nodes)


def _told(space: str, twin: Twin) -> MergeReport:
    why = "says exactly the same" if twin.exact else "says the same"
    older = twin.survivor.id < twin.document.id
    return MergeReport(
        merged=address_of(space, twin.document.path),
        into=address_of(space, twin.survivor.path),
        reason=f"{why}; the {'older' if older else 'more important'} one stays",
        similarity=None if twin.similarity is None else round(twin.similarity, 3),
    )


def _merge_all(
    engine: Engine, plan: Plan, run: Underway, twins: Sequence[Twin]
) -> tuple[Twin, ...]:
    """Merge twins one by one; return those that were."""
    merged: list[Twin] = []
    for number, twin in enumerate(twins, start=1):
        if merge(engine, run.number, twin, plan.now):
            merged.append(twin)
        if number % _FINISHED == 0:
            finish(engine, plan.mirror_root)
    if twins:
        finish(engine, plan.mirror_root)
    return tuple(merged)


def _mark(engine: Engine, plan: Plan, outline: Outline, twins: Sequence[Twin]) -> None:
    """Note that a space was gone through as it is, where there is nothing to compare."""
    if plan.dry_run:
        return
    gone = {twin.document.id for twin in twins}
    cards = [card for card in outline.cards.values() if card.id not in gone]
    with engine.writing() as writer:
        writer.set_meta(
            mark_key(outline.name), mark_of(cards, None, plan.link, merging=plan.merging)
        )


def _relink(  # noqa: PLR0913 - all of it decides
    engine: Engine,
    plan: Plan,
    run: Underway,
    meaning: Meaning,
    before: Outline,
    twins: Sequence[Twin],
    on_nodes: Callable[[int, int], None],
) -> Dreamed:
    """Compare the nodes of one space and write what changes; report on it alone."""
    name = before.name
    gone = frozenset(twin.document.id for twin in twins)
    with run.timing("read"), engine.reading() as reader:
        space = read_space(reader, read_outline(reader, name, meaning, plan.link), meaning)
        if plan.dry_run:
            space = with_merged(space, [_leading(reader, twin) for twin in twins])
        kept = reader.means(meaning.identity, name)
        means = means_among(meaning, space.rows, space.scripts, space.documents)
        own = meaning.on(
            {script: each.mean for script, each in means.items()},
            {script: each.background for script, each in means.items()},
        )
        without = gone if plan.dry_run else frozenset()
        outline = read_outline(reader, name, own, plan.link, without, merging=plan.merging)
    space = replace(space, outline=outline)
    nodes = len(space.nodes)
    with run.timing("compare"):
        change = compare(space, own, plan.link, lambda done: on_nodes(done, nodes))
    after = change.count
    if not plan.dry_run:
        with run.timing("write"):
            _note(engine, run, space, meaning, change, None if same_means(kept, means) else means)
            write(engine, space, meaning.identity, change)
            with engine.reading() as reader:
                after = count_edges(reader, outline)
    return Dreamed(nodes=nodes, edges_after=after, added=len(change.new), removed=len(change.old))


def _leading(reader: Reader, twin: Twin) -> tuple[dict[int, int], set[int]]:
    """Say where the nodes of a twin would lead, and which the survivor's are."""
    staying = reader.nodes_of(twin.survivor.id)
    return node_map(reader.nodes_of(twin.document.id), staying), {node.id for node in staying}


def _note(
    engine: Engine,
    run: Underway,
    space: Space,
    meaning: Meaning,
    change: Relinking,
    means: dict[str, ScriptMean] | None,
) -> None:
    """Note what is about to change, and put new means in the same transaction."""
    if not (change.new or change.old) and means is None:
        return
    name = space.outline.name
    number = run.number
    with engine.writing() as writer, engine.reading() as reader:
        writer.note_links(number, name, links_of(reader, space, meaning.identity, change))
        if means is not None:
            writer.drop_means(space=name, embedder=meaning.identity)
            writer.put_means(meaning.identity, name, means)
