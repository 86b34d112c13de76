"""What lies in a tier file, how an older file becomes a current one, and how three are read as one.

The three files share one schema. A few tables are used in the hot file alone (`meta` apart from
the generation, `counters`, `tombstones`, `removals`, the recall log, what dreams did); having them
empty in the others costs a page each and saves a second schema.
"""

from __future__ import annotations

import secrets
from pathlib import Path

import apsw

from ringwood.errors import SchemaError, StrangerError

APPLICATION_ID = 0x52494E47
"""`RING`: tells a file of ours from any other SQLite database."""

_FIRST = """
PRAGMA application_id = 1380535879;

-- Small settings. The hot file's also hold those of the home; `generation` of any file changes
-- when the numpy copy of its vectors cannot be brought up to date from the tables.
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO meta VALUES ('generation', '0');

-- The next free id. In hot only, since ids are unique over all tiers.
CREATE TABLE counters (name TEXT PRIMARY KEY, next INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO counters VALUES ('document', 1), ('node', 1), ('space', 1);

-- A space is a number everywhere below. Hot assigns it; the other files keep the pairs of their
-- own documents, so that they can be read without hot.
CREATE TABLE spaces (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    key TEXT UNIQUE,
    nodes INTEGER NOT NULL DEFAULT 0,   -- of this file: N of BM25
    length INTEGER NOT NULL DEFAULT 0   -- of this file, summed over nodes: avglen is length / N
);

CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    space INTEGER NOT NULL REFERENCES spaces,
    source TEXT,
    path TEXT NOT NULL,
    title TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    actor TEXT NOT NULL,
    importance REAL NOT NULL,
    created_at INTEGER NOT NULL,        -- microseconds since 1970, UTC, like all stamps
    stored_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    state TEXT NOT NULL,
    error TEXT,
    seen INTEGER NOT NULL,
    mirrored_sha256 TEXT,               -- the text that the Markdown mirror holds
    mirrored_path TEXT,
    text TEXT NOT NULL                  -- last: reading a card never touches its pages
);
CREATE UNIQUE INDEX documents_by_source ON documents (space, source) WHERE source IS NOT NULL;
CREATE INDEX documents_by_hash ON documents (space, sha256);
CREATE INDEX documents_by_path ON documents (space, path);
CREATE INDEX documents_by_age ON documents (space, created_at);
CREATE INDEX documents_waiting ON documents (state DESC, stored_at) WHERE state <> 'ready';
CREATE INDEX documents_unmirrored ON documents (id) WHERE mirrored_sha256 IS NOT sha256;

CREATE TABLE versions (
    document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    until INTEGER NOT NULL,             -- when the next text took its place
    sha256 TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE INDEX versions_by_document ON versions (document, until);

CREATE TABLE nodes (
    id INTEGER PRIMARY KEY,
    document INTEGER NOT NULL REFERENCES documents,
    space INTEGER NOT NULL,
    parent INTEGER,
    position INTEGER NOT NULL,
    kind TEXT NOT NULL,
    title TEXT NOT NULL,
    path TEXT NOT NULL,
    span_start INTEGER NOT NULL,
    span_end INTEGER NOT NULL,
    own_start INTEGER NOT NULL,
    own_end INTEGER NOT NULL,
    script TEXT NOT NULL,
    length INTEGER NOT NULL,
    access INTEGER NOT NULL,
    text TEXT                           -- NULL: exactly the document's text over `own`
);
CREATE INDEX nodes_by_document ON nodes (document, position);
CREATE INDEX nodes_by_parent ON nodes (parent, position);
CREATE UNIQUE INDEX nodes_by_path ON nodes (space, path);
CREATE INDEX nodes_by_age ON nodes (space, id) WHERE length > 0;
-- All that ranking by words needs of a node, packed densely.
CREATE INDEX nodes_by_length ON nodes (id, document, length);

-- The posting store: rowid is the node, a token is `<space number>:<term>`. It keeps neither
-- content nor positions, and ranks nothing: BM25 is ours.
CREATE VIRTUAL TABLE words USING fts5(
    terms, content='', contentless_delete=1, detail=none,
    tokenize="ascii tokenchars '!""#$%&''()*+,-./:;<=>?@[\\]^_`{|}~'"
);
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, 'row');

CREATE TABLE embedders (
    number INTEGER PRIMARY KEY,
    identity TEXT NOT NULL UNIQUE,
    dim INTEGER NOT NULL
);

-- Ids are never used twice, and within a file they grow with each commit: a copy in memory
-- follows by reading `id > last` here and in `vectors_gone`. The index by digest makes the table
-- its own embedding cache.
CREATE TABLE vectors (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    node INTEGER NOT NULL,
    embedder INTEGER NOT NULL REFERENCES embedders,
    space INTEGER NOT NULL,
    script TEXT NOT NULL,
    digest BLOB NOT NULL,               -- of the text that was embedded
    row BLOB NOT NULL                   -- int8[d]; a direction, its length means nothing
);
CREATE UNIQUE INDEX vectors_by_node ON vectors (node, embedder);
CREATE INDEX vectors_by_digest ON vectors (embedder, digest);
CREATE TABLE vectors_gone (id INTEGER PRIMARY KEY AUTOINCREMENT, vector INTEGER NOT NULL);
CREATE TRIGGER vectors_follow AFTER DELETE ON vectors
BEGIN INSERT INTO vectors_gone (vector) VALUES (old.id); END;

-- An edge lies with the document that was linked when it was written: the newer one.
CREATE TABLE edges (
    source INTEGER NOT NULL,
    target INTEGER NOT NULL,
    kind TEXT NOT NULL,
    weight REAL NOT NULL,
    document INTEGER NOT NULL,
    PRIMARY KEY (source, target, kind)
) WITHOUT ROWID;
CREATE INDEX edges_by_target ON edges (target);
CREATE INDEX edges_by_document ON edges (document);

-- Where a node was addressed before it was renamed, moved or removed.
CREATE TABLE aliases (
    space INTEGER NOT NULL,
    path TEXT NOT NULL,
    node INTEGER NOT NULL,
    document INTEGER NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (space, path)
) WITHOUT ROWID;
CREATE INDEX aliases_by_document ON aliases (document);

CREATE TABLE tombstones (
    space TEXT NOT NULL,
    hash TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (space, hash)
) WITHOUT ROWID;

CREATE TABLE recalls (
    number INTEGER PRIMARY KEY,
    recall_id TEXT NOT NULL UNIQUE,
    at INTEGER NOT NULL,
    payload BLOB NOT NULL
);
CREATE TABLE recalled (
    document INTEGER NOT NULL,
    recall INTEGER NOT NULL REFERENCES recalls ON DELETE CASCADE,
    PRIMARY KEY (document, recall)
) WITHOUT ROWID;
CREATE INDEX recalled_by_recall ON recalled (recall);

PRAGMA user_version = 1;
"""

_ACTORS = """
ALTER TABLE nodes ADD COLUMN actor TEXT;  -- who said it, in an exchange; NULL: the document's

PRAGMA user_version = 2;
"""

_MEANS = """
-- What the vectors of one script in a space have in common. In hot only.
CREATE TABLE means (
    space INTEGER NOT NULL REFERENCES spaces,
    embedder TEXT NOT NULL,             -- its identity
    script TEXT NOT NULL,
    nodes INTEGER NOT NULL,             -- how many it was taken over
    row BLOB NOT NULL,                  -- float32[d]
    PRIMARY KEY (space, embedder, script)
) WITHOUT ROWID;

PRAGMA user_version = 3;
"""

_VERSION_NODES = """
ALTER TABLE versions ADD COLUMN nodes BLOB;  -- of that text, packed; NULL: not known

PRAGMA user_version = 4;
"""

_BACKGROUNDS = """
-- Where cosines of unrelated nodes of that script lie, once both lost the mean. NULL: not measured.
ALTER TABLE means ADD COLUMN median REAL;
ALTER TABLE means ADD COLUMN p999 REAL;

PRAGMA user_version = 5;
"""

_DREAMS = """
-- What dreams did, so that it can be undone. All of it in hot only. Nothing here refers to a
-- document by a foreign key: a step outlives the document that it took away.
CREATE TABLE dreams (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    begun_at INTEGER NOT NULL,
    finished_at INTEGER                 -- NULL: it was cut short, or is under way
);
CREATE TABLE dream_steps (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    dream INTEGER NOT NULL REFERENCES dreams ON DELETE CASCADE,
    kind TEXT NOT NULL,                 -- `merge`, or `relink`: of a whole space
    space INTEGER NOT NULL,
    document INTEGER,                   -- of a merge: the one that went
    survivor INTEGER,                   -- of a merge: the one that stayed
    open INTEGER NOT NULL,              -- 1: its mirror file and links in colder tiers are to go
    payload BLOB NOT NULL               -- the rows before, packed
);
CREATE INDEX dream_steps_by_dream ON dream_steps (dream);
CREATE INDEX dream_steps_by_document ON dream_steps (document);
CREATE INDEX dream_steps_by_survivor ON dream_steps (survivor);

-- Documents that went into another one: their source keys and texts lead there.
CREATE TABLE merged (
    document INTEGER PRIMARY KEY,
    space INTEGER NOT NULL,
    source TEXT,
    sha256 TEXT NOT NULL,               -- of its text
    hash TEXT NOT NULL,                 -- of the same, as a tombstone would hold it
    survivor INTEGER NOT NULL,
    survivor_sha256 TEXT NOT NULL       -- of the survivor's text, with which it was one
);
CREATE INDEX merged_by_source ON merged (space, source) WHERE source IS NOT NULL;
CREATE INDEX merged_by_hash ON merged (space, sha256);
CREATE INDEX merged_by_survivor ON merged (survivor);

-- Keys of texts whose merge was undone: they are not merged again.
CREATE TABLE apart (
    space INTEGER NOT NULL,
    key TEXT NOT NULL,
    PRIMARY KEY (space, key)
) WITHOUT ROWID;

PRAGMA user_version = 6;
"""

_ATTEMPTS = """
-- What failed, and when it may be tried again. In hot only.
CREATE TABLE attempts (
    work TEXT NOT NULL,                 -- `embed`, `mirror`, `exchange`, a job's or worker's name
    item TEXT NOT NULL,                 -- a document's id, a digest; '' where there is only one
    at INTEGER NOT NULL,                -- when it was last begun
    next_at INTEGER NOT NULL,
    failures INTEGER NOT NULL,          -- in a row
    under_way INTEGER NOT NULL,         -- 1: begun, and nothing is known of its end
    error TEXT,
    PRIMARY KEY (work, item)
) WITHOUT ROWID;

PRAGMA user_version = 7;
"""

_IDENTITY = """
-- Which file this is, at random, in two places. The log holds the second wherever a text was stored
-- in hot, and never the first: where they differ, the log beside the file is that of another.
CREATE TABLE identity (file INTEGER NOT NULL);
INSERT INTO identity VALUES (abs(random() % 1000000000000));
INSERT INTO counters SELECT 'file', file FROM identity;

PRAGMA user_version = 8;
"""

_REMOVALS = """
-- Documents that were forgotten while a tier was away, where they may have a copy. In hot only.
CREATE TABLE removals (
    tier TEXT NOT NULL,
    document INTEGER NOT NULL,
    PRIMARY KEY (tier, document)
) WITHOUT ROWID;

PRAGMA user_version = 9;
"""

_MARK = """
-- Which file this is stands on the first page from here on (see `MARKED`), and in two rows no more:
-- of these a log of a colder tier held none, and one of a file that was written anew held both.
DROP TABLE identity;
DELETE FROM counters WHERE name = 'file';

PRAGMA user_version = 10;
"""

MIGRATIONS: tuple[str, ...] = (
    _FIRST,
    _ACTORS,
    _MEANS,
    _VERSION_NODES,
    _BACKGROUNDS,
    _DREAMS,
    _ATTEMPTS,
    _IDENTITY,
    _REMOVALS,
    _MARK,
)
"""Append only. The n-th takes a file from version n - 1 to n, and sets `user_version` itself."""

MARKED = MIGRATIONS.index(_MARK) + 1
"""The version from which on a file has a mark of its own: SQLite's count of schema changes, which
begins at random. What changes a schema or writes a file anew adds a few to it, and no more."""

VIEWS = """
-- The hottest copy of a document wins, as a whole: its nodes and what hangs on them with it.
CREATE TEMP VIEW all_documents AS
SELECT 'hot' AS tier, s.name AS space_name, d.*
FROM main.documents d JOIN main.spaces s ON s.number = d.space
UNION ALL
SELECT 'warm', s.name, d.* FROM warm.documents d JOIN warm.spaces s ON s.number = d.space
WHERE NOT EXISTS (SELECT 1 FROM main.documents h WHERE h.id = d.id)
UNION ALL
SELECT 'cold', s.name, d.* FROM cold.documents d JOIN cold.spaces s ON s.number = d.space
WHERE NOT EXISTS (SELECT 1 FROM main.documents h WHERE h.id = d.id)
AND NOT EXISTS (SELECT 1 FROM warm.documents w WHERE w.id = d.id);

CREATE TEMP VIEW all_nodes AS
SELECT 'hot' AS tier, n.* FROM main.nodes n
UNION ALL
SELECT 'warm', n.* FROM warm.nodes n
WHERE NOT EXISTS (SELECT 1 FROM main.documents h WHERE h.id = n.document)
UNION ALL
SELECT 'cold', n.* FROM cold.nodes n
WHERE NOT EXISTS (SELECT 1 FROM main.documents h WHERE h.id = n.document)
AND NOT EXISTS (SELECT 1 FROM warm.documents w WHERE w.id = n.document);

CREATE TEMP VIEW all_versions AS
SELECT * FROM main.versions
UNION ALL SELECT * FROM warm.versions
UNION ALL SELECT * FROM cold.versions;

CREATE TEMP VIEW all_vectors AS
SELECT e.identity, n.document, v.*
FROM main.vectors v JOIN main.embedders e ON e.number = v.embedder
JOIN main.nodes n ON n.id = v.node
UNION ALL
SELECT e.identity, n.document, v.*
FROM warm.vectors v JOIN warm.embedders e ON e.number = v.embedder
JOIN warm.nodes n ON n.id = v.node
WHERE NOT EXISTS (SELECT 1 FROM main.documents h WHERE h.id = n.document)
UNION ALL
SELECT e.identity, n.document, v.*
FROM cold.vectors v JOIN cold.embedders e ON e.number = v.embedder
JOIN cold.nodes n ON n.id = v.node
WHERE NOT EXISTS (SELECT 1 FROM main.documents h WHERE h.id = n.document)
AND NOT EXISTS (SELECT 1 FROM warm.documents w WHERE w.id = n.document);

CREATE TEMP VIEW all_edges AS
SELECT * FROM main.edges
UNION ALL
SELECT e.* FROM warm.edges e
WHERE NOT EXISTS (SELECT 1 FROM main.documents h WHERE h.id = e.document)
UNION ALL
SELECT e.* FROM cold.edges e
WHERE NOT EXISTS (SELECT 1 FROM main.documents h WHERE h.id = e.document)
AND NOT EXISTS (SELECT 1 FROM warm.documents w WHERE w.id = e.document);

CREATE TEMP VIEW all_aliases AS
SELECT * FROM main.aliases
UNION ALL SELECT * FROM warm.aliases
UNION ALL SELECT * FROM cold.aliases;
"""
"""Three attached files as one. Every query over tiers is a constant string over these."""

_HAS_TABLES = "SELECT EXISTS (SELECT 1 FROM sqlite_schema)"


def version_of(connection: apsw.Connection, path: Path) -> int:
    """Read a file's schema version; 0 for an empty file. Writes nothing.

    Raises:
        SchemaError: when a newer Ringwood wrote the file.
        StrangerError: when another program did.
    """
    version = int(connection.pragma("user_version"))
    if connection.pragma("application_id") == APPLICATION_ID:
        if version > len(MIGRATIONS):
            raise SchemaError(
                f"{path} was written by a newer Ringwood (schema {version}, this one knows "
                f"{len(MIGRATIONS)}); nothing was changed",
                mend="upgrade Ringwood: `uv tool upgrade ringwood` or `pip install -U ringwood`",
            )
        return version
    if connection.execute(_HAS_TABLES).get:
        raise StrangerError(
            f"{path} is a database of another program",
            mend="choose another directory with --home or RINGWOOD_HOME",
        )
    return 0


def migrate(connection: apsw.Connection, version: int) -> None:
    """Bring a file from `version` to the current schema, one transaction a step."""
    for script in MIGRATIONS[version:]:
        with connection:
            connection.execute(script)
            if script is _MARK:
                set_mark(connection)


def set_mark(connection: apsw.Connection) -> None:
    """Give a file a mark that no other has: it is a new one, or was made as the copy of one."""
    connection.pragma("schema_version", 1 + secrets.randbelow(2**30))
