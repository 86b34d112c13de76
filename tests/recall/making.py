"""Candidates for tests of single stages."""

from __future__ import annotations

from datetime import UTC, datetime

from ringwood.recall.ledger import Candidate
from ringwood.types import Document, Hit, Kind, Node, Signals, Term

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)

HIT = Hit(
    address="global:/note",
    path="/note",
    space="global",
    document="1",
    node="1",
    title="Note",
    title_path="Note",
    text="Note",
    kind="paragraph",
    actor="person",
    tier="hot",
    created_at=NOW,
    score=1.0,
    terms=(),
    signals=Signals(),
    via_address=None,
    section=None,
    siblings=(),
)
"""A hit to make others of, with `replace`."""


def candidate(
    identity: int,
    score: float,
    *,
    text: str = "",
    kind: Kind = "paragraph",
    parent: int | None = None,
    evidence: float = 1.0,
    path: str = "",
) -> Candidate:
    """Make a candidate with one term."""
    node = Node(
        id=identity,
        document=1,
        parent=parent,
        order=identity,
        kind=kind,
        title=f"n{identity}",
        path=path or f"/d/n{identity}",
        span=(0, 1),
        own=(0, 1),
        text=text or f"text {identity}",
        script="Latin",
        length=2,
    )
    document = Document(
        id=1,
        space="global",
        source=None,
        path="/d",
        title="d",
        sha256="",
        actor="person",
        importance=0.5,
        created_at=NOW,
        stored_at=NOW,
        changed_at=NOW,
    )
    return Candidate(node, document, Signals(evidence=evidence), (Term("cosine", score),))
