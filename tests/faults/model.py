"""What a memory should hold: a plain dict of documents, and what was forgotten."""

from __future__ import annotations

import re
from dataclasses import dataclass, field


@dataclass(slots=True)
class Entry:
    """One document as it should be."""

    space: str
    """Where it lies."""
    words: list[str]
    """The word that each of its paragraphs has, in order; a copy has those of its original."""
    document: str
    """Its id."""
    address: str
    """Where it is found."""
    source: str | None = None
    """Its source key."""
    spaced: bool = False
    """Whether it is a copy, which differs in blanks only."""
    is_exchange: bool = False
    """Whether it was captured: its text has a form of its own."""
    has_merged: bool = False
    """Whether it stands for its copy, too."""
    apart: bool = False
    """Whether a merge of it was taken back: it is not merged again as it is."""
    former: list[str] = field(default_factory=list)
    """Addresses that lead to it still."""
    stored: list[str] = field(init=False)
    """The words it was stored with, also those of paragraphs that were forgotten since."""

    def __post_init__(self) -> None:
        """Begin with what was stored."""
        self.stored = list(self.words)

    @property
    def text(self) -> str:
        """What is left of it."""
        return text_of(self.words, spaced=self.spaced)

    @property
    def given(self) -> str:
        """What was stored."""
        return text_of(self.stored, spaced=self.spaced)

    @property
    def folder(self) -> str:
        """Where its path lies."""
        return self.address.rpartition("/")[0]


class Model:
    """The documents that should be there, by a handle of ours."""

    def __init__(self) -> None:
        """Begin empty."""
        self.entries: dict[int, Entry] = {}
        self.gone: list[Entry] = []
        self.dead_words: set[str] = set()
        self._tombstones: set[tuple[str, str]] = set()
        self._made = 0

    def add(self, entry: Entry) -> None:
        """Note a new document."""
        self._made += 1
        self.entries[self._made] = entry

    def count(self) -> dict[str, int]:
        """Count the documents per space."""
        counts: dict[str, int] = {}
        for entry in self.entries.values():
            counts[entry.space] = counts.get(entry.space, 0) + 1
        return counts

    def holders(self, word: str, space: str) -> list[Entry]:
        """List the documents that hold a word and are seen from a space."""
        seen = (space, "global")
        return [e for e in self.entries.values() if word in e.words and e.space in seen]

    def forget(self, handle: int) -> None:
        """Take a document away for good."""
        entry = self.entries.pop(handle)
        self.gone.append(entry)
        self._tombstones.add((entry.space, normal(entry.text)))
        if entry.source is not None:
            self._tombstones.add((entry.space, entry.source))
        self._bury(entry.words)

    def forget_paragraph(self, handle: int, word: str) -> None:
        """Take a paragraph away for good."""
        entry = self.entries[handle]
        entry.words = [each for each in entry.words if each != word]
        entry.has_merged = False
        self._tombstones.add((entry.space, normal(text_of([word]))))
        self._bury([word])

    def edit(self, handle: int, words: list[str]) -> None:
        """Give a document other paragraphs; of those that were forgotten none comes back."""
        entry = self.entries[handle]
        before, entry.words = entry.words, self.left_of(entry.space, words)
        entry.stored = list(words)
        entry.spaced = entry.apart = entry.has_merged = False
        self._bury(before)

    def merge(self, handle: int, survivor: int) -> None:
        """Let one document stand for another one."""
        gone, entry = self.entries.pop(handle), self.entries[survivor]
        entry.former += [gone.address, *gone.former]
        entry.has_merged = True

    def left_of(self, space: str, words: list[str]) -> list[str]:
        """Leave out the paragraphs that were forgotten in a space."""
        return [w for w in words if (space, normal(text_of([w]))) not in self._tombstones]

    def is_forgotten(self, space: str, text: str, source: str | None = None) -> bool:
        """Say whether this very text, or its source key, is kept out."""
        return (space, normal(text)) in self._tombstones or (space, source) in self._tombstones

    def _bury(self, words: list[str]) -> None:
        live = {word for entry in self.entries.values() for word in entry.words}
        self.dead_words |= set(words) - live
        self.dead_words -= live


def text_of(words: list[str], *, spaced: bool = False) -> str:
    """Write a text of one paragraph for each word."""
    text = "\n\n".join(f"The {word} waits by the northern gate." for word in words)
    return text.replace(" by ", "  by ") if spaced else text


def normal(text: str) -> str:
    """Reduce a text to what a tombstone keeps out."""
    return re.sub(r"\s+", " ", text).casefold()
