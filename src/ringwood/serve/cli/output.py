"""What the command writes, and where: answers to standard output, remarks to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ringwood.serve.cli import streams
from ringwood.text.clean import printable, printable_json

_given: list[str] = []
"""The object that standard output got in this run, under `--json`: there is never a second."""


def prepare_streams() -> None:
    """Let no character break a terminal of another encoding: what it lacks is escaped."""
    _given.clear()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def json_object(value: dict[str, Any]) -> bool:
    """Write one JSON object as standard output's only content; a terminal may show it too.

    False when there is one already: then what failed came after the answer.
    """
    if _given:
        return False
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "")
    text = json.dumps(value, ensure_ascii=encoding not in ("utf8", "utf16"), indent=2)
    _given.append(printable_json(text) + "\n")
    streams.answer(_given[0])
    return True


def answer(text: str) -> None:
    """Write an answer for a person: control characters of the memory are shown, not obeyed."""
    streams.answer(printable(text) + "\n")


def remark(text: str) -> None:
    """Write a remark for a person; where nobody can read it, nothing is lost."""
    streams.remark(printable(text) + "\n")


def counted(number: int, thing: str) -> str:
    """Write a number with its noun: `1 node`, `2 nodes`."""
    return f"{number} {thing}" + ("" if number == 1 else "s")


Advance = Callable[[str, int, int | None], None]
"""Tell a bar: what is done, how much of it, out of how much (None: unknown)."""


@contextmanager
def progress(*, shown: bool) -> Iterator[Advance]:
    """Show bars on standard error while something takes long; nothing where that is no terminal."""
    if not shown or not sys.stderr.isatty():
        yield lambda label, done, total: None
        return
    # Only for people at a terminal: importing rich costs as much as a whole recall.
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks = {}

        def advance(label: str, done: int, total: int | None) -> None:
            if label not in tasks:
                tasks[label] = bars.add_task(label, total=total)
            bars.update(tasks[label], completed=done, total=total)

        yield advance
