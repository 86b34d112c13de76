"""The command index: a few lines on what is kept, in a file that an agent reads anyway."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import NamedTemporaryFile

import click

from ringwood.errors import UsageError
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
    place = file.resolve()  # a link to AGENTS.md stays one
    try:
        before = place.read_bytes() if place.exists() else b""
        if remove:
            after = without_block(before)
        else:
            with session.memory() as memory:
                memory.wait_s = 0.0
                after = with_block(before, memory.index())
        changed = after != before
        if changed and not dry_run:
            _replace(place, after)
    except OSError as error:
        raise UsageError(
            f"{file} cannot be read or written: {error.strerror}.", mend="check the path"
        ) from error
    if session.json:
        output.json_object({"file": str(place), "changed": changed, "dry_run": dry_run})
        return 0
    done = "would change" if dry_run else "changed"
    output.answer(f"{place} {done if changed else 'is as it should be'}")
    return 0


def _replace(place: Path, content: bytes) -> None:
    """Replace a file in one step, its mode kept."""
    with NamedTemporaryFile(dir=place.parent, prefix=f".{place.name}-", delete=False) as draft:
        draft.write(content)
        draft.flush()
        os.fsync(draft.fileno())
    name = Path(draft.name)
    try:
        name.chmod(place.stat().st_mode & 0o7777 if place.exists() else 0o644)
        name.replace(place)
    except OSError:
        name.unlink(missing_ok=True)
        raise
