"""Commands that look whether a home is whole, and make again what is broken: verify, salvage."""

from __future__ import annotations

from dataclasses import asdict
from time import monotonic
from typing import TYPE_CHECKING

import click

from ringwood.serve.cli import output
from ringwood.serve.cli.app import Session, options

if TYPE_CHECKING:
    from ringwood.upkeep.findings import Verified

SHOWN = 50
"""Findings that a person is shown; `--json` gives all that are listed."""


@click.command("verify")
@click.option("--quick", is_flag=True, help="Texts, trees and pages alone.")
@click.option("--mend", is_flag=True, help="Make again what can be made from the texts.")
@options
@click.pass_obj
def verify_command(session: Session, /, quick: bool, mend: bool) -> int:
    """Look at everything, and say what is wrong and which command mends it."""
    begun = monotonic()
    with session.memory() as memory:
        with output.progress(shown=not session.quiet and not session.json) as advance:
            done = memory.verify(quick=quick, mend=mend, on_progress=advance)
        memory.wait_s = session.wait_s if mend else 0.0
    seconds = round(monotonic() - begun, 3)
    if session.json:
        output.json_object(asdict(done) | {"clean": done.is_clean, "seconds": seconds})
    else:
        _tell_verified(session, done, seconds)
    return 0 if done.is_clean else 1


def _tell_verified(session: Session, done: Verified, seconds: float) -> None:
    for finding in done.findings[:SHOWN]:
        output.answer(f"{finding.level}: {finding.where}: {finding.says}\n  {finding.mend}")
    found = sum(done.counts.values())
    if found > SHOWN:
        session.say(f"and {found - min(SHOWN, len(done.findings))} more; --json lists them")
    if done.mended:
        output.answer(f"{output.counted(done.mended, 'finding')} mended")
    output.answer(
        f"{output.counted(done.documents, 'document')}, {output.counted(done.nodes, 'node')},"
        f" {output.counted(done.vectors, 'vector')}, {output.counted(done.files, 'mirror file')}:"
        f" {'all is well' if done.is_clean else output.counted(found, 'finding')}"
        f" ({seconds:.1f} s)"
    )
    for note in done.notes:
        session.say(f"note: {note}")
