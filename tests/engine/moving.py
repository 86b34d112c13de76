"""Moving a document between tier files by hand, row by row, as no code of the product does it."""

from __future__ import annotations

from pathlib import Path

import apsw

from ringwood.types import Tier

FILES: dict[Tier, str] = {
    "hot": "memory.db",
    "warm": "memory-warm.db",
    "cold": "memory-cold.db",
}


def move_by_hand(home: Path, document: int, target: Tier, *, keep: bool = False) -> None:
    """Copy a document from hot into another tier file, and delete it in hot unless `keep`.

    Copied are spaces, card, versions, nodes, words, vectors, edges and aliases. The engine may be
    open meanwhile; the words are read back from the index, which holds them nowhere else.
    """
    source = apsw.Connection(str(home / FILES["hot"]))
    destination = apsw.Connection(str(home / FILES[target]))
    for connection in (source, destination):
        connection.set_busy_timeout(30_000)
        connection.pragma("foreign_keys", True)
    source.execute("CREATE VIRTUAL TABLE temp.places USING fts5vocab(main, words, instance)")
    with destination:
        _copy(source, destination, document)
    if not keep:
        with source:
            _delete(source, document)
    source.close()
    destination.close()


def _copy(source: apsw.Connection, destination: apsw.Connection, document: int) -> None:
    nodes = [
        row[0] for row in source.execute("SELECT id FROM nodes WHERE document = ?", (document,))
    ]
    space = source.execute("SELECT space FROM documents WHERE id = ?", (document,)).get
    name = source.execute("SELECT name FROM spaces WHERE number = ?", (space,)).get
    destination.execute("INSERT OR IGNORE INTO spaces (number, name) VALUES (?, ?)", (space, name))
    _copy_rows(source, destination, "documents", "id", document)
    for table in ("versions", "nodes", "edges", "aliases"):
        _copy_rows(source, destination, table, "document", document)
    for node in nodes:
        terms = source.execute("SELECT DISTINCT term FROM temp.places WHERE doc = ?", (node,))
        destination.execute(
            "INSERT INTO words (rowid, terms) VALUES (?, ?)", (node, " ".join(t for (t,) in terms))
        )
        for _, _, number, *rest in source.execute("SELECT * FROM vectors WHERE node = ?", (node,)):
            identity, dim = source.execute(
                "SELECT identity, dim FROM embedders WHERE number = ?", (number,)
            ).get
            destination.execute(
                "INSERT OR IGNORE INTO embedders (identity, dim) VALUES (?, ?)", (identity, dim)
            )
            destination.execute(
                "INSERT INTO vectors (node, embedder, space, script, digest, row) VALUES "
                "(?, (SELECT number FROM embedders WHERE identity = ?), ?, ?, ?, ?)",
                (node, identity, *rest),
            )
    _count(source, destination, document, space, 1)


def _copy_rows(
    source: apsw.Connection, destination: apsw.Connection, table: str, column: str, value: int
) -> None:
    for row in source.execute(f"SELECT * FROM {table} WHERE {column} = ?", (value,)):
        marks = ", ".join("?" * len(row))
        destination.execute(f"INSERT INTO {table} VALUES ({marks})", row)


def _count(
    source: apsw.Connection, target: apsw.Connection, document: int, space: int, sign: int
) -> None:
    nodes, length = source.execute(
        "SELECT count(*), sum(length) FROM nodes WHERE document = ?", (document,)
    ).get
    target.execute(
        "UPDATE spaces SET nodes = nodes + ?, length = length + ? WHERE number = ?",
        (sign * nodes, sign * length, space),
    )


def _delete(source: apsw.Connection, document: int) -> None:
    space = source.execute("SELECT space FROM documents WHERE id = ?", (document,)).get
    _count(source, source, document, space, -1)
    nodes = source.execute("SELECT id FROM nodes WHERE document = ?", (document,)).fetchall()
    for node in nodes:
        source.execute("DELETE FROM words WHERE rowid = ?", node)
        source.execute("DELETE FROM vectors WHERE node = ?", node)
    for table in ("nodes", "edges", "aliases"):
        source.execute(f"DELETE FROM {table} WHERE document = ?", (document,))
    source.execute("DELETE FROM documents WHERE id = ?", (document,))
