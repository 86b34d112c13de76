"""Passages that repeat what was recalled are no news. Pure.

An assistant quotes what it was handed. Kept again, the quotation would be found beside its source,
be handed over with it, and be quoted once more.

Texts are compared word by word: white space, line breaks, quotation marks, emphasis and list
markers come and go with the one who quotes. A passage goes only where it is a whole sentence, line
or quotation and stands in the source as whole clauses: `use Redis` is not in `do not use Redis`.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from ringwood.types import Span

MIN_CHARS = 24
"""Shorter passages are everybody's: `Yes, exactly.` A character of Chinese, Japanese or Korean
counts twice: it says about as much as two letters. A recalled text as a whole may be shorter."""
_KEY_WORDS = 3  # a passage is looked up by its first words
_SAME_KEY = 16  # places in the source that are tried for it
_LONGEST = 400  # words of one passage; a longer one goes in pieces
_MAX_STEPS = 3_000_000  # words compared in all, about a second: then the rest is kept as it is

_WIDE = r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]"
# Of the marks, those that change what is said: `a < b`, `50 %`. The margin of a line is no word.
_WORD = re.compile(
    rf"^[ \t>#]++|(?P<word>\d+(?:[.,:/]\d+)*+|{_WIDE}|(?:(?!{_WIDE})[^\W\d_])+|[+<>=%$€&@^/\\#])",
    re.MULTILINE,
)
_SENTENCE_BREAK = re.compile(r"[\n。！？；：…\"“”„«»「」『』]|[.!?;:]\W")
_CLAUSE_BREAK = re.compile(rf"{_SENTENCE_BREAK.pattern}|[，、—–()\[\]（）]|,\W|\W-\W")

_OPENING = re.compile(r"[\"'`*_~“‘„«「『(\[]+\Z")
_CLOSING = re.compile(r"[\"'`*_~”’»」』)\]]*[.!?;:,…。！？；：，]*[\"'`*_~”’»」』)\]]*")
_MARGIN = re.compile(r"[ \t>]*(?:[-*+•]|\d{1,3}[.)]|#{1,6})?[ \t]*")
_BLANKS = re.compile(r"[ \t\r]*")
_FAR = 200  # characters of margin that are looked at


@dataclass(frozen=True, slots=True)
class _Words:
    """A text as its words."""

    words: tuple[str, ...]
    """Folded."""
    spans: tuple[Span, ...]
    """Where each stands in the text."""
    breaks: frozenset[int]
    """Numbers of words in front of which something whole may end and begin; the ends included."""
    texts: frozenset[int]
    """Those in front of which another text begins; the ends included."""


def drop_quotes(text: str, recalled: Sequence[str]) -> tuple[str, int]:
    """Take out the passages that stand in recalled texts, and say how many.

    What is new stays exactly as it is, and a text without such a passage is returned as it is.

    Args:
        text: what was said.
        recalled: texts that were handed over before.
    """
    source, places = _index(tuple(recalled))
    said = _read((text,) if source.words else (), _SENTENCE_BREAK)
    found: list[Span] = []
    steps = at = 0
    while at + _KEY_WORDS <= len(said.words) and steps < _MAX_STEPS:
        length = 0
        if at in said.breaks:
            for place in places.get(said.words[at : at + _KEY_WORDS], ()):
                matched, compared = _common(said, at, source, place)
                length = max(length, matched)
                steps += compared
        if length:
            found.append(_surroundings(text, said.spans[at][0], said.spans[at + length - 1][1]))
        at += length or 1
    return _without(text, found)


@functools.lru_cache(maxsize=1)  # one exchange after the other is compared with the same texts
def _index(recalled: tuple[str, ...]) -> tuple[_Words, dict[tuple[str, ...], list[int]]]:
    source = _read(recalled, _CLAUSE_BREAK)
    return source, _places(source)


def _read(texts: Sequence[str], breaks: re.Pattern[str]) -> _Words:
    words: list[str] = []
    spans: list[Span] = []
    starts = {0}
    whole = {0}
    for text in texts:
        end = 0
        for match in _WORD.finditer(text):
            if not match["word"]:
                continue
            if breaks.search(text, end, match.start()):
                starts.add(len(words))
            words.append(unicodedata.normalize("NFKC", match[0]).casefold())
            spans.append(match.span())
            end = match.end()
        starts.add(len(words))
        whole.add(len(words))
    return _Words(tuple(words), tuple(spans), frozenset(starts), frozenset(whole))


def _places(source: _Words) -> dict[tuple[str, ...], list[int]]:
    """Index where something whole begins by its first words."""
    places: dict[tuple[str, ...], list[int]] = {}
    for place in sorted(source.breaks):
        same = places.setdefault(source.words[place : place + _KEY_WORDS], [])
        if len(same) < _SAME_KEY:
            same.append(place)
    return places


def _common(said: _Words, at: int, source: _Words, place: int) -> tuple[int, int]:
    """Return how many words from here are a passage that the source has too, and how many alike."""
    length = whole = weight = 0
    here, there = said.words[at : at + _LONGEST], source.words[place : place + _LONGEST]
    for word, other in zip(here, there, strict=False):
        if word != other:
            break
        length += 1
        weight += len(word) + 1  # the space behind it; what makes a wide character count twice
        ends = at + length in said.breaks and place + length in source.breaks
        if ends and (weight >= MIN_CHARS or {place, place + length} <= source.texts):
            whole = length
    return whole, length + 1


def _surroundings(text: str, start: int, end: int) -> Span:
    """Take with a passage its marks, and all of its lines where nothing else is in them."""
    opening = _OPENING.search(text, max(0, start - 8), start)
    start = opening.start() if opening else start
    closing = _CLOSING.match(text, end)
    end = closing.end() if closing else end
    blanks = _BLANKS.match(text, end)
    behind = blanks.end() if blanks else end
    line = max(text.rfind("\n", max(0, start - _FAR), start) + 1, start - _FAR, 0)
    ends_line = behind == len(text) or text[behind] == "\n"
    if ends_line and _MARGIN.fullmatch(text, line, start):
        return line, min(behind + 1, len(text))
    return start, behind


def _without(text: str, spans: Sequence[Span]) -> tuple[str, int]:
    if not spans:
        return text, 0
    kept: list[str] = []
    at = 0
    for start, end in spans:
        kept.append(text[at : max(at, start)])
        at = end
    return "".join(kept) + text[at:], len(spans)
