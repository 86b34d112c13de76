"""The command dream: merge and compare, list what can be undone, undo it."""

from __future__ import annotations

import sys
from dataclasses import asdict
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from ringwood.recall.report import stamp
from ringwood.serve.cli import output
from ringwood.serve.cli.app import Session, options, waiting

if TYPE_CHECKING:
    from ringwood.memory import Memory
    from ringwood.upkeep.dreaming.dream import Dreamed
    from ringwood.upkeep.dreaming.undo import Undone

NEWEST = "newest"
"""`--undo` without a number."""


class RunNumber(click.ParamType[int | str]):
    """The number of a run, or the newest: no number stands for that, and 0 is no run either."""

    name = "run"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | str:
        """Read it."""
        if value == NEWEST:
            return NEWEST
        return click.IntRange(min=1).convert(value, param, ctx)


@click.command("dream")
@click.option("--dry-run", is_flag=True, help="Say what would change and write nothing.")
@click.option("--all", "everything", is_flag=True, help="Compare spaces of any size.")
@click.option(
    "--undo",
    "undone",
    type=RunNumber(),
    is_flag=False,
    flag_value=NEWEST,
    metavar="[RUN]",
    help="Take a run back; without RUN the newest.",
)
@click.option("--runs", is_flag=True, help="List the runs that can be undone.")
@options
@waiting
@click.pass_obj
def dream_command(
    session: Session, /, dry_run: bool, everything: bool, undone: int | str | None, runs: bool
) -> int:
    """Merge what says the same, and compare all with all. Safe to interrupt and to give again."""
    if sum((dry_run or everything, undone is not None, runs)) > 1:
        raise click.UsageError("Give one of --dry-run (or --all), --undo and --runs.")
    with session.memory() as memory:
        if runs:
            memory.wait_s = 0.0
            return _list(session, memory)
        begun = monotonic()
        if undone is not None:
            told = memory.undo(None if isinstance(undone, str) else undone)
            return _tell_undone(session, told, round(monotonic() - begun, 3))
        done = _dream(session, memory, dry_run=dry_run, everything=everything)
        if done.too_large and not session.json and sys.stdin.isatty() and _agreed(done):
            done = _dream(session, memory, dry_run=dry_run, everything=True)
        if done.run is None:
            memory.wait_s = 0.0  # waited for once; leaving does not wait again
    seconds = round(monotonic() - begun, 3)
    if session.json:
        output.json_object(asdict(done) | {"seconds": seconds})
    else:
        _tell(session, done, seconds)
    return 0


def _dream(session: Session, memory: Memory, *, dry_run: bool, everything: bool) -> Dreamed:
    with output.progress(shown=not session.quiet and not session.json) as advance:
        return memory.dream(dry_run=dry_run, everything=everything, on_nodes=advance)


def _agreed(done: Dreamed) -> bool:
    """Ask whether large spaces are to be compared, too: it takes minutes."""
    named = ", ".join(done.too_large)
    return click.confirm(f"Too large to compare unasked: {named}. Compare all the same?", err=True)


def _tell(session: Session, done: Dreamed, seconds: float) -> None:
    output.answer(
        f"{output.counted(done.nodes, 'node')} compared in"
        f" {output.counted(len(done.compared), 'space')}, {len(done.unchanged)} unchanged"
        f" ({seconds:.1f} s)"
    )
    would = "would be " if done.dry_run else ""
    output.answer(
        f"{done.edges_before} similar edges before, {done.edges_after} after:"
        f" {done.added} {would}added or measured anew, {done.removed} {would}removed"
    )
    if done.compared:
        session.say(", ".join(f"{part} {took:.1f} s" for part, took in done.timings_s.items()))
    if done.merged:
        output.answer(f"{output.counted(done.merged, 'document')} {would}merged:")
    for each in done.merges:
        alike = "" if each.similarity is None else f", {each.similarity:.2f} similar"
        output.answer(f"  {each.merged}  ->  {each.into}  ({each.reason}{alike})")
    if done.merged > len(done.merges):
        output.answer(f"  and {done.merged - len(done.merges)} more")
    if done.run is not None:
        session.say(f"run {done.run}: ringwood dream --undo {done.run} takes it back")
    for note in done.notes:
        session.say(f"note: {note}")


def _list(session: Session, memory: Memory) -> int:
    runs = memory.dreams()
    if session.json:
        told = [
            asdict(run)
            | {
                "begun_at": stamp(run.begun_at),
                "finished_at": run.finished_at and stamp(run.finished_at),
            }
            for run in runs
        ]
        output.json_object({"runs": told})
        return 0
    for run in runs:
        cut = "" if run.finished_at else ", cut short"
        output.answer(
            f"{run.id}  {run.begun_at:%Y-%m-%d %H:%M} UTC  {run.merges} merged in"
            f" {', '.join(run.spaces)}  ({run.bytes} bytes{cut})"
        )
    if not runs:
        output.answer("There is no run to undo.")
    return 0


def _tell_undone(session: Session, told: Undone, seconds: float) -> int:
    if session.json:
        output.json_object(asdict(told) | {"seconds": seconds})
        return 0
    output.answer(
        f"Run {told.run} is undone: {output.counted(told.restored, 'document')} apart again,"
        f" {output.counted(told.edges, 'edge')} put back or taken away ({seconds:.1f} s)"
    )
    for address in told.addresses:
        output.answer(f"  {address}")
    for note in told.notes:
        session.say(f"note: {note}")
    return 0
