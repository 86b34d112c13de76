"""Commands that change what is kept: init, store, import, forget."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from ringwood import home as homes
from ringwood.errors import UsageError
from ringwood.serve.cli import output
from ringwood.serve.cli.app import DUE_S, Session, options, waiting
from ringwood.serve.cli.copies import import_export, is_export_file
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
    "--import", "folder", type=click.Path(path_type=Path), help="Notes to take in, without asking."
)
@options
@waiting
@click.pass_obj
def init_command(session: Session, /, folder: Path | None) -> int:
    """Make a home, and offer to take in notes. Safe to run again."""
    home = homes.locate(session.home)
    existed = homes.exists(home)
    with session.memory() as memory:
        memory.create()
        result: dict[str, Any] = {"home": home, "created": not existed, "space": memory.space}
        if not session.json:
            output.answer(f"{'There is a memory already:' if existed else 'Made'} {home}")
        if folder is None and not existed and _is_conversation(session):
            folder = _ask_for_notes()
        done = None if folder is None else _import(session, memory, (folder,), {})
    if session.json:
        output.json_object(result | ({} if done is None else {"import": _import_json(done)}))
        return 0
    if done is not None:
        _print_import(session, done)
    first = "ringwood import FOLDER, then " if done is None else ""
    session.say(f"Next: {first}ringwood recall QUESTION --why")
    return 0 if done is None else done.exit_code


@click.command("store")
@click.argument("file", default="-", metavar="[FILE|-]")
@click.option("--title", metavar="T", help="Instead of what the text says of its title.")
@click.option("--path", metavar="P", help="Instead of the title's slug.")
@click.option("--source", metavar="KEY", help="A later store under the same key is an edit of it.")
@click.option(
    "--replace", metavar="ADDRESS", help="The document or node that it takes the place of."
)
@click.option(
    "--importance",
    type=click.FloatRange(0.0, 1.0),
    metavar="0..1",
    help="How much it matters.  [0.5]",
)
@click.option("--at", type=Moment(), metavar="ISO", help="When it was said or written.")
@options
@waiting
@click.pass_obj
def store_command(session: Session, /, file: str, **given: Any) -> int:
    """Keep one text, from a file or from standard input."""
    if file == "-" and _is_conversation(session):
        session.say("Type the text; end it with Ctrl-D, on Windows with Ctrl-Z and Enter.")
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
        if receipt.state == "failed":
            session.say("Kept, and found by words. ringwood stats says why it has no vectors yet.")
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
    """Take in files and folders of notes, or an export. The same again adds nothing."""
    export = next((path for path in paths if is_export_file(path)), None)
    if export is not None and len(paths) > 1:
        raise UsageError(
            f"{export} is an export, which is taken in as a whole and not beside notes.",
            mend=f"ringwood import {export} --home DIR, where DIR is a new folder",
        )
    if export is not None:
        return import_export(session, export, given)
    with session.memory() as memory:
        done = _import(session, memory, paths, given)
    if session.json:
        output.json_object(_import_json(done))
    else:
        _print_import(session, done)
        if given["dry_run"]:
            session.say("That is what would happen: --dry-run stored none of it")
    return done.exit_code


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
                "notes": list(report.notes),
                "dry_run": dry_run,
            }
        )
    else:
        verb = "Would forget" if dry_run else "Forgot"
        output.answer(f"{verb} {_forgotten(report)}")
        for note in report.notes:
            session.say(f"note: {note}")
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
    documents = output.counted(report.documents, "document")
    return f"{documents}, {output.counted(report.nodes, 'node')}: {shown}{more}"


def _is_conversation(session: Session) -> bool:
    return not session.json and not session.quiet and sys.stdin.isatty() and sys.stderr.isatty()


def _read(file: str) -> tuple[str, int]:
    """Read a file or standard input as text; also the number of characters replaced."""
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise UsageError(
            f"{file} cannot be read: {error.strerror}.",
            mend="check the path; a text itself goes by a pipe: echo TEXT | ringwood store",
        ) from error
    decoded = decode(data)
    if decoded is None:
        raise UsageError(f"{file} is not text.", mend="give a text or Markdown file")
    return decoded.text, decoded.repaired


def _ask_for_notes() -> Path | None:
    """Ask for a folder until there is one; an empty answer or a no means none."""
    question = "Folder of notes to import (Enter: none)"
    while given := click.prompt(question, default="", show_default=False, err=True).strip():
        if given.lower() in ("n", "no"):
            return None
        folder = Path(given).expanduser()
        if folder.exists():
            return folder
        output.remark(f"There is no file or folder {given}.")
    return None


@dataclass(frozen=True, slots=True)
class _Import:
    """An import and what it left to do."""

    report: ImportReport
    """What the store says of it."""
    space: str
    """Where the documents are."""
    seconds: float
    """How long it took."""
    missing: int
    """Vectors that the whole home lacks."""
    followed: int
    """Vectors made meanwhile, also those of earlier texts."""
    exit_code: int
    """0, or 130 when the wait for vectors was broken off."""


def _import(
    session: Session, memory: Memory, paths: tuple[Path, ...], given: dict[str, Any]
) -> _Import:
    """Import with bars for reading and for vectors. To interrupt the second is no failure."""
    started, missing, exit_code = monotonic(), 0, 0
    with output.progress(shown=not session.quiet and not session.json) as advance:

        def wait() -> None:
            nonlocal missing, exit_code
            missing = total = memory.missing_vectors()
            try:
                memory.wait(on_tick=lambda done: advance("vectors", done, total) if total else None)
            except KeyboardInterrupt:
                if session.json:
                    raise
                exit_code = 130
            memory.wait_s = 0.0  # waited for once; leaving does not wait again

        report = memory.import_notes(
            paths,
            on_file=lambda done, total: advance("files", done, total),
            wait=wait,
            **given,
        )
    left = memory.missing_vectors()
    seconds = monotonic() - started
    return _Import(report, memory.space, seconds, left, max(missing - left, 0), exit_code)


def _print_import(session: Session, done: _Import) -> None:
    """Say what an import did, and what is still to come."""
    report, imported = done.report, done.report.imported
    output.answer(
        f"{output.counted(imported.changed, 'document')} new or changed in space {done.space},"
        f" {imported.unchanged} unchanged ({done.seconds:.1f} s)"
    )
    if report.nodes:
        session.say(_counted(report.nodes, report.vectors, report.edges))
    elif done.followed:
        session.say(f"{output.counted(done.followed, 'vector')} of earlier texts followed")
    if done.missing:
        session.say(
            f"{output.counted(done.missing, 'vector')} to come whenever Ringwood runs;"
            " words find all already. The same import with --wait 600 waits for them."
        )
    elif report.nodes and not report.vectors:
        session.say("Found by words only. ringwood stats says why.")
    if imported.forgotten:
        session.say(f"{imported.forgotten} forgotten on purpose, left out (--again takes them in)")
    _say_masked(session, imported.redacted, imported.repaired)
    if imported.links.links or imported.links.unresolved:
        lost = f", {imported.links.unresolved} that name none" if imported.links.unresolved else ""
        session.say(f"{output.counted(imported.links.links, 'link')} between notes{lost}")
    for skipped in imported.skipped:
        session.say(f"skipped {skipped.file}: {skipped.reason}")
    for gone in report.gone:
        session.say(f"gone, kept in memory (--prune removes it): {gone}")


def _import_json(done: _Import) -> dict[str, Any]:
    report, imported = done.report, done.report.imported
    skipped = [{"file": each.file, "reason": each.reason} for each in imported.skipped]
    skipped += [{"file": each, "reason": "gone; kept (--prune removes it)"} for each in report.gone]
    return {
        "documents": imported.changed,
        "nodes": report.nodes,
        "vectors": report.vectors,
        "edges": report.edges,
        "unchanged": imported.unchanged,
        "forgotten": imported.forgotten,
        "pruned": report.pruned,
        "redacted": imported.redacted,
        "repaired": imported.repaired,
        "links": imported.links.links,
        "unresolved": imported.links.unresolved,
        "skipped": skipped,
        "seconds": round(done.seconds, 3),
        "space": done.space,
    }


def _counted(nodes: int, vectors: int, edges: int) -> str:
    things = ((nodes, "node"), (vectors, "vector"), (edges, "similar edge"))
    return ", ".join(output.counted(number, thing) for number, thing in things)


def _say_masked(session: Session, redacted: int, repaired: int) -> None:
    if redacted:
        session.say(f"{redacted} secrets were masked before anything was written")
    if repaired:
        session.say(f"{repaired} characters could not be stored and were replaced by U+FFFD")
