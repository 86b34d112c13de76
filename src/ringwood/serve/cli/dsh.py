"""The command for DeepSeek Harness: install the plugin, take old sessions in, say how it stands."""

from __future__ import annotations

import shlex
import shutil
import time
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from ringwood import home as homes
from ringwood.hosts.dsh import install as installer
from ringwood.serve.cli import output
from ringwood.serve.cli.app import Session, options
from ringwood.serve.cli.keep import Moment

if TYPE_CHECKING:
    from ringwood.serve.dsh.backfill import Backfill

ACTIONS = ("install", "uninstall", "status", "import")
LOG_LINES = 5


def _known(context: click.Context, _: click.Parameter, action: str | None) -> str:
    if action not in (*ACTIONS, "child"):  # the plugin starts the child; nobody types it
        said = "Say what to do" if action is None else f"dsh has no {action!r}; say one of"
        context.fail(f"{said}: {', '.join(ACTIONS)}.")
    return action


@click.command("dsh")
@click.argument("action", required=False, metavar="|".join(ACTIONS), callback=_known)
@click.option("--dsh-home", type=click.Path(path_type=Path), metavar="DIR", help="[~/.dsh]")
@click.option("--dry-run", is_flag=True, help="Say what would happen and write nothing.")
@click.option("--since", type=Moment(), metavar="ISO", help="Only sessions written since then.")
@click.option("--again", is_flag=True, help="Take in again what was forgotten.")
@options
@click.pass_obj
def dsh_command(session: Session, /, action: str, dsh_home: Path | None, **given: Any) -> int:
    """Give DeepSeek Harness a memory.

    install and uninstall put a plugin into DSH's home and take it out again; status says whether it
    is there and what it last logged; import takes in the sessions that DSH kept.
    """
    if action == "child":
        return _child(session)
    place = installer.default_home() if dsh_home is None else dsh_home.expanduser().absolute()
    if action == "import":
        return _import(session, place, given)
    if action == "status":
        return _status(session, place)
    if action == "install":
        if not place.is_dir():
            session.say(f"DSH has not run in {place} yet: --dsh-home DIR names another")
        config = {} if session.home is None else {"dataDir": homes.locate(session.home)}
        change = installer.install(place, installer.row_of(config), dry_run=given["dry_run"])
    else:
        change = installer.uninstall(place, dry_run=given["dry_run"])
    return _tell(session, action, change, given["dry_run"])


def _tell(session: Session, action: str, change: installer.Change, dry_run: bool) -> int:
    changed = change.before != change.after
    if session.json:
        told = {"file": str(change.file), "changed": changed, "dry_run": dry_run}
        output.json_object({"action": action, **told, "diff": change.diff()})
    elif dry_run:
        output.answer(change.diff() or f"{change.file} stays as it is")
    else:
        verb = {"install": "The plugin stands in", "uninstall": "The plugin is out of"}[action]
        output.answer(f"{verb} {change.file}" + ("" if changed else ", as before"))
        if changed:
            session.say("DSH reads it when it starts")
        if changed and action == "uninstall":
            session.say("what was remembered stays: ringwood recent, ringwood forget")
    return 0


def _status(session: Session, place: Path) -> int:
    row = installer.installed(place)
    command = [] if row is None else [str(each) for each in row.config.get("command", [])]
    home = homes.locate(session.home or (None if row is None else row.config.get("dataDir")))
    log = Path(home) / "logs" / "dsh.log"
    lines = log.read_text("utf-8", "replace").splitlines() if log.is_file() else []
    told = {
        "dsh_home": str(place),
        "installed": row is not None,
        "script": None if row is None else row.script,
        "current": row is not None and row.script == installer.row_of({}).script,
        "command": command,
        "runs": bool(command) and shutil.which(command[0]) is not None,
        "home": home,
        "log": lines[-LOG_LINES:],
    }
    if session.json:
        output.json_object(told)
    else:
        _print_status(session, told)
    return 0 if row is not None else 1


def _print_status(session: Session, told: dict[str, Any]) -> None:
    plugin = "installed" if told["installed"] else "not installed"
    if told["installed"] and not told["current"]:
        plugin += ", by another Ringwood"
    output.answer(f"dsh_home  {told['dsh_home']}\nplugin    {plugin}\nhome      {told['home']}")
    if told["installed"]:
        lost = "" if told["runs"] or not told["command"] else "  (cannot be run)"
        command = shlex.join(told["command"]) or "ringwood, as found on the PATH"
        output.answer(f"script    {told['script']}\ncommand   {command}{lost}")
    for line in told["log"]:
        output.answer(f"log       {line}")
    if not (told["installed"] and told["current"]) or (told["command"] and not told["runs"]):
        session.say("ringwood dsh install puts it in")


def _import(session: Session, place: Path, given: dict[str, Any]) -> int:
    # Only now: what reads the files is no business of the other actions.
    from ringwood.hosts.dsh.sessions import session_files  # noqa: PLC0415
    from ringwood.serve.dsh.backfill import backfill  # noqa: PLC0415

    since: datetime | None = given["since"]
    files = session_files(place, 0.0 if since is None else since.timestamp())
    began = time.monotonic()
    with ExitStack() as stack:
        if given["dry_run"] and not homes.exists(homes.locate(session.home)):
            session.home = stack.enter_context(TemporaryDirectory())  # a try makes no home
        memory = stack.enter_context(session.memory())
        shown = not (session.quiet or session.json)
        advance = stack.enter_context(output.progress(shown=shown))
        done = backfill(
            memory,
            files,
            dry_run=given["dry_run"],
            again=given["again"],
            on_file=lambda done, total: advance("sessions", done, total),
        )
        memory.wait()
    _print_import(session, place, done, time.monotonic() - began)
    return 1 if done.unreadable or done.taken.failed else 0


def _print_import(session: Session, place: Path, done: Backfill, seconds: float) -> None:
    taken, skipped = done.taken, done.tally.skipped.most_common()
    if session.json:
        output.json_object(
            {
                "sessions": done.sessions,
                "exchanges": done.exchanges,
                "documents": len(taken.documents),
                "existing": taken.existing,
                "echoes": taken.echoes,
                "forgotten": taken.forgotten,
                "failed": list(taken.failed),
                "unreadable": [{"file": file, "reason": why} for file, why in done.unreadable],
                "rows": done.tally.rows,
                "skipped": [{"reason": reason, "rows": rows} for reason, rows in skipped],
                "seconds": round(seconds, 3),
            }
        )
        return
    stored = output.counted(len(taken.documents), "document")
    output.answer(
        f"{stored} new or changed of {output.counted(done.exchanges, 'exchange')}"
        f" in {output.counted(done.sessions, 'session')}"
    )
    if not done.sessions:
        session.say(
            f"no session since then, or none at all, in {place}: --dsh-home DIR names another"
        )
    if skipped:
        session.say("left out, by rows of the files:")
    for reason, rows in skipped:
        session.say(f"{rows:>8}  {reason}")
    for file, why in done.unreadable:
        session.say(f"{file} cannot be read: {why}")


def _child(session: Session) -> int:
    # Only now, and without what loads the database: the plugin waits for a greeting.
    from ringwood.serve.dsh.child import run  # noqa: PLC0415

    run(homes.locate(session.home), session.memory)
    return 0
