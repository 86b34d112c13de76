"""The part of a database that remembers: the texts that documents had, and where nodes were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from ringwood.types import Node


@dataclass(frozen=True, slots=True)
class Former:
    """What was at a path before."""

    node: int
    """Its id; the node may have moved on, or be gone."""
    document: int
    """Its document's id."""
    until: datetime
    """When it left. UTC."""


@dataclass(frozen=True, slots=True)
class Version:
    """An earlier state of a document."""

    text: str
    """As it was stored."""
    nodes: tuple[Node, ...]
    """Its nodes of then, in reading order; empty where they were not kept."""


class HistoryReader(Protocol):
    """What a snapshot says of the past."""

    def text_at(self, document: int, at: datetime) -> str:
        """Fetch the text as it was at a moment. Raises KeyError when there is no such document."""

    def version_at(self, document: int, at: datetime) -> Version | None:
        """Fetch a document's earlier state as of a moment; None where today's was the one."""

    def changed_before(self, document: int, at: datetime) -> datetime | None:
        """Say when a document's text had last changed as of a moment; None: never until then."""

    def changed_since(self, spaces: Sequence[str], at: datetime, limit: int) -> tuple[int, ...]:
        """List documents that were there at a moment and have changed since, the newest first."""

    def former(self, space: str, path: str) -> Former | None:
        """Say which node was at a path before it was renamed, moved or removed."""

    def formers_of(self, document: int) -> dict[str, Former]:
        """Map every path that a node of a document had, and has no more, to what was there."""
