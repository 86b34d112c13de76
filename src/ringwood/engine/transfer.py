"""A home as rows: read out whole, written into an empty one, and copied file by file.

Only what cannot be made again from something else is a row here: the words of a node, for example,
are made from its text wherever it is read in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ringwood.types import Tier

Values = tuple[Any, ...]
"""The values of one row, in the order of its `COLUMNS`."""

OF_THE_HOME = (
    "counter", "setting", "space", "tombstone", "mean", "dream", "step", "merged", "apart",
)  # fmt: skip
"""Kinds of rows that belong to no document, in the order in which they are read."""
OF_A_DOCUMENT = ("version", "node", "vector", "edge", "alias")
"""Kinds of rows that lie with one, in the order in which they follow it."""

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "counter": ("name", "next"),
    "setting": ("key", "value"),
    "space": ("number", "name", "key"),
    "tombstone": ("space", "hash", "at"),
    "mean": ("space", "embedder", "script", "nodes", "values", "median", "p999"),
    "dream": ("id", "begun_at", "finished_at"),
    "step": ("id", "dream", "kind", "space", "document", "survivor", "open", "payload"),
    "merged": (
        "document", "space", "source", "sha256", "hash", "survivor", "survivor_sha256",
    ),
    "apart": ("space", "key"),
    "document": (
        "id", "tier", "space", "source", "path", "title", "sha256", "actor", "importance",
        "created_at", "stored_at", "changed_at", "state", "error", "seen", "text",
    ),
    "version": ("until", "sha256", "text", "nodes"),
    "node": (
        "id", "parent", "kind", "title", "path", "start", "end", "own_start", "own_end", "access",
        "actor", "text",
    ),
    "vector": ("node", "embedder", "digest", "values"),
    "edge": ("source", "target", "kind", "weight"),
    "alias": ("space", "path", "node", "until"),
}  # fmt: skip
"""What a row of each kind holds. Stamps are microseconds since 1970, UTC; a `text` of None is what
the document says over `own`; the `nodes` of a version are rows too, or None. A space is named, but
in its own row: its number stands in what dreams packed, and so is kept."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row on its way out."""

    kind: str
    """A key of `COLUMNS`."""
    values: Values
    """By its columns."""


@dataclass(frozen=True, slots=True)
class WholeDocument:
    """A document with all that lies with it, on its way in."""

    document: Values
    """Its own row; every list below holds rows of the kind in its name."""
    versions: Sequence[Values]
    nodes: Sequence[Values]
    """In reading order."""
    vectors: Sequence[Values]
    edges: Sequence[Values]
    aliases: Sequence[Values]
    terms: Mapping[int, Sequence[str]]
    """Distinct index terms of every node."""
    scripts: Mapping[int, str]
    """Dominant script of every node's text."""


@dataclass(frozen=True, slots=True)
class Dump:
    """One snapshot over all tiers."""

    schema: int
    """Version of the tables."""
    missing: tuple[Tier, ...]
    """Tiers that cannot be read: nothing of them is among the rows."""
    rows: Iterator[Row]
    """Home first, then document by document; the same content gives the same rows."""


class Loader(Protocol):
    """Writes rows into files that nobody has open. What is refused raises `ValueError`."""

    def put(self, row: Row) -> None:
        """Write a row of the home."""

    def put_document(self, whole: WholeDocument) -> None:
        """Write a document; ids of documents ascend."""

    def finish(self) -> None:
        """Check what only the whole shows, and make the files durable."""


@dataclass(frozen=True, slots=True)
class FileCopy:
    """One tier file that was copied."""

    tier: Tier
    """Which."""
    name: str
    """Its file name in a home."""
    bytes: int
    """Its size."""


class Transfer(Protocol):
    """The part of an engine that takes a home as a whole."""

    writable: bool
    """Whether this process may write the home; else every writing raises `ReadOnlyError`."""

    def dumping(self, *, settings: Sequence[str], vectors: bool) -> AbstractContextManager[Dump]:
        """Read a home out in one snapshot, while others write.

        As long as it lasts the log of what they write cannot be cut.

        Args:
            settings: which settings of the home are wanted.
            vectors: False leaves vectors and means out.
        """

    def is_empty(self) -> bool:
        """Say whether no document lies here and none was ever forgotten here.

        A home whose filling was cut short counts as empty: what is to be filled in is whole
        elsewhere.

        Raises:
            StorageError: when a tier is missing, so that it cannot be told.
        """

    def fill(self, folder: Path) -> None:
        """Take over what a `Loader` wrote into a folder, while the home is empty.

        Raises:
            UsageError: when it is not.
            StorageError: when the disk refuses. The home then counts as empty.
        """

    def tier_bytes(self) -> dict[Tier, int]:
        """Weigh the content of every tier that can be read."""

    def copy_to(
        self, folder: Path, on_page: Callable[[int, int], None] = lambda done, total: None
    ) -> tuple[FileCopy, ...]:
        """Copy every tier into a folder as of one moment, while others write.

        Args:
            folder: where no tier file lies. Of a tier that is missing there is none afterwards.
            on_page: told how many of how many pages are copied; may raise to stop.

        Raises:
            StorageError: when the disk refuses.
        """

    def match_mirror(self, folder: Path) -> None:
        """Make copied tiers and a mirror that was copied after them agree.

        What has changed meanwhile counts as not mirrored in the copy, and is mirrored anew where
        it is opened; a file of what was stored meanwhile is removed from the copied mirror.

        Args:
            folder: where `copy_to` put the tiers, the mirror below it.
        """
