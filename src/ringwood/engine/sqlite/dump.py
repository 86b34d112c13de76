"""A home read out as rows, in one order whatever became of its files: behind `engine/transfer.py`.

Each query is written once, for a tier whose name is put in when this module is loaded.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence

import apsw

from ringwood.engine.transfer import Row
from ringwood.types import TIERS, Tier

_SCHEMA_OF: Mapping[Tier, str] = {"hot": "main", "warm": "warm", "cold": "cold"}

_COUNTERS = "SELECT name, next FROM main.counters WHERE name <> 'file' ORDER BY name"
_SETTING = "SELECT substr(key, 6), value FROM main.meta WHERE key = 'home.' || ?"
_SPACES = "SELECT number, name, key FROM main.spaces ORDER BY number"
_TOMBSTONES = "SELECT space, hash, at FROM main.tombstones ORDER BY space, hash"
_MEANS = """
SELECT s.name, m.embedder, m.script, m.nodes, m.row, m.median, m.p999
FROM main.means m JOIN main.spaces s ON s.number = m.space
ORDER BY s.number, m.embedder, m.script"""
_DREAMS = "SELECT id, begun_at, finished_at FROM main.dreams ORDER BY id"
_STEPS = """
SELECT d.id, d.dream, d.kind, s.name, d.document, d.survivor, d.open, d.payload
FROM main.dream_steps d JOIN main.spaces s ON s.number = d.space ORDER BY d.id"""
_MERGED = """
SELECT m.document, s.name, m.source, m.sha256, m.hash, m.survivor, m.survivor_sha256
FROM main.merged m JOIN main.spaces s ON s.number = m.space ORDER BY m.document"""
_APART = """
SELECT s.name, a.key FROM main.apart a JOIN main.spaces s ON s.number = a.space
ORDER BY s.number, a.key"""

_DOCUMENTS = "SELECT id, tier FROM all_documents ORDER BY id"


def _in_each_tier(query: str) -> dict[Tier, str]:
    return {tier: query.replace("@", schema) for tier, schema in _SCHEMA_OF.items()}


_DOCUMENT = _in_each_tier("""
SELECT d.id, ?2, s.name, d.source, d.path, d.title, d.sha256, d.actor, d.importance,
    d.created_at, d.stored_at, d.changed_at, d.state, d.error, d.seen, d.text
FROM @.documents d JOIN @.spaces s ON s.number = d.space WHERE d.id = ?1""")
_VERSIONS = _in_each_tier("""
SELECT until, sha256, text, nodes FROM @.versions WHERE document = ?1 ORDER BY until, rowid""")
_NODES = _in_each_tier("""
SELECT id, parent, kind, title, path, span_start, span_end, own_start, own_end, access, actor, text
FROM @.nodes WHERE document = ?1 ORDER BY position""")
_VECTORS = _in_each_tier("""
SELECT v.node, e.identity, v.digest, v.row
FROM @.nodes n JOIN @.vectors v ON v.node = n.id JOIN @.embedders e ON e.number = v.embedder
WHERE n.document = ?1 ORDER BY n.position, e.identity""")
_EDGES = _in_each_tier("""
SELECT source, target, kind, weight FROM @.edges WHERE document = ?1
ORDER BY source, target, kind""")
# An old path is in the space of then; its name is hot's, which knows them all.
_ALIASES = _in_each_tier("""
SELECT s.name, a.path, a.node, a.until
FROM @.aliases a JOIN main.spaces s ON s.number = a.space
WHERE a.document = ?1 ORDER BY s.name, a.path""")


def rows_of(
    connection: apsw.Connection, *, settings: Sequence[str], vectors: bool
) -> Iterator[Row]:
    """Read all rows of a snapshot, from a connection with every tier attached."""
    query = connection.execute
    yield from (Row("counter", row) for row in query(_COUNTERS))
    for key in sorted(settings):
        yield from (Row("setting", row) for row in query(_SETTING, (key,)))
    yield from (Row("space", row) for row in query(_SPACES))
    yield from (Row("tombstone", row) for row in query(_TOMBSTONES))
    if vectors:
        yield from (Row("mean", row) for row in query(_MEANS))
    yield from (Row("dream", row) for row in query(_DREAMS))
    yield from (Row("step", row) for row in query(_STEPS))
    yield from (Row("merged", row) for row in query(_MERGED))
    yield from (Row("apart", row) for row in query(_APART))
    for document, tier in query(_DOCUMENTS):
        yield from _with_all(connection, document, tier, vectors=vectors)


def _with_all(
    connection: apsw.Connection, document: int, tier: Tier, *, vectors: bool
) -> Iterator[Row]:
    """Read a document's hottest copy and what lies with it there."""
    query = connection.execute
    yield from (Row("document", row) for row in query(_DOCUMENT[tier], (document, tier)))
    for until, sha256, text, packed in query(_VERSIONS[tier], (document,)):
        kept = None if packed is None else json.loads(zlib.decompress(packed))
        yield Row("version", (until, sha256, text, kept))
    yield from (Row("node", row) for row in query(_NODES[tier], (document,)))
    if vectors:
        yield from (Row("vector", row) for row in query(_VECTORS[tier], (document,)))
    yield from (Row("edge", row) for row in query(_EDGES[tier], (document,)))
    yield from (Row("alias", row) for row in query(_ALIASES[tier], (document,)))


_EMPTY: Mapping[Tier, str] = _in_each_tier("SELECT NOT EXISTS (SELECT 1 FROM @.documents)")
_NEVER_FORGOT = "SELECT NOT EXISTS (SELECT 1 FROM main.tombstones)"
_FILLING = "SELECT EXISTS (SELECT 1 FROM main.meta WHERE key = 'filling')"


def is_empty(connection: apsw.Connection) -> bool:
    """Say whether nothing lies in any tier, or only what an unfinished filling put there."""
    query = connection.execute
    tiers: tuple[Tier, ...] = ("hot",) if query(_FILLING).get else TIERS
    return bool(query(_NEVER_FORGOT).get) and all(query(_EMPTY[tier]).get for tier in tiers)
