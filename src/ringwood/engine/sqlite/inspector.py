"""Reading one tier file to see whether it holds together: the queries of an `Inspector`.

Texts are read as bytes: a flipped bit makes many of them no UTF-8, which is what is looked for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import apsw
import numpy as np

from ringwood.engine.checking import HeldVector, Orphans, Record
from ringwood.engine.sqlite.connection import not_text, translated
from ringwood.engine.sqlite.rows import IntVector, among, document_of, id_array, node_of
from ringwood.engine.sqlite.visible import numbers
from ringwood.engine.sqlite.words import content_of
from ringwood.errors import DamagedError
from ringwood.types import Document, Node, Tier

_Execute = Callable[..., Any]
_Read = TypeVar("_Read")

_READ_ONLY = "PRAGMA query_only = ON"
_CHECK = "PRAGMA integrity_check(100)"
_QUICK_CHECK = "PRAGMA quick_check(100)"
_FOREIGN_KEYS = "PRAGMA foreign_key_check"

# The table's own order, then two ways around a page of it that cannot be read.
_DOCUMENTS = (
    "SELECT id FROM documents NOT INDEXED",
    "SELECT id FROM documents INDEXED BY documents_by_hash",
    "SELECT id FROM documents INDEXED BY documents_by_path",
)
_TEXT = "SELECT CAST(text AS BLOB), space FROM documents WHERE id = ?"
_CARD = """
SELECT d.id, s.name, d.source, d.path, d.title, d.sha256, d.actor, d.importance, d.created_at,
    d.stored_at, d.changed_at, d.state, d.error, d.seen, ?2
FROM documents d JOIN spaces s ON s.number = d.space WHERE d.id = ?1"""
_MIRRORED = "SELECT mirrored_path FROM documents WHERE id = ? AND mirrored_sha256 = sha256"
_NODES = """
SELECT id, document, parent, position, kind, title, path, span_start, span_end, own_start, own_end,
    script, length, access, actor, text
FROM nodes WHERE document = ? ORDER BY position"""
_OUTLINE = """
SELECT id, CAST(path AS BLOB), access FROM nodes WHERE document = ? ORDER BY position"""
_STRAYS = "SELECT count(*) FROM nodes WHERE document = ? AND space <> ?"
_VECTORS = """
SELECT v.node, e.identity, length(v.row) = e.dim AND v.space = n.space AND v.script = n.script
FROM nodes n JOIN vectors v ON v.node = n.id LEFT JOIN embedders e ON e.number = v.embedder
WHERE n.document = ?"""
_VERSIONS = "SELECT CAST(text AS BLOB), CAST(sha256 AS BLOB) FROM versions WHERE document = ?"

_INSTANCES = "CREATE VIRTUAL TABLE temp.instances USING fts5vocab(main, words, instance)"
_POSTINGS = "SELECT CAST(term AS BLOB), group_concat(doc) FROM temp.instances GROUP BY term"
_POSTINGS_OF = """
SELECT CAST(term AS BLOB), doc FROM temp.instances
WHERE doc IN (SELECT value FROM carray(?))"""
_NODE_IDS = "SELECT group_concat(id) FROM nodes INDEXED BY nodes_by_length"
_NODES_AMONG = "SELECT id FROM nodes WHERE id IN carray(?)"

_COUNTS = """
SELECT s.name FROM spaces s
LEFT JOIN (SELECT space, count(*) AS nodes, sum(length) AS length FROM nodes GROUP BY space) n
    ON n.space = s.number
WHERE (s.nodes, s.length) <> (coalesce(n.nodes, 0), coalesce(n.length, 0))"""
_LONE_VECTORS = """
SELECT node FROM vectors WHERE node NOT IN (SELECT id FROM nodes) LIMIT 1000"""
_LONE_NODES = """
SELECT id FROM nodes WHERE document NOT IN (SELECT id FROM documents) LIMIT 1000"""
_LONE_ALIASES = """
SELECT path FROM aliases WHERE document NOT IN (SELECT id FROM documents) LIMIT 1000"""
_LOGS = "SELECT number, payload FROM recalls ORDER BY number"

_MASK = 0x7FFF_FFFF_FFFF_FFFF


class TierInspector:
    """An `Inspector` over one connection. Used by one thread."""

    def __init__(self, connection: apsw.Connection, tier: Tier, path: Path) -> None:
        self._connection = connection
        self._tier = tier
        self._path = path
        with translated(path):
            connection.execute(_INSTANCES)
            connection.execute(_READ_ONLY)

    def complaints(self, *, quick: bool) -> tuple[str, ...]:
        """Let SQLite check the file; see `Inspector`."""
        with self._snapshot() as execute:
            told = [str(row[0]) for row in execute(_QUICK_CHECK if quick else _CHECK)]
            told = [] if told == ["ok"] else told
            loose = list(islice(execute(_FOREIGN_KEYS), 100))
        return (*told, *(f"row {row[1]} of {row[0]} refers to nothing" for row in loose))

    def documents(self) -> tuple[int, ...]:
        """List the ids of all documents; see `Inspector`."""
        found: set[int] = set()
        refused: DamagedError | None = None
        for query in _DOCUMENTS:
            try:
                with self._snapshot() as execute:
                    for row in execute(query):
                        found.add(row[0])
            except DamagedError as error:
                refused = error
                continue
            break
        if refused is not None and not found:
            raise refused
        return tuple(sorted(found))

    def record(self, document: int) -> Record | None:
        """Read a document; see `Inspector`."""
        with self._snapshot() as execute:
            return self._record(execute, document)

    def _record(self, execute: _Execute, document: int) -> Record | None:
        row = execute(_TEXT, (document,)).fetchone()
        if row is None:
            return None
        data, space = (row[0] or b"", row[1])
        text = _decoded(data)
        versions = execute(_VERSIONS, (document,)).fetchall()
        return Record(
            id=document,
            sha256=hashlib.sha256(data).hexdigest(),
            text=text,
            document=_legible(lambda: self._card(execute, document)),
            space=space,
            nodes=_legible(lambda: _nodes(execute, document, text)),
            strays=execute(_STRAYS, (document, space)).get,
            vectors=tuple(
                HeldVector(node, identity or "", bool(fits))
                for node, identity, fits in execute(_VECTORS, (document,))
            ),
            versions=len(versions),
            bad_versions=sum(
                hashlib.sha256(was or b"").hexdigest().encode() != digest
                for was, digest in versions
            ),
            mirrored=_legible(lambda: execute(_MIRRORED, (document,)).get),
        )

    def _card(self, execute: _Execute, document: int) -> Document:
        return document_of(execute(_CARD, (document, self._tier)).fetchall()[0])

    def outline(self, document: int) -> tuple[tuple[int, str, int], ...]:
        """List id, path and access count of a document's nodes; see `Inspector`."""
        with self._snapshot() as execute:
            rows = execute(_OUTLINE, (document,)).fetchall()
        return tuple((i, _decoded(path or b"") or "", int(access)) for i, path, access in rows)

    def word_sum(self, space: int, terms: Iterable[str]) -> int:
        """Sum up distinct terms; see `Inspector`."""
        # As FTS5 takes it apart again: its tokenizer parts at blanks alone.
        return sum(map(hash, set(content_of(space, terms).encode().split()))) & _MASK

    def word_sums(self) -> dict[int, int]:
        """Sum up the word index; see `Inspector`."""
        with self._snapshot() as execute:
            ids = np.sort(numbers(execute(_NODE_IDS).get))
            sums = np.zeros(len(ids), np.uint64)
            strays: dict[int, int] = {}
            for term, listed in execute(_POSTINGS):
                value = np.uint64(hash(term) & 0xFFFF_FFFF_FFFF_FFFF)
                _add(sums, ids, numbers(listed), value, strays)
        totals = (sums & np.uint64(_MASK)).tolist()
        return dict(zip(ids.tolist(), totals, strict=True)) | strays

    def with_words(
        self, documents: Sequence[int], others: Collection[int] = ()
    ) -> tuple[tuple[Record, ...], dict[int, int]]:
        """Read documents with their words; see `Inspector`."""
        with self._snapshot() as execute:
            found = (self._record(execute, document) for document in documents)
            records = tuple(record for record in found if record is not None)
            nodes = {node.id for record in records for node in record.nodes or ()}
            taken = {row[0] for row in execute(_NODES_AMONG, (_ids(others),))} if others else set()
            sums = dict.fromkeys(nodes, 0)
            for term, node in execute(_POSTINGS_OF, (_ids({*nodes, *others} - taken),)):
                sums[node] = (sums.get(node, 0) + hash(term)) & _MASK
        return records, sums

    def miscounted(self) -> tuple[str, ...]:
        """List spaces whose counts are wrong; see `Inspector`."""
        with self._snapshot() as execute:
            return tuple(str(row[0]) for row in execute(_COUNTS))

    def orphans(self) -> Orphans:
        """Find what belongs to nothing; see `Inspector`."""
        with self._snapshot() as execute:
            found = [
                tuple(row[0] for row in execute(query))
                for query in (_LONE_VECTORS, _LONE_NODES, _LONE_ALIASES)
            ]
        return Orphans(*found)

    def logs(self) -> Iterator[tuple[int, bytes]]:
        """Read the log of recalls; see `Inspector`."""
        with self._snapshot() as execute:
            rows = execute(_LOGS).fetchall()
        yield from rows

    @contextmanager
    def _snapshot(self) -> Iterator[_Execute]:
        """Read in one transaction; a text that is none there counts as damage."""
        try:
            with translated(self._path):
                self._connection.execute("BEGIN")
                yield self._connection.execute
        except UnicodeDecodeError as error:
            raise not_text(self._path) from error
        finally:
            with suppress(apsw.Error):
                self._connection.execute("ROLLBACK")


def _legible(read: Callable[[], _Read]) -> _Read | None:
    """Read values; None where a bit makes them none that we write."""
    try:
        return read()
    except (ValueError, TypeError, OverflowError, LookupError):
        return None


def _decoded(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _nodes(execute: _Execute, document: int, text: str | None) -> tuple[Node, ...]:
    texts = {document: text or ""}
    return tuple(node_of(row, texts) for row in execute(_NODES, (document,)).fetchall())


def _ids(ids: Iterable[int]) -> object:
    found = id_array(ids)
    return apsw.carray(found if len(found) else np.zeros(1, np.int64))


def _add(
    sums: np.ndarray[tuple[int], np.dtype[np.uint64]],
    ids: IntVector,
    nodes: IntVector,
    value: np.uint64,
    strays: dict[int, int],
) -> None:
    """Add a term's value to the nodes that hold it; what is no node goes to `strays`."""
    known = among(nodes, ids)
    with np.errstate(over="ignore"):
        sums[np.searchsorted(ids, nodes[known])] += value  # a node is listed once per term
    for node in nodes[~known].tolist():
        strays[node] = (strays.get(node, 0) + int(value)) & _MASK
