"""Leaves: markers stripped line by line, and long ones cut where a reader would pause."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, chain, repeat

import regex

from ringwood.parse.blocks import Block
from ringwood.text.sentences import pieces
from ringwood.types import Span

_LINE = regex.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_HASHES = regex.compile(r"#{1,6}(?![^ \t\r\n])[ \t]*")


@dataclass(frozen=True, slots=True)
class Piece:
    """A leaf, or a part of one that was too long."""

    own: Span
    """Its source. The first piece begins, and the last one ends, where the leaf does."""
    text: str
    """Its words without markers, lines joined by a newline."""


def leaf_pieces(text: str, block: Block, max_chars: int) -> list[Piece]:
    """Return a leaf's words in pieces of at most `max_chars`; an empty one as a single piece.

    Prose is cut at sentence ends, code and tables at lines; a single line that is too long is cut
    like prose.
    """
    lines = _content_lines(text, block)
    body = _Body(text, lines)
    if len(body.text) <= max_chars:
        return [Piece(block.span, body.text)]
    cut = _line_pieces if block.kind in ("code", "table") else _sentence_pieces
    ranges = list(cut(body, max_chars)) or [(0, 0)]
    starts = [block.span[0], *(body.source(start) for start, _ in ranges[1:])]
    ends = [*(body.source(end - 1) + 1 for _, end in ranges[:-1]), block.span[1]]
    return [
        Piece((first, last), body.text[start:end])
        for first, last, (start, end) in zip(starts, ends, ranges, strict=True)
    ]


def leaf_text(text: str, block: Block) -> str:
    """Return a leaf's words without markers, lines joined by a newline."""
    return _Body(text, _content_lines(text, block)).text


class _Body:
    """The content of some lines as one string that knows where it came from."""

    def __init__(self, text: str, lines: list[Span]) -> None:
        self.lines = lines
        self.text = "\n".join(text[start:end] for start, end in lines)
        lengths = (end - start + 1 for start, end in lines)
        self.starts = list(accumulate(lengths, initial=0))[:-1]

    def source(self, offset: int) -> int:
        """Map an offset in `text` to the source; a newline to the end of its line."""
        line = bisect_right(self.starts, offset) - 1
        return self.lines[line][0] + offset - self.starts[line]


def _line_pieces(body: _Body, max_chars: int) -> Iterator[Span]:
    start = end = 0
    for offset, (first, last) in zip(body.starts, body.lines, strict=True):
        line_end = offset + last - first
        if line_end - start > max_chars:
            yield from _trimmed(body.text, start, end)
            start = offset
        if line_end - start > max_chars:
            for first_char, last_char in pieces(body.text[offset:line_end], max_chars):
                yield from _trimmed(body.text, offset + first_char, offset + last_char)
            start = line_end
        end = line_end
    yield from _trimmed(body.text, start, end)


def _sentence_pieces(body: _Body, max_chars: int) -> Iterator[Span]:
    for start, end in pieces(body.text, max_chars):
        yield from _trimmed(body.text, start, end)


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the range without white space around it, or nothing."""
    words = text[start:end]
    if words.strip():
        yield start + len(words) - len(words.lstrip()), start + len(words.rstrip())


def _content_lines(text: str, block: Block) -> list[Span]:
    lines = [match.span() for match in _LINE.finditer(text, *block.span)]
    lines = [(start, start + len(text[start:end].rstrip())) for start, end in lines]
    if block.kind == "code":
        return _code_lines(text, block, lines)
    prefixes = chain([_prefix(0)], repeat(_prefix(block.quotes)))
    bare = [_after(prefix, text, line) for prefix, line in zip(prefixes, lines, strict=False)]
    return _heading_lines(text, bare) if block.kind == "heading" else bare


@lru_cache(maxsize=64)
def _prefix(quotes: int) -> regex.Pattern[str]:
    """Match what containers put before a further line of prose."""
    return regex.compile(rf"\s*(?:>\s*){{0,{quotes}}}")


def _after(prefix: regex.Pattern[str], text: str, line: Span) -> Span:
    match = prefix.match(text, *line)
    return (match.end() if match else line[0], line[1])


def _heading_lines(text: str, lines: list[Span]) -> list[Span]:
    start, end = lines[0]
    hashes = _HASHES.match(text, start, end)
    if hashes is None:
        return lines[:-1] or lines  # the last one is the underline; a numbered one has none
    words = text[hashes.end() : end]
    inner = words.rstrip("#")
    if inner and inner[-1] not in " \t":
        inner = words
    return [(hashes.end(), hashes.end() + len(inner.rstrip()))]


def _code_lines(text: str, block: Block, lines: list[Span]) -> list[Span]:
    """Find each line of code in its line of source: it is what containers and indent leave."""
    source = lines[1:] if block.fenced else lines
    code = block.code.rstrip("\n").split("\n") if block.code else []
    bare = []
    for (start, end), words in zip(source, code, strict=False):  # more source: the closing fence
        kept = words.rstrip()
        # A tab that a container took half of has no line of its own: then the source stands.
        bare.append((end - len(kept) if text.endswith(kept, start, end) else start, end))
    return bare
