"""What goes through the write path: a text on its way in, and what is known of it at each step."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from ringwood.parse.tree import ParsedDocument, ParseOptions
from ringwood.types import Actor, Document, Node, State


@dataclass(frozen=True, slots=True)
class Draft:
    """A text on its way in, with what its bringer knows of it."""

    text: str
    """As it came."""
    space: str
    """Where it belongs."""
    actor: Actor
    """Who wrote it: set by the way in."""
    title: str | None = None
    """Overrides what the text says of its title."""
    stem: str | None = None
    """A file's name without ending: the title when the text has none."""
    folder: str | None = None
    """Path above the document, for example `/implemented/feature`; None: where it was, else top."""
    path: str | None = None
    """The whole path of the document, instead of folder and title."""
    source: str | None = None
    """The source key; None: the one it had, else the text is its own key."""
    replaces: int | None = None
    """Id of the document that this text is the new text of."""
    part: int | None = None
    """Id of the node of that document that this text takes the place of; None: of all of it."""
    importance: float | None = None
    """0..1; None: 0.5, or what it was."""
    created_at: datetime | None = None
    """When it was said or written; None: what the text says, else `fallback_at`, else now."""
    fallback_at: datetime | None = None
    """When nothing better is known: a file's mtime."""
    repaired: int = 0
    """Characters that were replaced before it became text."""
    exchange: bool = False
    """Whether its turns say who wrote what: `parse/exchange.py`."""


Outcome = Literal["new", "changed", "existing", "forgotten"]
"""`existing`: the identical text was there already. `forgotten`: a tombstone keeps it out."""


@dataclass(frozen=True, slots=True)
class Ingested:
    """What became of a draft."""

    document: int | None
    """Its document; None when it is forgotten."""
    outcome: Outcome
    """How it ended."""
    redacted: int = 0
    """Secrets masked."""
    repaired: int = 0
    """Characters replaced."""
    sha256: str = ""
    """Of the text that was there already, when it was."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A draft that is to be written, and what was seen of the store when that was decided."""

    draft: Draft
    """As it came."""
    text: str
    """What is stored: repaired, masked, without what was forgotten of it."""
    sha256: str
    """Of that text."""
    parsed: ParsedDocument
    """Its tree."""
    old: Document | None
    """The document that it continues."""
    old_nodes: tuple[Node, ...]
    """That document's nodes, in reading order."""
    hashes: tuple[str, ...]
    """Of its nodes and its source key, as tombstones hold them."""
    forgotten: frozenset[str]
    """Those of them that have a tombstone."""
    redacted: int = 0
    """Secrets masked."""
    repaired: int = 0
    """Characters replaced."""
    is_edit: bool = True
    """Whether the text changes by it; False: a change of place, or of what was forgotten."""

    def outcome(self, document: int | None) -> Ingested:
        """Say what becomes of it."""
        return Ingested(document, "changed" if self.old else "new", self.redacted, self.repaired)


@dataclass(frozen=True, slots=True)
class Intake:
    """How texts are taken in."""

    now: datetime
    """The time of storing. UTC."""
    state: State = "pending"
    """Of new documents: `pending` when vectors are to come, `ready` where words are all."""
    parse: ParseOptions = field(default_factory=ParseOptions)
    """Limits of the parser."""
    again: bool = False
    """Let forgotten texts back in, and lift their tombstones."""
    dry_run: bool = False
    """Write nothing; only say what would come of it."""


def sha256_of(text: str) -> str:
    """Return the hex digest that a text is known by."""
    return hashlib.sha256(text.encode()).hexdigest()
