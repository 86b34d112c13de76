"""Commands that change what is kept: init, store, import, forget."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from ringwood import home as homes
from ringwood.errors import UsageError
from ringwood.serve.cli import output
from ringwood.serve.cli.app import DUE_S, Session, options, waiting
from ringwood.text.clean import decode

if TYPE_CHECKING:
    from ringwood.memory import Memory
    from ringwood.write.forget import Forgotten
    from ringwood.write.receipt import ImportReport


class Moment(click.ParamType[datetime]):
    """An ISO 8601 date or time; without a zone it is local time, as a person means it."""

    name = "iso"

    def convert(
        self, value: str | datetime, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """Turn the text into an aware UTC time."""
        if isinstance(value, datetime):
            return value
        try:
            return datetime.fromisoformat(value).astimezone(UTC)
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is no ISO date or time, such as 2026-10-31 or 2026-10-31T12:00Z")


@click.command("init")
@click.option(
    "--import", "folder", type=click.Path(path_type=Path), help="Notes to take in at once."
)
@options
@waiting
@click.pass_obj
def init_command(session: Session, /, folder: Path | None) -> int:
    """Make a home and its settings, and offer to take in notes. Safe to run again."""
    home = homes.locate(session.home)
    existed = homes.exists(home)
    with session.memory() as memory:
        memory.create()
        result: dict[str, Any] = {"home": home, "created": not existed, "space": memory.space}
        if folder is None and not existed and _is_conversation(session):
            given = click.prompt("A folder of notes to import (empty: none)", default="", err=True)
            folder = Path(given).expanduser() if given else None
        if folder is not None:
            report = _import(session, memory, (folder,), {})
            result["import"] = _import_json(report, 0.0)
    if session.json:
        output.json_object(result)
    else:
        output.answer(f"{'Made' if not existed else 'There already:'} {home}")
        session.say("Next: ringwood import FOLDER, then ringwood recall QUESTION --why")
    return 0


@click.command("store")
@click.argument("file", default="-", metavar="[FILE|-]")
@click.option("--title", metavar="T", help="Instead of what the text says of its title.")
@click.option("--path", metavar="P", help="Instead of the title's slug.")
@click.option("--source", metavar="KEY", help="A later store under the same key is an edit of it.")
@click.option("--replace", metavar="ADDRESS", help="The document whose new text this is.")
@click.option("--importance", type=click.FloatRange(0.0, 1.0), metavar="0..1", help="[0.5]")
@click.option("--at", type=Moment(), metavar="ISO", help="When it was said or written.")
@options
@waiting
@click.pass_obj
def store_command(session: Session, /, file: str, **given: Any) -> int:
    """Keep one text, from a file or from standard input."""
    text, repaired = _read(file)
    with session.memory() as memory:
        receipt = memory.store(text, **given)
        memory.wait()
        memory.wait_s = 0.0  # waited for once; leaving does not wait again
        receipt = memory.receipt(receipt)
        space = memory.space
    if session.json:
        output.json_object(
            {
                "document": receipt.document,
                "path": receipt.path,
                "address": receipt.address,
                "state": receipt.state,
                "nodes": receipt.nodes,
                "vectors": receipt.vectors,
                "edges": receipt.edges,
                "redacted": receipt.redacted,
                "repaired": receipt.repaired + repaired,
                "space": space,
            }
        )
    elif receipt.state == "forgotten":
        output.answer("Not stored: this text was forgotten on purpose.")
    else:
        output.answer(f"{receipt.address}  ({receipt.state})")
        session.say(_counted(receipt.nodes, receipt.vectors, receipt.edges))
        _say_masked(session, receipt.redacted, receipt.repaired + repaired)
    return 0


@click.command("import")
@click.argument(
    "paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH..."
)
@click.option("--dry-run", is_flag=True, help="Say what would happen and write nothing.")
@click.option("--prune", is_flag=True, help="Remove documents whose file is gone.")
@click.option("--since", type=Moment(), metavar="ISO", help="Only files changed since then.")
@click.option("--again", is_flag=True, help="Take in again what was forgotten.")
@options
@waiting
@click.pass_obj
def import_command(session: Session, /, paths: tuple[Path, ...], **given: Any) -> int:
    """Take in files and folders of notes. The same again adds nothing."""
    started = monotonic()
    with session.memory() as memory:
        report = _import(session, memory, paths, given)
        space, seconds = memory.space, monotonic() - started
    if session.json:
        output.json_object(_import_json(report, seconds) | {"space": space})
        return 0
    done = report.imported
    output.answer(
        f"{done.changed} documents new or changed in space {space}, {done.unchanged} unchanged"
        f" ({seconds:.1f} s)"
    )
    session.say(_counted(report.nodes, report.vectors, report.edges))
    if report.waiting:
        session.say(
            "Vectors that are missing follow whenever Ringwood runs; words find all already."
        )
    if done.forgotten:
        session.say(f"{done.forgotten} forgotten on purpose, left out (--again takes them in)")
    _say_masked(session, done.redacted, done.repaired)
    for skipped in done.skipped:
        session.say(f"skipped {skipped.file}: {skipped.reason}")
    for gone in report.gone:
        session.say(f"gone, kept in memory (--prune removes it): {gone}")
    return 0


@click.command("forget")
@click.argument("address", required=False)
@click.option("--document", metavar="ID", help="A document by id.")
@click.option("--source", metavar="KEY", help="A document by source key.")
@click.option("--dry-run", is_flag=True, help="Say what would go and remove nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@options
@click.pass_obj
def forget_command(
    session: Session,
    /,
    address: str | None,
    document: str | None,
    source: str | None,
    **given: bool,
) -> int:
    """Remove a text and everything derived from it, for good.

    An address means its whole subtree. With --space NAME and nothing else, everything in that space
    goes. What was forgotten stays away: no import brings it back without --again.
    """
    space = None if address or document or source else session.space
    target: dict[str, Any] = {"document": document, "source": source, "space": space}
    session.wait_s = DUE_S
    with session.memory() as memory:
        report = memory.forget(address, **target, dry_run=True)
        dry_run = given["dry_run"]
        if not dry_run:
            _confirm(session, report, given["yes"])
            report = memory.forget(address, **target)
    if session.json:
        output.json_object(
            {
                "documents": report.documents,
                "nodes": report.nodes,
                "vectors": report.vectors,
                "edges": report.edges,
                "files": report.files,
                "addresses": list(report.addresses),
                "dry_run": dry_run,
            }
        )
    else:
        verb = "Would forget" if dry_run else "Forgot"
        output.answer(f"{verb} {_forgotten(report)}")
    return 0


def _confirm(session: Session, report: Forgotten, agreed: bool) -> None:
    if agreed:
        return
    if not _is_conversation(session):
        raise UsageError(
            f"This would forget {_forgotten(report)}.", mend="add --yes, or --dry-run to look first"
        )
    click.confirm(f"Forget {_forgotten(report)}?", abort=True, err=True)


def _forgotten(report: Forgotten) -> str:
    shown = ", ".join(report.addresses[:3])
    more = ", ..." if len(report.addresses) > 3 else ""
    return f"{report.documents} documents, {report.nodes} nodes: {shown}{more}"


def _is_conversation(session: Session) -> bool:
    return not session.json and not session.quiet and sys.stdin.isatty() and sys.stderr.isatty()


def _read(file: str) -> tuple[str, int]:
    """Read a file or standard input as text; also the number of characters replaced."""
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise UsageError(
            f"{file} cannot be read: {error.strerror}.", mend="check the path"
        ) from error
    decoded = decode(data)
    if decoded is None:
        raise UsageError(f"{file} is not text.", mend="give a text or Markdown file")
    return decoded.text, decoded.repaired


def _import(
    session: Session, memory: Memory, paths: tuple[Path, ...], given: dict[str, Any]
) -> ImportReport:
    """Import with bars for reading and for vectors."""
    with output.progress(shown=not session.quiet and not session.json) as advance:

        def wait() -> None:
            waiting_for = memory.missing_vectors()
            memory.wait(on_tick=lambda done: advance("vectors", done, waiting_for))
            memory.wait_s = 0.0  # waited for once; leaving does not wait again

        return memory.import_notes(
            paths,
            on_file=lambda done, total: advance("files", done, total),
            wait=wait,
            **given,
        )


def _import_json(report: ImportReport, seconds: float) -> dict[str, Any]:
    done = report.imported
    skipped = [{"file": each.file, "reason": each.reason} for each in done.skipped]
    skipped += [{"file": each, "reason": "gone; kept (--prune removes it)"} for each in report.gone]
    return {
        "documents": done.changed,
        "nodes": report.nodes,
        "vectors": report.vectors,
        "edges": report.edges,
        "unchanged": done.unchanged,
        "forgotten": done.forgotten,
        "pruned": report.pruned,
        "redacted": done.redacted,
        "repaired": done.repaired,
        "skipped": skipped,
        "seconds": round(seconds, 3),
    }


def _counted(nodes: int, vectors: int, edges: int) -> str:
    return f"{nodes} nodes, {vectors} vectors, {edges} similar edges"


def _say_masked(session: Session, redacted: int, repaired: int) -> None:
    if redacted:
        session.say(f"{redacted} secrets were masked before anything was written")
    if repaired:
        session.say(f"{repaired} characters could not be stored and were replaced by U+FFFD")
