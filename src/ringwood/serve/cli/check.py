"""Commands that look whether a home is whole, and make again what is broken: verify, salvage."""

from __future__ import annotations

from dataclasses import asdict
from time import monotonic
from typing import TYPE_CHECKING

import click

from ringwood.serve.cli import output
from ringwood.serve.cli.app import Session, options

if TYPE_CHECKING:
    from ringwood.types import Tier
    from ringwood.upkeep.checking.findings import Verified
    from ringwood.upkeep.checking.salvage import Salvaged

SHOWN = 50
"""Findings that a person is shown; `--json` gives all that are listed."""


@click.command("verify")
@click.option("--quick", is_flag=True, help="Texts, trees and pages alone.")
@click.option("--mend", is_flag=True, help="Make again what can be made from the texts.")
@click.option("--dry-run", is_flag=True, help="With --mend: say what would be made again.")
@options
@click.pass_obj
def verify_command(session: Session, /, quick: bool, mend: bool, dry_run: bool) -> int:
    """Look at everything, and say what is wrong and which command mends it."""
    begun = monotonic()
    with session.memory() as memory:
        with output.progress(shown=not session.quiet and not session.json) as advance:
            done = memory.verify(quick=quick, mend=mend, dry_run=dry_run, on_progress=advance)
        memory.wait_s = session.wait_s if mend and not dry_run else 0.0
    seconds = round(monotonic() - begun, 3)
    if session.json:
        output.json_object(asdict(done) | {"clean": done.is_clean, "seconds": seconds})
    else:
        _tell_verified(session, done, seconds)
    return 0 if done.is_clean else 1


@click.command("salvage")
@click.argument("tier", required=False, type=click.Choice(["hot", "warm", "cold"]))
@click.option("--dry-run", is_flag=True, help="Say what would come of it, put nothing in place.")
@click.option("--force", is_flag=True, help="A tier that is sound, too.")
@options
@click.pass_obj
def salvage_command(session: Session, /, tier: Tier | None, dry_run: bool, force: bool) -> int:
    """Make broken tiers anew from what is readable of them, and from the mirror."""
    begun = monotonic()
    with session.memory() as memory:
        with output.progress(shown=not session.quiet and not session.json) as advance:
            done = memory.salvage(tier, dry_run=dry_run, force=force, on_progress=advance)
        memory.wait_s = 0.0 if dry_run else session.wait_s
    seconds = round(monotonic() - begun, 3)
    if session.json:
        output.json_object(asdict(done) | {"seconds": seconds})
    else:
        _tell_salvaged(session, done, seconds)
    return 1 if any(each.lost for each in done.tiers) else 0


def _tell_salvaged(session: Session, done: Salvaged, seconds: float) -> None:
    for each in done.tiers:
        output.answer(
            f"{each.tier}: {output.counted(each.documents, 'document')},"
            f" {each.readable} from the old file, {each.from_mirror} from the mirror"
        )
        for address in each.altered:
            output.answer(f"  kept though its text is not what it was: {address}")
        if each.lost:
            listed = ", ".join(map(str, each.lost[:SHOWN]))
            output.answer(f"  {output.counted(len(each.lost), 'document')} lost: {listed}")
        for skipped in each.skipped[:SHOWN]:
            session.say(f"not used: mirror/{skipped.file}: {skipped.reason}")
        if each.kept is not None:
            session.say(f"the old file is kept: {each.kept}")
    for note in done.notes:
        session.say(f"note: {note}")
    output.answer(f"{'Nothing was changed' if done.dry_run else 'Done'} ({seconds:.1f} s)")


def _tell_verified(session: Session, done: Verified, seconds: float) -> None:
    for finding in done.findings[:SHOWN]:
        output.answer(f"{finding.level}: {finding.where}: {finding.says}\n  {finding.mend}")
    found = sum(done.counts.values())
    if found > SHOWN:
        session.say(f"and {found - min(SHOWN, len(done.findings))} more; --json lists them")
    if done.mended:
        how = "would be mended" if done.dry_run else "mended"
        output.answer(f"{output.counted(done.mended, 'finding')} {how}")
    output.answer(
        f"{output.counted(done.documents, 'document')}, {output.counted(done.nodes, 'node')},"
        f" {output.counted(done.vectors, 'vector')}, {output.counted(done.files, 'mirror file')}:"
        f" {'all is well' if done.is_clean else output.counted(found, 'finding')}"
        f" ({seconds:.1f} s)"
    )
    for note in done.notes:
        session.say(f"note: {note}")
