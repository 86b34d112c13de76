"""Rows of the tables and the values they stand for, both ways."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from ringwood.types import Actor, Document, Kind, Node, State

Row = tuple[Any, ...]
"""What SQLite hands back: int, float, str, bytes or None per column."""

IntVector = npt.NDArray[np.int64]
"""int64[n]"""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LARGEST = 2**63 - 1
_KINDS, _ACTORS, _STATES = (frozenset(get_args(each)) for each in (Kind, Actor, State))


class RowError(ValueError):
    """A row holds what nobody writes: something changed it on the disk."""


def stamp_of(moment: datetime) -> int:
    """Count microseconds since 1970. A naive moment raises TypeError: nobody knows when it was."""
    return (moment - _EPOCH) // _MICROSECOND


def moment_of(stamp: int) -> datetime:
    """Read a stamp back, in UTC.

    Raises:
        RowError: when it is none.
    """
    try:
        return _EPOCH + stamp * _MICROSECOND
    except (OverflowError, TypeError) as error:
        raise RowError(f"{type(stamp).__name__} that is no time") from error


def id_array(ids: Iterable[int]) -> IntVector:
    """Collect ids, ascending and distinct; what cannot be an id is left out."""
    return np.array(sorted({i for i in ids if 0 < i <= _LARGEST}), dtype=np.int64)


def among(values: npt.NDArray[np.integer], ids: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
    """Say of each value whether the ascending `ids` hold it.

    `np.isin` would do, but its first use imports numpy.ma: 50 ms of a short command's life.
    """
    if not len(ids):
        return np.zeros(len(values), np.bool_)
    places = np.minimum(np.searchsorted(ids, values), len(ids) - 1)
    held: npt.NDArray[np.bool_] = ids[places] == values
    return held


def digest_key(digest: str) -> bytes:
    """Shorten whatever names an embedded text to the sixteen bytes that are kept of it."""
    return hashlib.sha256(digest.encode()).digest()[:16]


def document_of(row: Row) -> Document:
    """Read the columns of `tiers.CARD`.

    Raises:
        RowError: when one of them holds what it cannot.
    """
    (number, space, source, path, title, sha256, actor, importance) = row[:8]
    (created, stored, changed, state, error, seen, tier) = row[8:]
    if actor not in _ACTORS or state not in _STATES:
        raise RowError(f"document {number} has an actor or a state that there is not")
    return Document(
        id=number,
        space=space,
        source=source,
        path=path,
        title=title,
        sha256=sha256,
        actor=actor,
        importance=importance,
        created_at=moment_of(created),
        stored_at=moment_of(stored),
        changed_at=moment_of(changed),
        state=state,
        error=error,
        seen=seen,
        tier=tier,
    )


def node_of(row: Row, texts: Mapping[int, str]) -> Node:
    """Read the columns of a node; where it keeps no text of its own, `texts` has its document's.

    Raises:
        RowError: when a column holds what it cannot, or the document is not there.
    """
    (number, document, parent, position, kind, title, path) = row[:7]
    (start, end, own_start, own_end, script, length, access, actor, text) = row[7:]
    if kind not in _KINDS or (actor is not None and actor not in _ACTORS):
        raise RowError(f"node {number} has a kind or an actor that there is not")
    if text is None:
        try:
            text = texts[document][own_start:own_end]
        except (KeyError, TypeError) as error:
            raise RowError(f"node {number} has no text in document {document}") from error
    return Node(
        id=number,
        document=document,
        parent=parent,
        order=position,
        kind=kind,
        title=title,
        path=path,
        span=(start, end),
        own=(own_start, own_end),
        text=text,
        script=script,
        length=length,
        access=access,
        actor=actor,
    )


def row_of_node(node: Node, space: int, document_text: str) -> Row:
    """Write the columns of a node; a text that the document holds over `own` is not kept twice."""
    own_start, own_end = node.own
    same = document_text[own_start:own_end] == node.text
    return (
        node.id,
        node.document,
        space,
        node.parent,
        node.order,
        node.kind,
        node.title,
        node.path,
        *node.span,
        own_start,
        own_end,
        node.script,
        node.length,
        node.access,
        node.actor,
        None if same else node.text,
    )


def row_limit(limit: int) -> int:
    """Bring a number of rows into the range that SQLite takes; none for a negative one."""
    return min(max(0, limit), _LARGEST)


def after(prefix: str) -> str | bytes:
    """Name the end of the range of all texts that start with `prefix`, for `>= prefix AND < end`.

    A blob sorts after every text, and so serves where no text is beyond the range.
    """
    for i in range(len(prefix) - 1, -1, -1):
        point = ord(prefix[i]) + 1
        if 0xD800 <= point <= 0xDFFF:  # no text holds a surrogate
            point = 0xE000
        if point <= 0x10FFFF:
            return prefix[:i] + chr(point)
    return b""
