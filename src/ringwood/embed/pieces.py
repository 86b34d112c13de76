"""Texts as a small model can read them: repaired, bounded, and cut into pieces of bounded cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

MAX_CHARS = 2_000
"""What is read of one text. The write template gives at most about 1,500 characters."""

PIECE_BYTES = 1_500
"""UTF-8 bytes of one piece, and of one batch.

Four bytes make about one token in Latin and in Han text alike, fewer tokens elsewhere. 1,500 bytes
took 0.3 s on two cores and 0.5 s on one: the longest that another caller has to wait.
"""

_TEXT_OVERHEAD_BYTES = 24  # prefix and special tokens, which a text of one word pays too
_BREAK_BYTES = 48  # how far past its length a piece may run to end at a space
_EMPTY = "(empty)"  # what is embedded for a text without a visible character


def readable(text: str) -> str:
    """Repair a text for a model written in C: no NUL, no lone surrogate, never empty, bounded.

    A pair of surrogates becomes its character, a lone one U+FFFD, NUL a space.
    """
    bounded = text.replace("\0", " ").strip()[:MAX_CHARS]
    repaired = bounded.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return repaired if repaired.strip() else _EMPTY


def split(text: str) -> list[str]:
    """Cut a readable text into the fewest pieces of about equal length, at spaces where near."""
    data = text.encode()
    count = -(-len(data) // PIECE_BYTES)
    size = -(-len(data) // count)
    pieces = []
    start = 0
    while start < len(data):
        end = _break_after(data, start + size)
        pieces.append(data[start:end].decode())
        start = end
    return pieces


def batches(pieces: Sequence[str]) -> Iterator[range]:
    """Group consecutive pieces into batches that a model answers within about half a second."""
    start = 0
    cost = 0
    for index, piece in enumerate(pieces):
        own = len(piece.encode()) + _TEXT_OVERHEAD_BYTES
        if index > start and cost + own > PIECE_BYTES:
            yield range(start, index)
            start, cost = index, 0
        cost += own
    if start < len(pieces):
        yield range(start, len(pieces))


def _break_after(data: bytes, end: int) -> int:
    """Move a cut to just after a space that is near, else to the beginning of a character."""
    if end >= len(data):
        return len(data)
    space = data.find(b" ", end - 1, end + _BREAK_BYTES)
    if space >= 0:
        return space + 1
    while end < len(data) and data[end] & 0xC0 == 0x80:  # inside a character
        end += 1
    return end
