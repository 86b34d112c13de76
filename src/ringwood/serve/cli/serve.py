"""Commands that other programs start: serve, hook."""

from __future__ import annotations

import os
from dataclasses import replace

import click

from ringwood import home as homes
from ringwood.serve.cli import output
from ringwood.serve.cli.app import Session, options


@click.command("serve")
@click.option(
    "--idle",
    "idle_s",
    type=click.FloatRange(0.0),
    metavar="SECONDS",
    help="Leave after so long without a request.  [900]",
)
@options
@click.pass_obj
def serve_command(session: Session, /, idle_s: float | None) -> int:
    """Be the resident process of a home, until nobody asks any more. There is never a second."""
    # Only now: the locks and sockets that it needs are not there on every system.
    from ringwood.serve.resident.seat import Seat, TakenError  # noqa: PLC0415

    home = session.home = homes.locate(session.home)  # whole, before the folder changes
    try:
        seat = Seat(home)
    except TakenError as taken:
        _tell(session, home, taken.pid, started=False)
        return 0
    try:
        # Only who serves loads what is dear.
        from ringwood.serve.resident.process import Resident, log_to_file  # noqa: PLC0415

        os.chdir("/")  # it keeps nobody's folder busy
        os.umask(0o077)  # whatever it writes, a log that is begun anew too, is its owner's alone
        log_to_file(home)
        memory = session.memory()
        serve = memory.config.serve
        _tell(session, home, os.getpid(), started=True)
        Resident(memory, seat, serve if idle_s is None else replace(serve, idle_s=idle_s)).run()
    finally:
        seat.leave()
    return 0


@click.command("hook")
@click.argument("host", metavar="HOST")
@options
@click.pass_obj
def hook_command(session: Session, /, host: str) -> int:
    """Answer one call of an agent host: claude-code or codex. It sends an object, and gets one."""
    # Only here where options stand before the command: else `main` starts it without click.
    from ringwood.serve.hook import main  # noqa: PLC0415

    return main([host] if session.home is None else [host, "--home", session.home])


def _tell(session: Session, home: str, pid: int | None, *, started: bool) -> None:
    """Say who serves."""
    if session.json:
        output.json_object({"home": home, "pid": pid, "started": started})
    elif started:
        session.say(f"Serving {home}, process {pid}.")
    else:
        session.say(f"{home} is served already, by process {pid or 'unknown'}.")
