"""The command index: a few lines on what is kept, in a file that an agent reads anyway."""

from __future__ import annotations

import os
from pathlib import Path

import click

from ringwood.durable import draft_of, replacing
from ringwood.errors import DISK_FULL, UsageError, refusal
from ringwood.serve.cli import output
from ringwood.serve.cli.app import Session, options
from ringwood.text.block import with_block, without_block


@click.command("index")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--remove", is_flag=True, help="Take the lines out again.")
@click.option("--dry-run", is_flag=True, help="Say what would change and write nothing.")
@options
@click.pass_obj
def index_command(session: Session, /, file: Path, remove: bool, dry_run: bool) -> int:
    """Keep a list of the largest parts of the space in CLAUDE.md, AGENTS.md or another file.

    It stands between two markers; nothing else in the file is touched, and an import leaves it out.
    """
    try:
        place = Path(os.path.realpath(file))  # a link to AGENTS.md stays one
        before = _content(place)
        if remove:
            after = without_block(before)
        else:
            with session.memory() as memory:
                memory.wait_s = 0.0
                memory.require_outside(place)
                after = with_block(before, memory.index())
        changed = after != before
        if changed and not dry_run:
            _replace(place, after)
    except OSError as error:
        what = f"{file} cannot be read or written"
        if error.errno in DISK_FULL:
            raise refusal(error, what) from error
        raise UsageError(f"{what}: {error.strerror}.", mend="check the path") from error
    if session.json:
        output.json_object({"file": str(place), "changed": changed, "dry_run": dry_run})
        return 0
    done = "would change" if dry_run else "changed"
    output.answer(f"{place} {done if changed else 'is as it should be'}")
    return 0


def _content(place: Path) -> bytes:
    """Return what a file holds; nothing where there is none."""
    try:
        return place.read_bytes()
    except FileNotFoundError:
        return b""


def _replace(place: Path, content: bytes) -> None:
    """Replace a file in one step, its mode kept; where that fails, nothing is left beside it."""
    mode = place.stat().st_mode & 0o7777 if place.exists() else 0o644
    draft = draft_of(str(place.with_name(f".{place.name}")))
    with replacing(str(place), draft=draft) as file:
        file.write(content)
        Path(draft).chmod(mode)
