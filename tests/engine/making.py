"""Small documents for tests of an engine, and their way into it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from ringwood.engine.base import Engine, FloatVector, NodeWrite, VectorQuery, WordQuery
from ringwood.types import Document, Node

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
EMBEDDER = "test/4"


def terms_of(text: str) -> tuple[str, ...]:
    """Split at blanks: the engine takes any terms."""
    return tuple(dict.fromkeys(text.lower().split()))


def document(number: int, text: str, **changes: object) -> Document:
    """Make a card; `changes` replace its fields."""
    fields: dict[str, object] = {
        "id": number,
        "space": "global",
        "source": None,
        "path": f"/note-{number}",
        "title": f"Note {number}",
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
        "actor": "person",
        "importance": 0.5,
        "created_at": NOON + timedelta(minutes=number),
        "stored_at": NOON + timedelta(minutes=number),
        "changed_at": NOON + timedelta(minutes=number),
    }
    return Document(**{**fields, **changes})  # type: ignore[arg-type]


def nodes_of(card: Document, text: str, first: int) -> list[NodeWrite]:
    """Cut a text at its line ends: a root of the title, and a paragraph for each line.

    Node ids run from `first`; paths are numbered like the lines.
    """
    root = Node(
        id=first,
        document=card.id,
        parent=None,
        order=0,
        kind="document",
        title=card.title,
        path=card.path,
        span=(0, len(text)),
        own=(0, 0),
        text="",
        script="",
        length=0,
    )
    writes = [NodeWrite(root, ())]
    start = 0
    for order, line in enumerate(text.split("\n"), 1):
        end = start + len(line)
        terms = terms_of(line)
        node = Node(
            id=first + order,
            document=card.id,
            parent=first,
            order=order,
            kind="paragraph",
            title=line[:20],
            path=f"{card.path}/{order}",
            span=(start, end),
            own=(start, end),
            text=line,
            script="Han" if line[:1] >= "一" else "Latin",
            length=len(terms),
        )
        writes.append(NodeWrite(node, terms))
        start = end + 1
    return writes


def store(engine: Engine, text: str, **changes: object) -> tuple[Document, tuple[Node, ...]]:
    """Store a text as a new document in hot; give back its card and its nodes."""
    with engine.writing() as writer:
        number, first = writer.reserve_ids(1, 1 + len(text.split("\n")))
        card = document(number, text, **changes)
        writes = nodes_of(card, text, first)
        writer.put_document(card, text, writes)
    return card, tuple(write.node for write in writes)


def unit(*numbers: float) -> FloatVector:
    """Make a row of unit length."""
    row = np.array(numbers, dtype=np.float32)
    return np.asarray(row / np.linalg.norm(row), dtype=np.float32)


def embed(
    engine: Engine, card: Document, rows: Mapping[int, FloatVector], embedder: str = EMBEDDER
) -> bool:
    """Write rows of a document's nodes, digests made up from the ids."""
    digests = {node: f"text of {node}" for node in rows}
    with engine.writing(card.tier) as writer:
        return writer.put_vectors(card.id, card.sha256, embedder, rows, digests, ())


def question(
    row: FloatVector, means: Mapping[str, FloatVector] | None = None, embedder: str = EMBEDDER
) -> VectorQuery:
    """Ask with a row; without means nothing is centred."""
    means = {"": np.zeros_like(row)} if means is None else means
    apart = np.asarray(row - means.get("Latin", means[""]), dtype=np.float32)
    centred = np.asarray(apart / np.linalg.norm(apart), dtype=np.float32)
    return VectorQuery(embedder, row, centred, means, "1")


def found(engine: Engine, *terms: str, spaces: Sequence[str] = ("global",)) -> tuple[int, ...]:
    """Rank by words and give the order."""
    with engine.reading() as reader:
        return reader.rank_words(WordQuery(terms), spaces, limit=50).order
