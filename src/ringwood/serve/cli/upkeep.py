"""Commands for what is done when nobody waits: rotate, compact, reindex."""

from __future__ import annotations

from dataclasses import asdict
from time import monotonic
from typing import TYPE_CHECKING

import click

from ringwood.serve.cli import output
from ringwood.serve.cli.app import Session, options

if TYPE_CHECKING:
    from ringwood.upkeep.switching.reindex import Reindexed, Standing


@click.command("rotate")
@click.option("--dry-run", is_flag=True, help="Say what is due and move nothing.")
@options
@click.pass_obj
def rotate_command(session: Session, /, dry_run: bool) -> int:
    """Move documents to the tier of their age. Safe to interrupt and to give again."""
    begun = monotonic()
    with session.memory() as memory:
        with output.progress(shown=not session.quiet and not session.json) as advance:
            done = memory.rotate(
                dry_run=dry_run,
                on_document=lambda count, total: advance("documents", count, total),
            )
        memory.wait_s = 0.0  # what is moved needs no vectors
    seconds = round(monotonic() - begun, 3)
    if session.json:
        output.json_object(asdict(done) | {"seconds": seconds})
        return 0
    moves = [f"{output.counted(count, 'document')} to {tier}" for tier, count in done.moved.items()]
    output.answer(f"{'Due' if dry_run else 'Moved'}: {', '.join(moves)} ({seconds:.1f} s)")
    if done.copies:
        session.say(f"left-over copies {'to clear' if dry_run else 'cleared'}: {done.copies}")
    if done.edges:
        session.say(f"{output.counted(done.edges, 'similar edge')} found on the way")
    if done.waiting:
        session.say(f"{output.counted(done.waiting, 'document')} waiting")
    if done.given_back:
        session.say(f"{_size(done.given_back)} given back")
    for note in done.notes:
        session.say(f"note: {note}")
    return 0


@click.command("compact")
@click.option("--dry-run", is_flag=True, help="Say about how much would be given back.")
@options
@click.pass_obj
def compact_command(session: Session, /, dry_run: bool) -> int:
    """Make the files as small as what they hold. Safe to interrupt and to give again."""
    begun = monotonic()
    with session.memory() as memory:
        done = memory.compact(
            dry_run=dry_run, on_tier=lambda tier: session.say(f"looking at the {tier} tier")
        )
        memory.wait_s = 0.0  # what is compacted needs no vectors
    seconds = round(monotonic() - begun, 3)
    if session.json:
        output.json_object(asdict(done) | {"seconds": seconds})
        return 0
    for tier, each in done.tiers.items():
        output.answer(f"{tier}: {_size(each.before)} -> {_size(each.after)}{_later(each.later)}")
    output.answer(f"together: {_size(done.before)} -> {_size(done.after)} ({seconds:.1f} s)")
    for note in done.notes:
        session.say(f"note: {note}")
    return 0


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"


def _later(is_left: bool) -> str:
    return ", later: a reader is in the way" if is_left else ""


@click.command("reindex")
@click.argument("target", metavar="[EMBEDDER]", required=False)
@click.option("--dry-run", is_flag=True, help="Say how much there is to do and embed nothing.")
@click.option("--drop-old", is_flag=True, help="In the end, delete the vectors of all others.")
@click.option("--background", is_flag=True, help="Leave it to the resident process.")
@click.option("--status", is_flag=True, help="Say how far it is.")
@click.option("--cancel", is_flag=True, help="Want it no more; what is filled in stays.")
@options
@click.pass_obj
def reindex_command(  # noqa: PLR0913 - one per option
    session: Session,
    /,
    target: str | None,
    dry_run: bool,
    drop_old: bool,
    background: bool,
    status: bool,
    cancel: bool,
) -> int:
    """Go over to another EMBEDDER while recall goes on. Safe to interrupt and to give again."""
    if sum((dry_run or drop_old, background, status, cancel)) > 1:
        raise click.UsageError("Give one of --dry-run, --background, --status and --cancel.")
    named = target or session.embedder
    with session.memory() as memory:
        memory.wait_s = 0.0  # of a reindex, all is done; of the others, nothing is to come
        if cancel:
            return _cancelled(session, memory.cancel_reindex())
        if status or background:
            if background:
                memory.reindex_later(named or _no_embedder())
            return _standing(session, memory.reindexing())
        begun = monotonic()
        with output.progress(shown=not session.quiet and not session.json) as advance:
            done = memory.reindex(named, dry_run=dry_run, drop_old=drop_old, on_nodes=advance)
    seconds = round(monotonic() - begun, 3)
    if session.json:
        output.json_object(asdict(done) | {"seconds": seconds})
        return 0
    _tell_reindexed(session, done, seconds)
    return 0


def _tell_reindexed(session: Session, done: Reindexed, seconds: float) -> None:
    output.answer(
        f"{done.vectors} of {output.counted(done.nodes, 'node')} have a vector of {done.embedder}:"
        f" {done.embedded} embedded now, {done.reused} taken from equal texts ({seconds:.1f} s)"
    )
    if done.switched:
        output.answer(f"Recall goes by {done.embedder} now; before, by {done.before}.")
    elif done.dry_run and done.before != done.embedder:
        output.answer(f"Recall goes by {done.before}, and would go by {done.embedder}.")
    if done.dropped:
        output.answer(f"{output.counted(done.dropped, 'vector')} of other embedders deleted")
    if done.kept:
        session.say(
            f"{output.counted(done.kept, 'vector')} of other embedders kept,"
            f" {done.kept_bytes / 1e6:.1f} MB: --drop-old deletes them"
        )
    for note in done.notes:
        session.say(f"note: {note}")


def _standing(session: Session, standing: Standing) -> int:
    if session.json:
        output.json_object(asdict(standing))
        return 0
    there = standing.coverage
    if standing.wanted is None:
        output.answer(f"Recall goes by {standing.current}; no other embedder is wanted.")
    else:
        output.answer(f"Recall goes by {standing.current}; {standing.wanted} is being filled in.")
    output.answer(f"{there.vectors} of {output.counted(there.nodes, 'node')} have its vector")
    if standing.others.vectors:
        session.say(
            f"{output.counted(standing.others.vectors, 'vector')} of other embedders,"
            f" {standing.others.bytes / 1e6:.1f} MB"
        )
    return 0


def _cancelled(session: Session, name: str | None) -> int:
    if session.json:
        output.json_object({"cancelled": name})
    elif name is None:
        output.answer("No other embedder was wanted.")
    else:
        output.answer(f"{name} is wanted no more. What is filled in stays for another time.")
    return 0


def _no_embedder() -> str:
    raise click.UsageError("Say which embedder: ringwood reindex EMBEDDER --background")
