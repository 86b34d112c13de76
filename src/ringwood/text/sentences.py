"""Where a text may be cut: between sentences, else between words, never inside a grapheme."""

from __future__ import annotations

from collections.abc import Iterator

import regex
import sentencex

from ringwood.types import Span

ELLIPSIS = "…"
"""Marks where `clip` cut."""

# The splitter reads quotation marks in quadratic time (2.4 s for 50,000 opening ones): it gets
# blocks. A sentence that lies across two of them counts as two.
_BLOCK = 4_000

# No real grapheme is longer. What is (a letter under a thousand accents) is cut like any run.
_GRAPHEME = 64

# Both search backwards.
_SPACE = regex.compile(r"(?r)\s")
_MARK = regex.compile(r"(?r)[[\p{P}\p{S}]--[\p{Ps}\p{Pi}]]", regex.V1)

_SURROGATE = regex.compile(r"[\ud800-\udfff]")
_CLUSTER = regex.compile(r"\X")
_FLAG_LETTERS = "".join(map(chr, range(0x1F1E6, 0x1F200)))


def pieces(text: str, max_chars: int) -> list[Span]:
    """Cut a text into ranges that cover it exactly, each at most `max_chars` long where possible.

    Sentences are packed greedily. One that is longer than a piece is cut after white space, else
    after a punctuation mark, else anywhere but inside a grapheme; only a grapheme longer than
    `max_chars` makes a piece that is longer, up to 64 code points. Empty text has no piece.

    Raises:
        ValueError: when `max_chars` is below 1.
    """
    if max_chars < 1:
        raise ValueError(f"a piece needs room: max_chars is {max_chars}")
    if len(text) <= max_chars:
        return [(0, len(text))] if text else []
    spans: list[Span] = []
    start = end = 0
    for stop in _sentence_ends(text):
        if stop - start <= max_chars:
            end = stop
            continue
        if end > start:
            spans.append((start, end))
            start = end
        while stop - start > max_chars:
            cut = _cut(text, start, start + max_chars)
            spans.append((start, cut))
            start = cut
        end = stop
    if start < len(text):
        spans.append((start, len(text)))
    return spans


def clip(text: str, max_chars: int) -> str:
    """Shorten a text to at most `max_chars`, cut at a grapheme and ended by `…` where it is cut.

    Room for none gives the empty string.
    """
    if len(text) <= max_chars:
        return text
    if max_chars < 1:
        return ""
    room = max_chars - len(ELLIPSIS)
    return text[: _grapheme_start(text, 0, room)].rstrip() + ELLIPSIS


def _sentence_ends(text: str) -> Iterator[int]:
    """Yield the offset behind every sentence, in order; the last is the end of the text."""
    start = 0
    while start < len(text):
        stop = _block_end(text, start)
        # The language only chooses abbreviations; full stops of CJK end a sentence in every one.
        block = _SURROGATE.sub("\ufffd", text[start:stop])  # no string outside Python holds them
        for sentence in sentencex.get_sentence_boundaries("en", block):
            offset = start + sentence["start_index"]
            if offset > start and _grapheme_start(text, start, offset) == offset:
                yield offset
        yield stop
        start = stop


def _block_end(text: str, start: int) -> int:
    """Choose where a block ends: behind a line where there is one, else where a piece would."""
    stop = start + _BLOCK
    if stop >= len(text):
        return len(text)
    line = text.rfind("\n", start + _BLOCK // 2, stop) + 1
    if line and _grapheme_start(text, start, line) == line:
        return line
    return _cut(text, start, stop)


def _cut(text: str, start: int, limit: int) -> int:
    """Choose the best place in `(start, limit]` to cut a run that holds no sentence end."""
    for mark in (_SPACE, _MARK):
        match = mark.search(text, (start + limit) // 2, limit)
        if match and _grapheme_start(text, start, match.end()) == match.end():
            return match.end()
    cut = _grapheme_start(text, start, limit)
    return cut if cut > start else _grapheme_end(text, start, limit)


def _grapheme_start(text: str, start: int, offset: int) -> int:
    """Move an offset back to where the grapheme around it begins; `start` begins one.

    Only the neighbourhood is looked at, except in a row of flags: they are pairs of one kind of
    letter, and which two belong together shows at the first of the row.
    """
    around = text[offset - 1 : offset + 1]
    if offset >= len(text):
        return len(text)
    if around.isascii():
        return offset - (around == "\r\n")
    if not around.strip(_FLAG_LETTERS):
        row = text[start:offset]
        return offset - (len(row) - len(row.rstrip(_FLAG_LETTERS))) % 2
    near = max(start, offset - _GRAPHEME)
    for cluster in _CLUSTER.finditer(text, near, min(len(text), offset + _GRAPHEME)):
        if cluster.end() > offset:
            huge = cluster.start() == near > start
            return offset if huge else cluster.start()
    return offset


def _grapheme_end(text: str, start: int, limit: int) -> int:
    """Find where the grapheme ends that a piece of this size cannot hold."""
    cluster = _CLUSTER.match(text, start, min(len(text), start + _GRAPHEME))
    return cluster.end() if cluster and cluster.end() < start + _GRAPHEME else limit
