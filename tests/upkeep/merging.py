"""What the tests of merging and undoing share: a home read out whole, and notes to merge."""

from __future__ import annotations

from pathlib import Path

import apsw

from ringwood.memory import Memory

PORT = "The port of the staging server is 8090, and nothing else may use it."
"""What a note says."""
NEAR = "Port of the staging server is 8090 - and nothing else may use it!"
"""The same in other words."""
OTHER = "The port of the staging server is 8091, and nothing else may use it."
"""Something else in nearly the same words."""

_QUERIES = {
    "documents": """SELECT id, space, source, path, title, sha256, actor, importance, created_at,
        stored_at, changed_at, state, error, seen, text FROM documents""",
    "versions": "SELECT document, until, sha256, text, nodes FROM versions",
    "nodes": "SELECT * FROM nodes",
    "words": "SELECT rowid FROM words",
    "vocabulary": "SELECT term, doc FROM vocabulary",
    "vectors": "SELECT node, embedder, space, script, digest, row FROM vectors",
    "edges": "SELECT * FROM edges",
    "aliases": "SELECT * FROM aliases",
    "spaces": "SELECT number, name, key, nodes, length FROM spaces",
    "means": "SELECT * FROM means",
    "merged": "SELECT * FROM merged",
    "tombstones": "SELECT space, hash FROM tombstones",
}


def rows_of(home: Path) -> dict[str, list[tuple[object, ...]]]:
    """Read every row of every tier but settings, journals and what the mirror holds."""
    found: dict[str, list[tuple[object, ...]]] = {}
    for name in ("memory", "memory-warm", "memory-cold"):
        connection = apsw.Connection(str(home / f"{name}.db"), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            for table, query in _QUERIES.items():
                found[f"{name}.{table}"] = sorted(connection.execute(query).fetchall(), key=repr)
        finally:
            connection.close()
    return found


def raw_bytes(home: Path) -> bytes:
    """Read the bytes of every file of a home that is closed."""
    return b"".join(path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file())


def paths(memory: Memory) -> set[str]:
    """List the documents of the space."""
    return {line.node.path for line in memory.tree(depth=1)}


def found(memory: Memory, question: str) -> list[str]:
    """Ask, and say which documents answered."""
    return sorted({hit.document for hit in memory.recall(question, floor=0.0).hits})
