"""CommonMark block structure, with exact source ranges.

The one place that knows the parser (pyromark). It answers in UTF-8 bytes and in events; the rest
of this room sees `Block`s in code points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pyromark
import regex

from ringwood.types import Span

BlockKind = Literal["heading", "paragraph", "html", "code", "table", "item", "quote"]
"""What a block is. Lists and footnote definitions are dissolved into what they hold."""

MAX_PADDED_CELLS = 20_000
"""Empty cells that a text's tables may be padded with, or a quarter of its length where that is
more; a text that needs more is read without tables, its rows as paragraphs.

The parser pads every short row to the width of its header: 10 kB of text become half a million
events, 1 MB a gigabyte. None of a thousand real files needs more than 20 cells.
"""

_OPTIONS = pyromark.Options.ENABLE_GFM | pyromark.Options.ENABLE_FOOTNOTES
_OPTIONS |= pyromark.Options.ENABLE_TASKLISTS
_WITH_TABLES = _OPTIONS | pyromark.Options.ENABLE_TABLES

_Event = tuple[str, Any, int, int]
"""Name, value (a union of 25 shapes, of which `_Builder` reads a few), and a range in bytes."""

_Tag = str | Mapping[str, Any]
"""What has begun: a bare name, or a name with its value."""

_CONTAINERS = frozenset({"List", "Item", "BlockQuote", "FootnoteDefinition"})
_LEAVES: Mapping[str, BlockKind] = {
    "Paragraph": "paragraph",
    "Heading": "heading",
    "HtmlBlock": "html",
    "CodeBlock": "code",
    "Table": "table",
}

_UNREADABLE = regex.compile(r"\r(?!\n)|[\ud800-\udfff]")
"""A lone CR ends a line, but the parser does not end a fence there; surrogates have no UTF-8."""


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a document and the blocks inside it."""

    kind: BlockKind
    """`item` and `quote` hold blocks; all others are leaves."""
    span: Span
    """Its source without trailing white space; a leaf's begins after its container's markers."""
    children: tuple[Block, ...] = ()
    """What an item or a quote holds, in reading order."""
    level: int = 0
    """1..6 of a heading; numbered sections use levels beyond."""
    title: str = ""
    """Of a heading: its words with inline markup resolved, one line."""
    number: int | None = None
    """Of an item in an ordered list: its number there."""
    quotes: int = 0
    """How many quotes it lies in: so many `>` may begin each of its further lines."""
    code: str | None = None
    """Of code: its text without fences, indents and container markers."""
    fenced: bool = False
    """Of code: whether it stands between fences."""


def parse_blocks(text: str, *, max_depth: int = 32) -> list[Block]:
    """Return the top-level blocks of `text` in reading order; spans are code points.

    Takes any string. Containers (items, quotes) nested deeper than `max_depth` hold what lies in
    them as one paragraph. A text of very ragged tables (`MAX_PADDED_CELLS`) is read without tables.
    """
    readable = _UNREADABLE.sub(lambda match: "\n" if match[0] == "\r" else "\ufffd", text)
    options = _WITH_TABLES if _has_bounded_tables(readable) else _OPTIONS
    builder = _Builder(readable, max_depth)
    builder.read(_events(readable, options))
    return builder.blocks


def _has_bounded_tables(text: str) -> bool:
    """Estimate from the number of `|` in each line how far rows fall short of their header."""
    columns = padding = 0
    for line in text.split("\n"):
        pipes = line.count("|")
        if pipes and not line.strip(" \t\r>|:-"):
            columns = pipes
        elif not line.strip(" \t\r>"):
            columns = 0
        else:
            padding += max(columns - pipes, 0)
    return padding <= max(MAX_PADDED_CELLS, len(text) // 4)


def _events(text: str, options: pyromark.Options) -> Iterator[_Event]:
    """Flatten the parser's events to name, value, start and end."""
    for event, where in pyromark.events_with_range(text, options=options, merge_text=True):
        if isinstance(event, str):
            yield event, None, where["start"], where["end"]
        else:
            ((name, value),) = event.items()
            yield name, value, where["start"], where["end"]


def _code_points(data: bytes) -> Callable[[int], int]:
    """Map byte offsets of UTF-8 `data` to code-point offsets, after one pass over it."""
    if data.isascii():
        return lambda offset: offset
    leads = (np.frombuffer(data, dtype=np.uint8) & 0xC0) != 0x80
    before = np.zeros(len(data) + 1, dtype=np.int64)
    np.cumsum(leads, out=before[1:])
    return lambda offset: int(before[offset])


@dataclass(slots=True)
class _Open:
    """A container that has begun; its blocks gather in `children`."""

    kind: Literal["item", "quote"] | None
    """None: a list, a footnote definition or the document, whose blocks go to what is around it."""
    start: int
    children: list[Block]
    number: int | None = None
    """Of an item its number; of a list the number of its next item."""


@dataclass(slots=True)
class _Leaf:
    """A leaf that has begun; all events up to its end are inside it."""

    kind: BlockKind
    start: int
    """-1: at the first event inside it."""
    end: int
    ends_with: Literal["itself", "block", "container"] = "itself"
    """The end of itself, the next block (text of a tight item has no paragraph), its container."""
    level: int = 0
    fenced: bool = False
    nested: int = 0
    """Elements that have begun inside it and not ended."""
    words: list[str] = field(default_factory=list)
    """Text of a heading or of code."""


class _Builder:
    """Folds events into blocks. Offsets are bytes until a block is made."""

    def __init__(self, text: str, max_depth: int) -> None:
        self.blocks: list[Block] = []
        self._text = text
        self._position = _code_points(text.encode())
        self._max_depth = max_depth
        self._open = [_Open(None, 0, self.blocks)]
        self._depth = 0
        self._quotes = 0
        self._leaf: _Leaf | None = None

    def read(self, events: Iterator[_Event]) -> None:
        """Take all events, in order."""
        for name, value, start, end in events:
            if name == "Start":
                self._begin(value, start, end)
            elif name == "End":
                self._finish(end)
            elif name == "Rule":
                self._end_run()
            elif name != "TaskListMarker":
                self._inline(name, value, start, end)

    def _begin(self, tag: _Tag, start: int, end: int) -> None:
        name, value = (tag, None) if isinstance(tag, str) else next(iter(tag.items()))
        if name in _CONTAINERS or name in _LEAVES:
            self._end_run()
        if self._leaf is None and name in _CONTAINERS:
            self._begin_container(name, value, start, end)
        elif self._leaf is None and name in _LEAVES:
            leaf = self._leaf = _Leaf(_LEAVES[name], start, end)
            leaf.level = int(value["level"][1]) if name == "Heading" and value else 0
            leaf.fenced = name == "CodeBlock" and value != "Indented"
        else:
            self._inline(name, None, start, end).nested += 1

    def _begin_container(self, name: str, value: int | None, start: int, end: int) -> None:
        around = self._open[-1]
        if name == "List":
            self._open.append(_Open(None, start, around.children, number=value))
        elif name == "FootnoteDefinition":
            self._open.append(_Open(None, start, around.children))
        else:
            kind: Literal["item", "quote"] = "item" if name == "Item" else "quote"
            number = around.number if kind == "item" else None
            self._open.append(_Open(kind, start, [], number))
            if number is not None:
                around.number = number + 1
            self._depth += 1
            self._quotes += kind == "quote"
            if self._depth > self._max_depth:
                self._leaf = _Leaf("paragraph", -1, end, ends_with="container")

    def _inline(self, name: str, value: str | None, start: int, end: int) -> _Leaf:
        if self._leaf is None:
            self._leaf = _Leaf("paragraph", start, end, ends_with="block")
        leaf = self._leaf
        leaf.start = start if leaf.start < 0 else leaf.start
        leaf.end = max(leaf.end, end)
        if leaf.kind in ("heading", "code"):
            if name in ("Text", "Code") and value is not None:
                leaf.words.append(value)
            elif name in ("SoftBreak", "HardBreak"):
                leaf.words.append(" ")
        return leaf

    def _end_run(self) -> None:
        """Close the paragraph that a tight item has no events for: a block or rule follows."""
        leaf = self._leaf
        if leaf is not None and leaf.ends_with == "block":
            self._close_leaf(leaf)

    def _finish(self, end: int) -> None:
        leaf = self._leaf
        if leaf is not None and leaf.nested:
            leaf.nested -= 1
            return
        if leaf is not None:
            self._close_leaf(leaf)
            if leaf.ends_with == "itself":
                return
        closed = self._open.pop()
        if closed.kind is None:
            return
        self._depth -= 1
        self._quotes -= closed.kind == "quote"
        block = Block(
            closed.kind,
            self._span(closed.start, end),
            children=tuple(closed.children),
            number=closed.number,
            quotes=self._quotes,
        )
        self._open[-1].children.append(block)

    def _close_leaf(self, leaf: _Leaf) -> None:
        self._leaf = None
        if leaf.start < 0:
            return
        start, end = self._span(leaf.start, leaf.end)
        if start == end:
            return  # white space to us (a lone U+3000), though not to CommonMark
        if leaf.ends_with == "block" and self._text[start - 1 : start] == "\\":
            start -= 1  # an escape has no event of its own
        words = "".join(leaf.words)
        block = Block(
            leaf.kind,
            (start, end),
            level=leaf.level,
            title=" ".join(words.split()) if leaf.kind == "heading" else "",
            quotes=self._quotes,
            code=words if leaf.kind == "code" else None,
            fenced=leaf.fenced,
        )
        self._open[-1].children.append(block)

    def _span(self, start: int, end: int) -> Span:
        first, last = self._position(start), self._position(end)
        return first, first + len(self._text[first:last].rstrip())
