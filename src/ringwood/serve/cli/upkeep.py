"""Commands for what is done when nobody waits: rotate, dream."""

from __future__ import annotations

from dataclasses import asdict
from time import monotonic

import click

from ringwood.serve.cli import output
from ringwood.serve.cli.app import Session, options, waiting


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
    if done.waiting:
        session.say(f"{output.counted(done.waiting, 'document')} waiting")
    for note in done.notes:
        session.say(f"note: {note}")
    return 0


@click.command("dream")
@click.option("--dry-run", is_flag=True, help="Say what would change and write nothing.")
@click.option("--all", "everything", is_flag=True, help="Compare spaces of any size.")
@options
@waiting
@click.pass_obj
def dream_command(session: Session, /, dry_run: bool, everything: bool) -> int:
    """Compare all with all in every space. Safe to interrupt and to give again."""
    begun = monotonic()
    with session.memory() as memory:
        with output.progress(shown=not session.quiet and not session.json) as advance:
            done = memory.dream(dry_run=dry_run, everything=everything, on_nodes=advance)
        memory.wait_s = 0.0  # waited for once; leaving does not wait again
    seconds = round(monotonic() - begun, 3)
    if session.json:
        output.json_object(asdict(done) | {"seconds": seconds})
        return 0
    output.answer(
        f"{output.counted(done.nodes, 'node')} compared in"
        f" {output.counted(len(done.compared), 'space')}, {len(done.unchanged)} unchanged"
        f" ({seconds:.1f} s)"
    )
    would = "would be " if dry_run else ""
    output.answer(
        f"{done.edges_before} similar edges before, {done.edges_after} after:"
        f" {done.added} {would}added or measured anew, {done.removed} {would}removed"
    )
    if done.duplicates:
        output.answer(f"{output.counted(done.duplicates, 'duplicate')}, left as they are:")
        for group in done.groups:
            output.answer("  " + "  =  ".join(group))
    for note in done.notes:
        session.say(f"note: {note}")
    return 0
