"""Moving whole documents between tier files, row by row.

The files share one schema and one order of columns, whatever version they began with, so that a
row is carried over as it is: ids, stamps and access counts with it. What is a number of its own in
each file (embedders) is looked up by name; a space has the same number in all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from ringwood.engine.placement import MOVING, Misplaced, Move, TierDates
from ringwood.engine.sqlite.rows import Row, id_array, stamp_of
from ringwood.engine.sqlite.vector_copy import bound_deletions
from ringwood.engine.sqlite.words import content_of
from ringwood.types import TIERS, Tier

# Of people's rotation, not of a question's way: these read every document's card.
_MISPLACED = """
SELECT id, tier, due FROM (
    SELECT id, tier, CASE WHEN created_at >= ?1 THEN 'hot' WHEN created_at >= ?2 THEN 'warm'
        ELSE 'cold' END AS due
    FROM all_documents)
WHERE tier <> due ORDER BY id"""
_COPIES = {
    "warm": """SELECT w.id FROM warm.documents w
        WHERE EXISTS (SELECT 1 FROM main.documents h WHERE h.id = w.id)""",
    "cold": """SELECT c.id FROM cold.documents c
        WHERE EXISTS (SELECT 1 FROM main.documents h WHERE h.id = c.id)
        OR EXISTS (SELECT 1 FROM warm.documents w WHERE w.id = c.id)""",
}
_LAST_STORED = "SELECT stored_at FROM all_documents ORDER BY id DESC LIMIT 1"
_TIERS_OF = "SELECT id, tier FROM all_documents WHERE id IN carray(?)"

_DOCUMENT = "SELECT * FROM documents WHERE id = ?"
_VERSIONS = "SELECT * FROM versions WHERE document = ? ORDER BY until, rowid"
_NODES = "SELECT * FROM nodes WHERE document = ? ORDER BY position"
_EDGES = "SELECT * FROM edges WHERE document = ?"
_ALIASES = "SELECT * FROM aliases WHERE document = ?"
_VECTORS = """
SELECT e.identity, e.dim, v.node, v.space, v.script, v.digest, v.row
FROM vectors v JOIN embedders e ON e.number = v.embedder
WHERE v.node IN (SELECT id FROM nodes WHERE document = ?) ORDER BY v.id"""
_SPACE = "SELECT number, name FROM spaces WHERE number = ?"
_HELD = "SELECT space, sha256 FROM documents WHERE id = ?"
_LENGTHS = "SELECT id, length FROM nodes WHERE document = ?"

_ADD_SPACE = "INSERT OR IGNORE INTO spaces (number, name) VALUES (?, ?)"
_COUNT_NODES = "UPDATE spaces SET nodes = nodes + ?, length = length + ? WHERE number = ?"
_ADD_DOCUMENT = """
INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_ADD_VERSION = "INSERT INTO versions VALUES (?, ?, ?, ?, ?)"
_ADD_NODE = "INSERT INTO nodes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_ADD_WORDS = "INSERT INTO words (rowid, terms) VALUES (?, ?)"
_ADD_EMBEDDER = "INSERT OR IGNORE INTO embedders (identity, dim) VALUES (?, ?)"
_ADD_VECTOR = """
INSERT INTO vectors (node, embedder, space, script, digest, row)
SELECT ?, number, ?, ?, ?, ? FROM embedders WHERE identity = ?"""
_ADD_EDGE = """
INSERT INTO edges VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET weight = excluded.weight, document = excluded.document"""
# A path that two documents had, one after the other: the later of them is remembered.
_ADD_ALIAS = """
INSERT INTO aliases VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET node = excluded.node, document = excluded.document,
    until = excluded.until WHERE excluded.until > until"""

_MARK = """
INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"""

_DELETE_WORDS = "DELETE FROM words WHERE rowid = ?"
_DELETE_VECTORS = "DELETE FROM vectors WHERE node = ?"
_DELETE_NODES = "DELETE FROM nodes WHERE document = ?"
_DELETE_EDGES = "DELETE FROM edges WHERE document = ?"
_DELETE_ALIASES = "DELETE FROM aliases WHERE document = ?"
_DELETE_DOCUMENT = "DELETE FROM documents WHERE id = ?"

_NODE_ID, _NODE_LENGTH = 0, 13
"""Places in a row of `nodes`."""


def is_colder(tier: Tier, other: Tier) -> bool:
    """Say whether the first of two tiers is the colder one."""
    return TIERS.index(tier) > TIERS.index(other)


# -- what a reader's connection, with every tier attached, says ------------------------------------


def misplaced(connection: apsw.Connection, dates: TierDates) -> tuple[Misplaced, ...]:
    """List documents that lie in another tier than that of their age; see `Placement`."""
    bounds = (stamp_of(dates.hot_since), stamp_of(dates.warm_since))
    return tuple(Misplaced(*row) for row in connection.execute(_MISPLACED, bounds))


def copies(connection: apsw.Connection) -> dict[Tier, tuple[int, ...]]:
    """List documents per tier that have a hotter copy; see `Placement`."""
    return {tier: tuple(row[0] for row in connection.execute(_COPIES[tier])) for tier in TIERS[1:]}


def last_stored(connection: apsw.Connection) -> int | None:
    """Read the stamp of when the newest document was taken in."""
    stamp = connection.execute(_LAST_STORED).get
    return None if stamp is None else int(stamp)


def with_hotter_copy(
    connection: apsw.Connection, tier: Tier, documents: Sequence[int]
) -> list[int]:
    """Choose the documents whose hottest copy lies above this tier."""
    found = connection.execute(_TIERS_OF, (apsw.carray(id_array(documents)),))
    return [document for document, hottest in found if is_colder(tier, hottest)]


# -- what a writer's connection, on one file, does -------------------------------------------------


def copy_document(
    source: apsw.Connection, target: apsw.Connection, move: Move, *, vectors: bool
) -> bool:
    """Copy a document into another file, over a copy that may lie there.

    False, and nothing was written, when it is no longer as it was read, or when another document
    has its path or source key there.
    """
    document = source.execute(_DOCUMENT, (move.document,)).fetchone()
    if document is None or source.execute(_HELD, (move.document,)).get[1] != move.sha256:
        return False
    nodes = source.execute(_NODES, (move.document,)).fetchall()
    if {row[_NODE_ID] for row in nodes} != move.terms.keys():
        return False
    try:
        with target:  # a savepoint: one document that cannot be placed holds up no other
            remove_document(target, move.document)
            _add(source, target, document, [_measured(row, move) for row in nodes])
            space = document[1]
            target.executemany(
                _ADD_WORDS, [(i, content_of(space, terms)) for i, terms in move.terms.items()]
            )
            if vectors:
                _copy_vectors(source, target, move.document)
    except apsw.ConstraintError:
        return False
    return True


def mark_begun(hot: apsw.Connection, token: str) -> None:
    """Note in hot that moves may have left copies, under a name that tells it from other notes."""
    hot.execute(_MARK, (f"home.{MOVING}", token))


def _measured(node: Row, move: Move) -> Row:
    """Set a node's length by the terms that it is indexed under from now on."""
    length = len(move.terms[node[_NODE_ID]])
    return (*node[:_NODE_LENGTH], length, *node[_NODE_LENGTH + 1 :])


def _add(
    source: apsw.Connection, target: apsw.Connection, document: Row, nodes: Sequence[Row]
) -> None:
    number, space = document[:2]
    target.execute(_ADD_SPACE, source.execute(_SPACE, (space,)).get)
    target.execute(_ADD_DOCUMENT, document)
    target.executemany(_ADD_NODE, nodes)
    length = sum(row[_NODE_LENGTH] for row in nodes)
    target.execute(_COUNT_NODES, (len(nodes), length, space))
    for read, add in ((_VERSIONS, _ADD_VERSION), (_EDGES, _ADD_EDGE), (_ALIASES, _ADD_ALIAS)):
        target.executemany(add, source.execute(read, (number,)).fetchall())


def _copy_vectors(source: apsw.Connection, target: apsw.Connection, document: int) -> None:
    rows = source.execute(_VECTORS, (document,)).fetchall()
    target.executemany(_ADD_EMBEDDER, {(identity, dim) for identity, dim, *_ in rows})
    target.executemany(_ADD_VECTOR, [(*vector, identity) for identity, _, *vector in rows])


def remove_document(connection: apsw.Connection, document: int) -> bool:
    """Take a document out of one file; what other documents have that touches it stays.

    An edge of another document leads to this one wherever it lies: only forgetting ends it.
    """
    held = connection.execute(_HELD, (document,)).fetchone()
    if held is None:
        return False
    nodes: list[Row] = connection.execute(_LENGTHS, (document,)).fetchall()
    connection.executemany(_DELETE_WORDS, [(node,) for node, _ in nodes])
    connection.executemany(_DELETE_VECTORS, [(node,) for node, _ in nodes])
    bound_deletions(connection)
    for sql in (_DELETE_NODES, _DELETE_EDGES, _DELETE_ALIASES):
        connection.execute(sql, (document,))
    connection.execute(_DELETE_DOCUMENT, (document,))  # its versions go with it
    length = sum(length for _, length in nodes)
    connection.execute(_COUNT_NODES, (-len(nodes), -length, held[0]))
    return True
