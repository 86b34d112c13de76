"""Sections that only their numbers announce: `1.`, `1.2`, `一、`, `（一）`, `第一章`.

A number alone says little: of 1,013 numbered items in a thousand real files none heads a section,
and 56 short ones are followed by text only as the last of their list. So a line becomes a heading
only as one of a run: short, no sentence, with text below it that is not the next number; and only
where no Markdown heading divides the text.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import regex

from ringwood.parse.blocks import Block
from ringwood.parse.paths import plain
from ringwood.types import Span

MAX_TITLE_WIDTH = 60
"""Columns of a heading, a Han character taking two. Longer lines are sentences."""

_HAN = "〇零一二三四五六七八九十百"
_MARK = regex.compile(
    rf"""[ \t\u3000]*(?:
        第[ ]?(?P<chapter>[{_HAN}]+|\d{{1,3}})[ ]?(?P<unit>[章节])
      | (?P<han>[{_HAN}]+)、
      | [（(](?P<bracket>[{_HAN}]+)[）)]
      | (?P<decimal>\d{{1,3}}(?:\.\d{{1,3}}){{1,5}})\.?(?=[\s\p{{Han}}])
      | (?P<item>\d{{1,3}})\.[ \t]
    )[ \t\u3000]*""",
    regex.VERBOSE,
)
_UNDER_MARKDOWN = 7
"""Level of the highest numbered section: below every Markdown heading."""
_ITEM_RANK = 4
"""Rank of `1.`: below `第一章`, `第一节`, `一、` and `（一）`, above `1.1`."""

_LINE = regex.compile(r"[^\r\n]+")
_SENTENCE_ENDS = frozenset(".。;；,，、!！")


@dataclass(frozen=True, slots=True)
class _Line:
    """A line that begins with a number."""

    rank: int
    """Its kind, 0 the highest."""
    number: tuple[int, ...]
    """`(1, 2)` of `1.2`."""
    span: Span
    """Its source, number included."""
    block: int
    """Index of the block it stands in."""
    short: bool
    """Whether it reads like a heading."""


@dataclass(frozen=True, slots=True)
class _Numbered:
    """A numbered line in its place."""

    line: _Line
    place: int
    """Position among all lines."""
    heads: bool
    """Whether it reads like a heading and has a body: text that is no number of its rank."""


def number_sections(text: str, blocks: list[Block]) -> list[Block]:
    """Return the top-level blocks with the headings of numbered sections among them.

    Their levels lie beyond 6, ordered by kind and depth, so that they nest below the Markdown
    heading they stand under. Blocks are cut where a heading shares one with what is around it.
    """
    headings: dict[int, list[_Line]] = defaultdict(list)
    for first, last in _undivided(blocks):
        lines = [line for i in range(first, last) for line in _lines(text, blocks[i], i)]
        for line in _headings(lines):
            headings[line.block].append(line)
    if not headings:
        return blocks
    parts = (_parted(text, block, headings.get(i, [])) for i, block in enumerate(blocks))
    return [part for of_block in parts for part in of_block]


def _undivided(blocks: list[Block]) -> Iterator[Span]:
    """Yield the index ranges of blocks that stand under one heading, or none, without another."""
    divides = [-1, *(i for i, block in enumerate(blocks) if block.level), len(blocks)]
    for before, after in pairwise(divides):
        above = blocks[before].level if before >= 0 else 0
        if after == len(blocks) or blocks[after].level <= above:
            yield before + 1, after


def _lines(text: str, block: Block, index: int) -> Iterator[_Line | None]:
    """Yield the lines of a top-level block: the numbered ones, and None for any other."""
    if block.kind == "paragraph":
        for match in _LINE.finditer(text, *block.span):
            yield _numbered_line(text, match.span(), index, item=False)
    elif block.kind == "item" and block.number is not None:
        first, *rest = (match.span() for match in _LINE.finditer(text, *block.span))
        line = _numbered_line(text, first, index, item=True)
        alone = len(block.children) == 1 and block.children[0].kind == "paragraph"
        indented = bool(rest) and text[rest[0][0]].isspace()  # else it belongs to the item by grace
        if line is not None and (indented or not alone):
            line = replace(line, short=False)
        yield line
        if rest:
            yield None
    else:
        yield None


def _numbered_line(text: str, span: Span, block: int, *, item: bool) -> _Line | None:
    mark = _MARK.match(text, *span)
    if mark is None or (mark["item"] is not None) != item:
        return None
    title = text[mark.end() : span[1]].strip()
    wide = sum(2 if char > "\u2e7f" else 1 for char in title[: MAX_TITLE_WIDTH + 1])
    wordless = not any(char.isalpha() for char in title) and mark["unit"] is None
    short = wide <= MAX_TITLE_WIDTH and not wordless and title[-1:] not in _SENTENCE_ENDS
    rank, number = _rank_and_number(mark)
    start = span[1] - len(text[slice(*span)].lstrip())
    return _Line(rank, number, (start, mark.end() + len(title)), block, short)


def _rank_and_number(mark: regex.Match[str]) -> tuple[int, tuple[int, ...]]:
    if mark["chapter"] is not None:
        return (0 if mark["unit"] == "章" else 1), (_value(mark["chapter"]),)
    if mark["han"] is not None:
        return 2, (_value(mark["han"]),)
    if mark["bracket"] is not None:
        return 3, (_value(mark["bracket"]),)
    number = tuple(int(part) for part in (mark["decimal"] or mark["item"]).split("."))
    return _ITEM_RANK + len(number) - 1, number


def _value(numeral: str) -> int:
    """Read a Chinese numeral below a thousand, or digits."""
    if numeral.isdecimal():
        return int(numeral)
    value, digit = 0, 0
    for char in numeral:
        if char in "十百":
            value, digit = value + (digit or 1) * (10 if char == "十" else 100), 0
        else:
            digit = max(_HAN.index(char) - 1, 0)
    return value + digit


def _headings(lines: list[_Line | None]) -> list[_Line]:
    """Choose the numbered lines that are headings, in reading order."""
    numbered = [
        _Numbered(line, place, line.short and _has_body(line, lines[place + 1 : place + 2]))
        for place, line in enumerate(lines)
        if line is not None
    ]
    chosen: list[_Numbered] = []
    for rank in sorted({item.line.rank for item in numbered}):
        above = sorted(item.place for item in chosen)
        for run in _runs([item for item in numbered if item.line.rank == rank], above):
            chosen.extend(_heads(run))
    return [item.line for item in sorted(chosen, key=lambda item: item.place)]


def _has_body(line: _Line, following: list[_Line | None]) -> bool:
    return any(after is None or after.rank > line.rank for after in following)


def _runs(numbered: list[_Numbered], above: list[int]) -> Iterator[list[_Numbered]]:
    """Part the numbers of one rank into runs that count up, anew below each heading in `above`."""
    run: list[_Numbered] = []
    for item in numbered:
        if run and not _follows(run[-1], item, above):
            yield run
            run = []
        if run or item.line.number[-1] <= 1:
            run.append(item)
    yield run


def _follows(before: _Numbered, after: _Numbered, above: list[int]) -> bool:
    *parents, last = before.line.number
    *next_parents, next_last = after.line.number
    if next_parents == parents and next_last == last + 1:
        return True
    parted = bisect_left(above, before.place) < bisect_left(above, after.place)
    return next_last <= 1 and (parted or next_parents > parents)


def _heads(run: list[_Numbered]) -> list[_Numbered]:
    """Return the headings of a run, if most of it, and at least two, have text below them."""
    heads = sum(item.heads for item in run)
    return [item for item in run if item.line.short] if heads >= 2 and 2 * heads > len(run) else []


def _parted(text: str, block: Block, headings: list[_Line]) -> list[Block]:
    if not headings:
        return [block]
    parts: list[Block] = []
    start = block.span[0]
    for line in headings:
        parts.extend(_prose(text, start, line.span[0]))
        title = plain(text[slice(*line.span)])
        parts.append(Block("heading", line.span, level=_UNDER_MARKDOWN + line.rank, title=title))
        start = line.span[1]
    parts.extend(_prose(text, start, block.span[1]))
    return parts


def _prose(text: str, start: int, end: int) -> Iterator[Block]:
    words = text[start:end]
    if words.strip():
        first = start + len(words) - len(words.lstrip())
        yield Block("paragraph", (first, first + len(words.strip())))
