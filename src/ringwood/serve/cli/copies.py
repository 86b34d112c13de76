"""Commands that take the home as a whole: export, backup, and the import of an export."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from ringwood.serve.cli import output, streams
from ringwood.serve.cli.app import Session, options

if TYPE_CHECKING:
    from ringwood.upkeep.copies.export import Exported


@click.command("export")
@click.argument("file", default="-", metavar="[FILE|-]")
@click.option("--no-vectors", is_flag=True, help="Leave vectors out: they are made again.")
@click.option("--undone", is_flag=True, help="Also say which merges were undone, to keep them so.")
@options
@click.pass_obj
def export_command(session: Session, /, file: str, no_vectors: bool, undone: bool) -> int:
    """Write all that is kept as lines of JSON, into a file or to standard output."""
    if file == "-" and session.json:
        raise click.UsageError("Standard output holds the export or the JSON: give a FILE.")
    begun = monotonic()
    try:
        done = _export(session, file, vectors=not no_vectors, undone=undone)
    except OSError:
        if file != "-":
            raise
        streams.answer("")  # meets it again, says so, and leaves nothing to be tried at the end
        return 0  # a reader that went away, as `head` does, is no fault
    seconds = round(monotonic() - begun, 3)
    if session.json:
        output.json_object(asdict(done) | {"file": file, "seconds": seconds})
        return 0
    session.say(
        f"{output.counted(done.documents, 'document')}, {output.counted(done.nodes, 'node')},"
        f" {output.counted(done.vectors, 'vector')}, {output.counted(done.edges, 'edge')}:"
        f" {done.bytes / 1e6:.1f} MB ({seconds:.1f} s)"
    )
    for tier in done.missing_tiers:
        session.say(f"note: the {tier} tier is missing, and nothing of it is in the export")
    if done.spooled:
        session.say(f"note: {output.counted(done.spooled, 'captured event')} not stored yet, left")
    return 0


def _export(session: Session, file: str, *, vectors: bool, undone: bool) -> Exported:
    with session.memory() as memory:
        memory.wait_s = 0.0  # what is written is written as it stands
        with output.progress(shown=not session.quiet and file != "-") as advance:
            done = memory.export(
                sys.stdout.buffer if file == "-" else Path(file),
                vectors=vectors,
                undone=undone,
                on_document=lambda count, total: advance("documents", count, total),
            )
    if file == "-":
        sys.stdout.buffer.flush()
    return done


@click.command("backup")
@click.argument("target", type=click.Path(path_type=Path), metavar="TARGET")
@click.option("--dry-run", is_flag=True, help="Say what it would take and write nothing.")
@options
@click.pass_obj
def backup_command(session: Session, /, target: Path, dry_run: bool) -> int:
    """Copy the home into a new folder TARGET, which opens as a home itself."""
    begun = monotonic()
    with session.memory() as memory:
        memory.wait_s = 0.0
        with output.progress(shown=not session.quiet and not session.json) as advance:
            done = memory.backup(
                target,
                dry_run=dry_run,
                on_page=lambda count, total: advance("pages", count, total),
            )
    seconds = round(monotonic() - begun, 3)
    if session.json:
        output.json_object(asdict(done) | {"seconds": seconds})
        return 0
    output.answer(
        f"{'Would take' if dry_run else 'Backed up'}: {done.bytes / 1e6:.1f} MB"
        f" {'at' if dry_run else 'to'} {done.target} ({seconds:.1f} s)"
    )
    for tier in done.missing_tiers:
        session.say(f"note: the {tier} tier is missing, and nothing of it is in the backup")
    if not dry_run:
        session.say(f"Look at it: ringwood verify --home {done.target}")
    return 0


def is_export_file(path: Path) -> bool:
    """Say whether a file begins as an export does."""
    from ringwood.upkeep.copies.restore import is_export  # noqa: PLC0415 - the engine's weight

    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return is_export(file.read(1024))
    except (OSError, ValueError):  # whoever imports notes says what is wrong with it
        return False


def import_export(session: Session, path: Path, given: dict[str, Any]) -> int:
    """Make an empty home what an export was made of."""
    if any(given.values()):
        raise click.UsageError("An export is taken in as a whole: give no option with it.")
    begun = monotonic()
    with session.memory() as memory:
        with output.progress(shown=not session.quiet and not session.json) as advance:
            done = memory.restore(path, on_document=lambda count: advance("documents", count, None))
        home = memory.home
    seconds = round(monotonic() - begun, 3)
    if session.json:
        report = asdict(done) | {"files": sorted(done.files), "home": home, "seconds": seconds}
        output.json_object(report)
        return 0
    output.answer(
        f"{home} holds {output.counted(done.documents, 'document')},"
        f" {output.counted(done.nodes, 'node')}, {output.counted(done.vectors, 'vector')},"
        f" {output.counted(done.edges, 'edge')} ({seconds:.1f} s)"
    )
    for note in done.notes:
        session.say(f"note: {note}")
    return 0
