"""Commands that stop and start capture: pause, resume."""

from __future__ import annotations

from collections.abc import Callable

import click

from ringwood import home
from ringwood.capture import consent
from ringwood.capture.space import space_key, space_slug
from ringwood.serve.cli import output
from ringwood.serve.cli.app import Session, options, working_directory


@click.command("pause")
@click.option("--here", is_flag=True, help="Only in the space of the working directory.")
@options
@click.pass_obj
def pause_command(session: Session, /, here: bool) -> int:
    """Stop capture everywhere, until it is resumed.

    What agents say and are told is no longer kept, nor what was looked for because of it. Only
    capture stops: recall goes on, and what is kept by hand is kept.
    """
    return _change(session, consent.pause, here=here)


@click.command("resume")
@click.option("--here", is_flag=True, help="Only in the space of the working directory.")
@options
@click.pass_obj
def resume_command(session: Session, /, here: bool) -> int:
    """Let capture go on.

    Without --here, spaces that were paused by themselves stay paused. What a .ringwoodignore leaves
    out stays out.
    """
    return _change(session, consent.resume, here=here)


def _change(session: Session, change: Callable[[str, str | None], None], *, here: bool) -> int:
    place, directory = home.locate(session.home), working_directory()
    change(place, directory if here else None)
    everywhere = consent.is_paused_everywhere(place)
    left_out = consent.is_left_out(directory)
    in_space = consent.is_paused_here(place, directory) or left_out
    space = space_slug(space_key(directory))
    if session.json:
        output.json_object({"paused": everywhere, "here": in_space, "space": space})
        return 0
    here_too = f"in the space {space}: paused by itself, until ringwood resume --here"
    if left_out:
        here_too = "in this folder: a .ringwoodignore leaves it out"
    told = "Capture is paused everywhere." if everywhere else "Capture is on."
    if in_space:
        told = f"{told[:-1]}, and {here_too}." if everywhere else f"Capture is off {here_too}."
    output.answer(told)
    if in_space and not everywhere:
        session.say("elsewhere it is on")
    return 0
