"""An exchange between a person and an assistant as one text, and that text as its turns. Pure.

    :::: person
    why apsw?
    :::: assistant
    It brings its own SQLite.

A line of colons and a name begins each turn. There are more colons than any line in the exchange
begins with, and the first line says how many: so nothing that was said can begin a turn, and who
said what never depends on what was said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from ringwood.parse.blocks import Block
from ringwood.types import Actor, Span, Turn

FENCE = 4
"""Colons at least: three begin a container in several dialects of Markdown."""

_ACTORS = "|".join(get_args(Actor))
_COLONS = re.compile(r"^:+", re.MULTILINE)
_FIRST = re.compile(rf"(:{{{FENCE},}}) (?:{_ACTORS})(?:\r?\n|\Z)")
_LINE = r"^{colons} ({actors})\r?$"


@dataclass(frozen=True, slots=True)
class TurnSpan:
    """Where a turn stands in the text of an exchange."""

    actor: Actor
    """Who."""
    fence: Span
    """The line that begins it."""
    said: Span
    """What follows, up to the next turn."""


def compose(turns: Sequence[Turn]) -> str:
    """Write the turns of an exchange as one text; `turns_of` reads it back."""
    said = [turn.text.strip() for turn in turns]
    longest = max((len(run.group()) for text in said for run in _COLONS.finditer(text)), default=0)
    fence = ":" * max(FENCE, longest + 1)
    return "\n".join(
        f"{fence} {turn.actor}\n{text}\n" for turn, text in zip(turns, said, strict=True)
    )


def turn_spans(text: str) -> list[TurnSpan]:
    """Find the turns of an exchange; none where the text does not begin with one."""
    first = _FIRST.match(text)
    if first is None:
        return []
    line = re.compile(_LINE.format(colons=first.group(1), actors=_ACTORS), re.MULTILINE)
    fences = list(line.finditer(text))
    ends = [fence.start() for fence in fences[1:]] + [len(text)]
    return [
        TurnSpan(_actor(fence.group(1)), fence.span(), (fence.end(), end))
        for fence, end in zip(fences, ends, strict=True)
    ]


def turns_of(text: str) -> tuple[Turn, ...]:
    """Read the turns of an exchange; none where the text does not begin with one."""
    return tuple(Turn(each.actor, text[slice(*each.said)].strip()) for each in turn_spans(text))


def changed(text: str, change: Callable[[str, int], str]) -> str:
    """Change what each turn of an exchange says, and write it anew without those left empty.

    Whatever becomes of the words, they stay with the one who said them: a change of the text as a
    whole could take away what divides two turns, or leave something at the head of a line that then
    begins one. A text that begins with no turn is one piece.

    Args:
        text: as `compose` wrote it.
        change: is given what a turn says and where that stands in the text.
    """
    spans = turn_spans(text)
    if not spans:
        return change(text, 0)
    turns = [Turn(each.actor, change(text[slice(*each.said)], each.said[0])) for each in spans]
    return compose([turn for turn in turns if turn.text.strip()])


def shifted(blocks: Sequence[Block], by: int) -> Iterator[Block]:
    """Move blocks that were read from a part of a text to where that part stands."""
    for block in blocks:
        start, end = block.span
        children = tuple(shifted(block.children, by))
        yield replace(block, span=(start + by, end + by), children=children)


def _actor(name: str) -> Actor:
    return next(actor for actor in get_args(Actor) if actor == name)
