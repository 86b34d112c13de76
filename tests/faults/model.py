"""What a memory should hold: a plain dict of documents, what was merged, and what was forgotten."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

Form = Literal["plain", "spaced", "near", "unlike"]
"""How a text puts its words."""

FORMS: dict[Form, str] = {
    "plain": "The {} waits by the northern gate.",
    "spaced": "The {} waits  by the northern gate.",
    "near": "The {} also waits by the northern-gate.",
    "unlike": "The {} waits by the southern gate.",
}
SAME: frozenset[Form] = frozenset(("plain", "spaced", "near"))
"""Forms that say the same: a dream merges them. The other one is as similar, and says another
thing."""

Said = tuple[str, tuple[str, ...]]
"""A space, and the words of a text in it."""


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
    form: Form = "plain"
    """How it puts them."""
    is_exchange: bool = False
    """Whether it was captured: its text has a form of its own."""
    merged: list[Entry] = field(default_factory=list)
    """Documents that went into it."""
    stands: bool = True
    """Of one that went into another: whether that says what it said then."""
    undoable: bool = True
    """Of one that went into another: whether it can be apart again."""
    said: set[str] = field(default_factory=set)
    """Words of its earlier texts, which are kept as versions, and in the log of recalls."""
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
        return text_of(self.words, self.form)

    @property
    def given(self) -> str:
        """What was stored."""
        return text_of(self.stored, self.form)

    @property
    def says(self) -> Said:
        """What it says, in whichever form."""
        return self.space, tuple(self.words)

    @property
    def folder(self) -> str:
        """Where its path lies."""
        return self.address.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class Merge:
    """A document that goes, by its handle, and the one that stays."""

    goes: int
    """Its handle."""
    stays: int
    """The handle of the other."""


class Model:
    """The documents that should be there, by a handle of ours."""

    def __init__(self) -> None:
        """Begin empty."""
        self.entries: dict[int, Entry] = {}
        self.gone: list[Entry] = []
        self.dead_words: set[str] = set()
        """Words that nothing is found by."""
        self.forgotten_words: set[str] = set()
        """Those of them that are to be found nowhere at all."""
        self.forgotten_nodes: set[int] = set()
        """Nodes that no link may lead to."""
        self.paused: set[str] = set()
        """Where nothing is captured: `everywhere`, or a space."""
        self.runs: dict[int, list[tuple[Merge, Entry]]] = {}
        """What each run of a dream merged."""
        self._apart: set[Said] = set()
        self._tombstones: set[tuple[str, str]] = set()
        self._made = 0

    def add(self, entry: Entry) -> None:
        """Note a new document."""
        self._made += 1
        self.entries[self._made] = entry

    def never(self, word: str) -> None:
        """Note a word that was said and not kept."""
        self.dead_words.add(word)
        self.forgotten_words.add(word)

    def keeps(self, space: str) -> bool:
        """Say whether what is said in a space is captured."""
        return not self.paused & {"everywhere", space}

    # -- counting and finding ------------------------------------------------------------------

    def count(self) -> dict[str, int]:
        """Count the documents per space."""
        counts: dict[str, int] = {}
        for entry in self.entries.values():
            counts[entry.space] = counts.get(entry.space, 0) + 1
        return counts

    def notes(self) -> list[tuple[int, Entry]]:
        """List what was stored as it is, and not captured."""
        return [each for each in self.entries.items() if not each[1].is_exchange]

    def holders(self, word: str, space: str) -> list[Entry]:
        """List the documents that hold a word and are seen from a space."""
        seen = (space, "global")
        return [e for e in self.entries.values() if word in e.words and e.space in seen]

    def holds_text(self, space: str, text: str) -> bool:
        """Say whether this very text is there, by itself or in what it went into."""
        return any(
            each.space == space and each.text == text and each.stands
            for entry in self.entries.values()
            for each in (entry, *entry.merged)
        )

    def left_of(self, space: str, words: Iterable[str], form: Form = "plain") -> list[str]:
        """Leave out the paragraphs that were forgotten in a space."""
        return [w for w in words if (space, normal(text_of([w], form))) not in self._tombstones]

    def is_kept_out(self, space: str, text: str) -> bool:
        """Say whether this very text was forgotten, or may be that of a document that was cut.

        Where something was cut out of a text, more or fewer blanks stay.
        """
        return self._has_tombstone(space, text) or any(
            (each.space, each.text) == (space, text) and each.stored != each.words
            for entry in self.entries.values()
            for each in (entry, *entry.merged)
        )

    def is_forgotten(self, entry: Entry) -> bool:
        """Say whether what a document is known by was forgotten elsewhere: its key, or its text."""
        if entry.source is not None:
            return (entry.space, entry.source) in self._tombstones
        return not entry.is_exchange and self._has_tombstone(entry.space, entry.text)

    # -- forgetting and editing ----------------------------------------------------------------

    def forget(self, handle: int) -> None:
        """Take a document away for good, with all that went into it."""
        entry = self.entries.pop(handle)
        for each in (entry, *entry.merged):
            each.undoable = False
            self.gone.append(each)
            self._tombstones.add((each.space, normal(each.text)))
            if each.source is not None:
                self._tombstones.add((each.space, each.source))
            self._bury(each.words, forgotten=True)

    def forget_paragraph(self, handle: int, word: str) -> None:
        """Take a paragraph away for good; what went into the document holds it, and stays there.

        What was forgotten elsewhere goes with it.
        """
        entry = self.entries[handle]
        self._tombstones.add((entry.space, normal(text_of([word], entry.form))))
        before, left = entry.words, self.left_of(entry.space, entry.words, entry.form)
        for each in entry.merged:
            known, each.undoable = each.undoable, False  # its wording goes with the way back
            for gone in (set(before) - set(left)) & set(each.words) if known else ():
                self._tombstones.add((each.space, normal(text_of([gone], each.form))))
        if left:
            entry.words = left
            entry.said.clear()
        else:
            self.forget(handle)
        self._bury(before, forgotten=True)

    def edit(self, handle: int, words: list[str]) -> None:
        """Give a document other paragraphs; of those that were forgotten none comes back."""
        entry = self.entries[handle]
        before, entry.words = entry.words, self.left_of(entry.space, words)
        entry.said.update(before)
        entry.stored = list(words)
        entry.form = "plain"
        for each in entry.merged:
            each.stands = False
        self._bury(before)

    # -- dreaming ------------------------------------------------------------------------------

    def twins(self) -> list[Merge]:
        """Pair each document that a dream lets go with the older one that says the same."""
        alike: dict[tuple[Said, str], list[int]] = defaultdict(list)
        for handle, entry in self.notes():
            if entry.form in SAME and entry.says not in self._apart:
                alike[entry.says, entry.folder].append(handle)
        pairs = []
        for handles in alike.values():
            stays, *others = sorted(handles, key=lambda each: int(self.entries[each].document))
            pairs += [Merge(goes, stays) for goes in others]
        return pairs

    def dream(self, run: int, merges: Sequence[Merge]) -> None:
        """Let documents go into others."""
        self.runs[run] = [(merge, self.entries[merge.goes]) for merge in merges]
        for merge in merges:
            gone, entry = self.entries.pop(merge.goes), self.entries[merge.stays]
            entry.former += [gone.address, *gone.former]
            entry.merged.append(gone)
            gone.stands = gone.undoable = True

    def undo(self, run: int) -> int:
        """Let what a run merged be apart again, where that can be; say how many that are."""
        taken = {entry.address for entry in self.entries.values()}
        apart = [
            (merge, gone)
            for merge, gone in self.runs.pop(run, ())
            if gone.undoable and gone.address not in taken and not self._has_forgotten(gone)
        ]
        for merge, gone in apart:
            entry = self.entries[merge.stays]
            entry.merged.remove(gone)
            for address in (gone.address, *gone.former):
                entry.former.remove(address)
            self.entries[merge.goes] = gone
            gone.stands = True
            self._apart.add(gone.says)
        self._bury(())
        return len(apart)

    def _has_forgotten(self, gone: Entry) -> bool:
        said = (gone.text, *(text_of([word], gone.form) for word in gone.words))
        return any(self._has_tombstone(gone.space, each) for each in said)

    def _has_tombstone(self, space: str, text: str) -> bool:
        return (space, normal(text)) in self._tombstones

    def _bury(self, words: Iterable[str], *, forgotten: bool = False) -> None:
        self.dead_words |= set(words)
        if forgotten:
            self.forgotten_words |= set(words)
        live = {word for entry in self.entries.values() for word in entry.words}
        self.dead_words -= live
        self.forgotten_words -= live.union(*(entry.said for entry in self.entries.values()))


def text_of(words: Iterable[str], form: Form = "plain") -> str:
    """Write a text of one paragraph for each word."""
    return "\n\n".join(FORMS[form].format(word) for word in words)


def normal(text: str) -> str:
    """Reduce a text to what a tombstone keeps out."""
    return re.sub(r"\s+", " ", text).casefold()
