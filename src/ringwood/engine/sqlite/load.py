"""Rows of a dump written into new tier files that nobody has open: behind `engine/transfer.py`.

A load that is cut short leaves files to throw away, so that it needs neither log nor syncs until
its end.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import apsw

from ringwood.batches import in_batches
from ringwood.engine.sqlite.connection import create_database, full_disk_told, translated
from ringwood.engine.sqlite.rows import id_array
from ringwood.engine.sqlite.versions import pack
from ringwood.engine.sqlite.words import content_of
from ringwood.engine.transfer import COLUMNS, OF_THE_HOME, Row, Values, WholeDocument
from ringwood.types import TIERS, Tier

FILES: Mapping[Tier, str] = {
    "hot": "memory.db",
    "warm": "memory-warm.db",
    "cold": "memory-cold.db",
}
"""How the tier files are called where nothing else is set."""

_BATCH = 200
"""Documents in one transaction: the word index then writes segments of a good size."""
_IDS = 10_000
"""Nodes that are looked for in another tier at a time."""

_QUICK = ("PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF", "PRAGMA cache_size = -16384")
_DURABLE = ("PRAGMA synchronous = FULL", "PRAGMA journal_mode = WAL")

_ADD: Mapping[str, str] = {
    "counter": "INSERT OR REPLACE INTO counters (name, next) VALUES (?, ?)",
    "setting": "INSERT INTO meta (key, value) VALUES ('home.' || ?, ?)",
    "space": "INSERT INTO spaces (number, name, key) VALUES (?, ?, ?)",
    "tombstone": "INSERT INTO tombstones VALUES (?, ?, ?)",
    "mean": "INSERT INTO means VALUES (?, ?, ?, ?, ?, ?, ?)",
    "dream": "INSERT INTO dreams VALUES (?, ?, ?)",
    "step": "INSERT INTO dream_steps VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    "merged": "INSERT INTO merged VALUES (?, ?, ?, ?, ?, ?, ?)",
    "apart": "INSERT INTO apart VALUES (?, ?)",
}
_NAMES_A_SPACE = ("mean", "step", "merged", "apart")  # a tombstone's is kept by name
_COUNTER = "SELECT next FROM counters WHERE name = ?"
_COUNT_SPACE = "UPDATE spaces SET nodes = ?, length = ? WHERE number = ?"

_ADD_DOCUMENT = """
INSERT INTO documents (id, space, source, path, title, sha256, actor, importance, created_at,
    stored_at, changed_at, state, error, seen, text)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_ADD_VERSION = """
INSERT INTO versions (document, until, sha256, text, nodes) VALUES (?, ?, ?, ?, ?)"""
_ADD_NODE = """
INSERT INTO nodes (id, document, space, parent, position, kind, title, path, span_start, span_end,
    own_start, own_end, script, length, access, actor, text)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_ADD_WORDS = "INSERT INTO words (rowid, terms) VALUES (?, ?)"
_ADD_EMBEDDER = "INSERT INTO embedders (identity, dim) VALUES (?, ?) RETURNING number"
_ADD_VECTOR = """
INSERT INTO vectors (node, embedder, space, script, digest, row) VALUES (?, ?, ?, ?, ?, ?)"""
_ADD_EDGE = """
INSERT INTO edges (source, target, kind, weight, document) VALUES (?, ?, ?, ?, ?)"""
_ADD_ALIAS = "INSERT INTO aliases (space, path, node, document, until) VALUES (?, ?, ?, ?, ?)"

_LARGEST = "SELECT (SELECT max(id) FROM documents), (SELECT max(id) FROM nodes)"
_NODES = "SELECT id FROM nodes"
_AMONG = "SELECT id FROM nodes WHERE id IN carray(?) LIMIT 1"


class _File:
    """One tier file, and what is numbered in it alone."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self.embedders: dict[str, tuple[int, int]] = {}
        """Number and dimension by identity."""
        self.counts: dict[int, list[int]] = {}
        """Nodes and their summed length by the number of their space."""


class SqliteLoader:
    """A `Loader`; see `engine/transfer.py`. Used by one thread."""

    def __init__(self, files: Mapping[Tier, _File]) -> None:
        self._files = files
        self._spaces: dict[str, int] = {}
        self._last = 0
        self._waiting = 0

    def put(self, row: Row) -> None:
        """Write a row of the home; see `Loader`."""
        query = self._files["hot"].connection.execute
        if row.kind not in OF_THE_HOME:
            raise ValueError(f"{row.kind} is none of {', '.join(OF_THE_HOME)}")
        values = dict(zip(COLUMNS[row.kind], row.values, strict=True))
        if row.kind == "space":
            self._spaces[values["name"]] = values["number"]
        elif row.kind in _NAMES_A_SPACE:
            values["space"] = self._space(values["space"])
        with _refused():
            query(_ADD[row.kind], tuple(values.values()))

    def put_document(self, whole: WholeDocument) -> None:
        """Write a document; see `Loader`."""
        document, tier, name, *card = whole.document
        if document <= self._last:
            raise ValueError(f"document {document} follows {self._last}: ids ascend")
        self._last = document
        file = self._files[tier]
        space = self._space(name)
        if space not in file.counts:
            file.counts[space] = [0, 0]
            if tier != "hot":
                file.connection.execute(_ADD["space"], (space, name, None))
        with _refused():
            file.connection.execute(_ADD_DOCUMENT, (document, space, *card))
            self._put_parts(file, document, space, whole)
        file.counts[space][0] += len(whole.nodes)
        file.counts[space][1] += sum(map(len, whole.terms.values()))
        self._waiting += 1
        if self._waiting == _BATCH:
            self._commit()

    def _put_parts(self, file: _File, document: int, space: int, whole: WholeDocument) -> None:
        put = file.connection.executemany
        put(_ADD_VERSION, [_version(document, version) for version in whole.versions])
        put(
            _ADD_NODE,
            [_node(document, space, place, node, whole) for place, node in enumerate(whole.nodes)],
        )
        put(_ADD_WORDS, [(node, content_of(space, terms)) for node, terms in whole.terms.items()])
        for node, identity, digest, row in whole.vectors:
            number = self._embedder(file, identity, len(row))
            vector = (node, number, space, whole.scripts[node], digest, row)
            file.connection.execute(_ADD_VECTOR, vector)
        put(_ADD_EDGE, [(*edge, document) for edge in whole.edges])
        put(
            _ADD_ALIAS,
            [(self._space(of), path, node, document, t) for of, path, node, t in whole.aliases],
        )

    def _space(self, name: str) -> int:
        if name not in self._spaces:
            raise ValueError(f"there is no space {name!r} above it")
        return self._spaces[name]

    def _embedder(self, file: _File, identity: str, dim: int) -> int:
        if identity not in file.embedders:
            number = file.connection.execute(_ADD_EMBEDDER, (identity, dim)).get
            file.embedders[identity] = (number, dim)
        number, held = file.embedders[identity]
        if held != dim:
            raise ValueError(
                f"a vector of {identity} has {dim} components where others have {held}"
            )
        return number

    def _commit(self) -> None:
        for file in self._files.values():
            file.connection.execute("COMMIT")
            file.connection.execute("BEGIN")
        self._waiting = 0

    def finish(self) -> None:
        """Check what only the whole shows, and make the files durable; see `Loader`."""
        self._check_ids()
        for file in self._files.values():
            counts = [(*held, space) for space, held in file.counts.items()]
            file.connection.executemany(_COUNT_SPACE, counts)
            file.connection.execute("COMMIT")
            for pragma in _DURABLE:
                file.connection.execute(pragma).fetchall()
            file.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _check_ids(self) -> None:
        """Refuse ids that will be given again, and a node that lies in two tiers."""
        hot = self._files["hot"].connection
        due = {name: hot.execute(_COUNTER, (name,)).get for name in ("document", "node", "space")}
        if max(self._spaces.values(), default=0) >= due["space"]:
            raise ValueError("the number of a space lies at or above its counter")
        for file in self._files.values():
            documents, nodes = file.connection.execute(_LARGEST).get
            if (documents or 0) >= due["document"] or (nodes or 0) >= due["node"]:
                raise ValueError("an id lies at or above its counter")
        for one, other in itertools.combinations(TIERS, 2):
            nodes = self._files[other].connection.execute(_NODES)
            for rows in in_batches(nodes, _IDS):
                array = apsw.carray(id_array(row[0] for row in rows))
                if self._files[one].connection.execute(_AMONG, (array,)).get is not None:
                    raise ValueError(f"a node lies in {one} and in {other}")


def _version(document: int, version: Values) -> Values:
    until, sha256, text, nodes = version
    return document, until, sha256, text, None if nodes is None else pack(nodes)


def _node(document: int, space: int, position: int, node: Values, whole: WholeDocument) -> Values:
    each = dict(zip(COLUMNS["node"], node, strict=True))
    return (
        each["id"],
        document,
        space,
        each["parent"],
        position,
        each["kind"],
        each["title"],
        each["path"],
        each["start"],
        each["end"],
        each["own_start"],
        each["own_end"],
        whole.scripts[each["id"]],
        len(whole.terms[each["id"]]),
        each["access"],
        each["actor"],
        each["text"],
    )


@contextmanager
def _refused() -> Iterator[None]:
    """Say of a row that its table does not take why."""
    try:
        yield
    except apsw.ConstraintError as error:
        raise ValueError(f"it claims what another row has ({error})") from error


@contextmanager
def open_loader(folder: Path) -> Iterator[SqliteLoader]:
    """Make tier files in a folder and fill them with rows.

    Raises:
        StorageError: when the disk refuses.
    """
    files: dict[Tier, _File] = {}
    try:
        with translated(folder), ExitStack() as told:
            for tier in TIERS:
                create_database(folder / FILES[tier])
                files[tier] = _File(apsw.Connection(str(folder / FILES[tier])))
                told.enter_context(full_disk_told(files[tier].connection))
                for pragma in _QUICK:
                    files[tier].connection.execute(pragma).fetchall()
                files[tier].connection.execute("BEGIN")
            yield SqliteLoader(files)
    finally:
        for file in files.values():
            with suppress(apsw.Error), closing(file.connection):
                if file.connection.in_transaction:
                    file.connection.execute("ROLLBACK")
