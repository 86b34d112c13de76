"""Undo a dream: what it merged is apart again, and links and means are as they were.

    newest entry first: links and means of a space, then its merges one by one

Each entry is taken back in one transaction and leaves the journal with it: an undo that is cut
short goes on where it was. What was changed since stays changed, what was forgotten forgotten.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ringwood.batches import in_batches
from ringwood.engine.base import Engine, Reader
from ringwood.engine.merging import Gone, OwnedEdge, Run, Step
from ringwood.errors import UsageError
from ringwood.types import TIERS, Edge, Tier, address_of
from ringwood.upkeep.dreaming.merge import finish, send_back
from ringwood.upkeep.dreaming.relink import mark_key
from ringwood.write import hot
from ringwood.write.nodes import terms_of
from ringwood.write.tombstones import source_hash, text_hash

_BATCH = 2000
"""Edges that are written or deleted in one transaction."""
SHOWN = 20
"""Documents that a report names."""


@dataclass(frozen=True, slots=True)
class Undone:
    """What undoing a run came to."""

    run: int
    """Its number."""
    restored: int = 0
    """Documents that are apart again."""
    addresses: tuple[str, ...] = ()
    """The first twenty of them."""
    edges: int = 0
    """Edges that were put back, or taken away again."""
    kept: int = 0
    """Documents that stay merged: forgotten meanwhile, or stored anew with another text."""
    notes: tuple[str, ...] = ()
    """The same in sentences."""


@dataclass(frozen=True, slots=True)
class Meant:
    """Which vectors the documents of a home are to have."""

    embedder: str
    """Vector identity; empty where words are all."""
    tiers: tuple[Tier, ...]
    """Where documents have vectors."""


def undo(engine: Engine, run: int | None, mirror_root: str | None, meant: Meant) -> Undone:
    """Take back a run of a dream.

    What it merged is not merged again by a later one, until one of the texts changes.

    Args:
        engine: where.
        run: its number; None: the newest.
        mirror_root: folder of the mirror; None: there is none.
        meant: the vectors of now: a document that was merged under others waits for its own.

    Raises:
        UsageError: when the journal holds no such run, or later ones went through the same spaces:
            these are to be undone first.
        BusyError: when the write lock was not had in time.
        StorageError: when the disk refuses. Given again, it goes on.
    """
    finish(engine, mirror_root)
    with engine.reading() as reader:
        chosen = _choose(reader.runs(), run)
        steps = reader.steps(dream=chosen.id)
    done = Undone(chosen.id)
    for step in reversed(steps):
        if step.kind == "relink":
            done = replace(done, edges=done.edges + _unlink(engine, step))
        elif (address := _part(engine, step, meant)) is not None:
            shown = (*done.addresses, address)[:SHOWN]
            done = replace(done, restored=done.restored + 1, addresses=shown)
        else:
            done = replace(done, kept=done.kept + 1)
    if not done.kept:
        return done
    note = (
        f"{done.kept} of the documents stay merged: they were forgotten meanwhile, or stored anew"
        " with another text."
    )
    return replace(done, notes=(note,))


def _choose(runs: Sequence[Run], wanted: int | None) -> Run:
    """Find the run that is meant, and see that nothing builds on it."""
    chosen = next((run for run in runs if wanted in (None, run.id)), None)
    if chosen is None:
        which = "to undo" if wanted is None else f"{wanted}"
        raise UsageError(f"There is no run {which}.", mend="ringwood dream --runs lists them")
    later = [run.id for run in runs if run.id > chosen.id and set(run.spaces) & set(chosen.spaces)]
    if later:
        named = " and ".join(str(each) for each in later)
        raise UsageError(
            f"Run {chosen.id} cannot be undone before {named}, which went on from what it left.",
            mend=f"ringwood dream --undo {max(later)}",
        )
    return chosen


# -- merges ----------------------------------------------------------------------------------------


def _part(engine: Engine, step: Step, meant: Meant) -> str | None:
    """Put a merged document back; return its address, or None where it is not to come back."""
    with engine.reading() as reader:
        gone = reader.gone(step.id)
        survivor = None if step.survivor is None else reader.document(step.survivor)
        comes = survivor is not None and not _is_forgotten(reader, gone)
    restored = False
    if comes and survivor is not None and step.document is not None:
        hot.bring_in(engine, [survivor])
        hot.drop_older(engine, [survivor])
        with engine.reading() as reader:
            others = [each for each in gone.edges if each.document != step.document]
            standing = set(_standing(reader, (each.edge for each in others), gone))
        _put_owned(engine, [each for each in others if each.edge in standing])
        terms = terms_of(gone.nodes)
        with engine.writing() as writer, engine.reading() as reader:
            restored = not _is_forgotten(reader, gone) and writer.unmerge(step.id, terms)
            if restored:
                own = [e.edge for e in gone.edges if e.document == step.document]
                writer.put_edges(step.document, _standing(reader, own, gone))
                if _lacks_vectors(gone, meant):
                    writer.set_state(step.document, "pending", None)
            writer.drop_steps([step.id])
        send_back(engine, {step.document: gone.tiers[0], survivor.id: survivor.tier})
    else:
        with engine.writing() as writer:
            writer.drop_steps([step.id])
    return address_of(gone.space, gone.path) if restored else None


def _lacks_vectors(gone: Gone, meant: Meant) -> bool:
    return (
        bool(meant.embedder)
        and gone.tiers[0] in meant.tiers
        and meant.embedder not in gone.embedded
    )


def _is_forgotten(reader: Reader, gone: Gone) -> bool:
    """Say whether a text, or a part of it, was forgotten."""
    spans = (gone.text[slice(*node.span)] for node in gone.nodes)
    hashes = [text_hash(said, gone.source) for said in spans]
    if gone.source is not None:
        hashes.append(source_hash(gone.source))
    return bool(reader.tombstoned(gone.space, hashes))


def _standing(reader: Reader, edges: Iterable[Edge], gone: Gone) -> list[Edge]:
    """Choose the edges whose other end says what it said."""
    own = {node.id for node in gone.nodes}
    edges = list(edges)
    others = {end for each in edges for end in (each.source, each.target)} - own
    found = reader.nodes(others)
    cards = reader.documents(node.document for node in found.values())
    same = {
        i
        for i, node in found.items()
        if cards[node.document].sha256 == gone.texts.get(node.document)
    }
    return [each for each in edges if {each.source, each.target} <= own | same]


# -- links and means -------------------------------------------------------------------------------


def _unlink(engine: Engine, step: Step) -> int:
    """Put the links and the means of a space back; return how many edges that were."""
    with engine.reading() as reader:
        links = reader.links(step.id)
        missing = reader.missing_tiers
        before = _unchanged(reader, links.before, links.texts)
    gone = [*links.added, *(each.edge for each in links.before)]
    for tier in TIERS:
        for some in in_batches(gone if tier not in missing else (), _BATCH):
            with engine.writing(tier) as writer:
                writer.drop_edges(some)
    _put_owned(engine, before)
    with engine.writing() as writer:
        writer.restore_means(step.id)
        writer.set_meta(mark_key(step.space), links.mark)
        writer.drop_steps([step.id])
    return len(gone)


def _unchanged(
    reader: Reader, edges: Sequence[OwnedEdge], texts: Mapping[int, str]
) -> list[OwnedEdge]:
    """Choose the edges of which both ends say what they said."""
    cards = reader.documents(texts)
    same = {i for i, digest in texts.items() if i in cards and cards[i].sha256 == digest}
    ends = {end for each in edges for end in (each.edge.source, each.edge.target)}
    there = {i for i, node in reader.nodes(ends).items() if node.document in same}
    return [each for each in edges if {each.edge.source, each.edge.target} <= there]


def _put_owned(engine: Engine, edges: Sequence[OwnedEdge]) -> None:
    """Write edges where the documents lie that they belong to; those of documents gone are not."""
    with engine.reading() as reader:
        cards = reader.documents(each.document for each in edges)
    by_tier: dict[Tier, list[OwnedEdge]] = defaultdict(list)
    for each in edges:
        if each.document in cards:
            by_tier[cards[each.document].tier].append(each)
    for tier, theirs in by_tier.items():
        for some in in_batches(theirs, _BATCH):
            with engine.writing(tier) as writer:
                for each in some:
                    writer.put_edges(each.document, [each.edge])
