"""What the tests of reindexing share: an embedder that is watched, and texts to fill a home."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from ringwood.embed.base import FloatRows
from ringwood.embed.hashing import HashingEmbedder
from ringwood.errors import EmbedderError
from ringwood.memory import Memory

SUBJECTS = ("harbour", "orchard", "quarry", "lantern", "saddle", "violin", "glacier", "bakery")
QUERIES = ("harbour near gate 3", "violin on day 13", "a bakery", "day 21", "glacier gate")
SAID_AT = datetime(2020, 3, 1, tzinfo=UTC)


class Watched(HashingEmbedder):
    """An embedder of a program's own, which tells what it is asked and may refuse."""

    def __init__(self, dim: int, name: str = "watched") -> None:
        super().__init__(dim)
        self.name = name
        self.texts: list[str] = []
        self.refused = ""
        self.before: Callable[[], None] = lambda: None

    def embed_passages(self, texts: Sequence[str]) -> FloatRows:
        """Embed, unless a text holds what is refused."""
        self.before()
        if self.refused and any(self.refused in text for text in texts):
            raise EmbedderError(f"no text with {self.refused!r} is taken")
        self.texts += texts
        return super().embed_passages(texts)


def text_of(number: int) -> str:
    """Write a note that no other equals; one subject in eight."""
    subject = SUBJECTS[number % len(SUBJECTS)]
    return f"# Note {number}\n\nThe {subject} was seen on day {number} near gate {number % 7}.\n"


def fill(memory: Memory, count: int, first: int = 0) -> None:
    """Store notes, each under a source key of its own."""
    for number in range(first, first + count):
        memory.store(text_of(number), source=f"note {number}", at=SAID_AT)


def answers(memory: Memory, queries: Sequence[str]) -> list[list[tuple[str, float, float | None]]]:
    """Ask; return address, score and the model's own cosine of every hit."""
    return [
        [
            (hit.address, round(hit.score, 4), hit.signals.cosine_raw)
            for hit in memory.recall(query, floor=0.0, counted=False).hits
        ]
        for query in queries
    ]
