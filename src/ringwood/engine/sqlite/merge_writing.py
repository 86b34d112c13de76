"""Merges and the journal of dreams: what a transaction on the hot tier does about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import apsw

from ringwood.engine.merging import Links, Merge
from ringwood.engine.sqlite import journal
from ringwood.engine.sqlite.home_writing import HomeWriting
from ringwood.engine.sqlite.journal import DOCUMENT, MIRRORED, NODE, SOURCE, Card, HeldMerge
from ringwood.engine.sqlite.moves import remove_document
from ringwood.engine.sqlite.rows import Row, id_array, stamp_of
from ringwood.engine.sqlite.words import content_of

_BEGIN = "INSERT INTO dreams (begun_at) VALUES (?) RETURNING id"
_FINISH = "UPDATE dreams SET finished_at = ? WHERE id = ?"
_DROP_EMPTY = """
DELETE FROM dreams
WHERE NOT EXISTS (SELECT 1 FROM dream_steps s WHERE s.dream = dreams.id)"""
_PRUNE = """
DELETE FROM dreams WHERE id <= (SELECT id FROM dreams ORDER BY id DESC LIMIT 1 OFFSET ?)"""
_ADD_STEP = """
INSERT INTO dream_steps (dream, kind, space, document, survivor, open, payload)
VALUES (?, ?, ?, ?, ?, ?, ?)"""
_CLOSE_STEP = "UPDATE dream_steps SET open = 0 WHERE id = ?"
_DROP_STEP = "DELETE FROM dream_steps WHERE id = ?"
_DROP_STEPS_OF = """
DELETE FROM dream_steps WHERE document IN carray(?1) OR survivor IN carray(?1)"""
_PAYLOAD = "SELECT payload FROM dream_steps WHERE id = ? AND kind = ?"
_RELINK = "SELECT space, payload FROM dream_steps WHERE id = ? AND kind = 'relink'"

_DOCUMENT = f"SELECT {DOCUMENT} FROM documents WHERE id = ?"  # noqa: S608 - our own columns
_NODES = f"SELECT {NODE} FROM nodes WHERE document = ? ORDER BY position"  # noqa: S608 - as above
_VERSIONS = """
SELECT until, sha256, text, nodes FROM versions WHERE document = ? ORDER BY until, rowid"""
_VECTORS = """
SELECT e.identity, e.dim, v.node, v.script, v.digest, v.row
FROM vectors v JOIN embedders e ON e.number = v.embedder
WHERE v.node IN (SELECT id FROM nodes WHERE document = ?) ORDER BY v.id"""
_EDGES = "SELECT source, target, kind, weight FROM edges WHERE document = ?"
_ALIASES = "SELECT path, node, until FROM aliases WHERE document = ?"
_CARD = """
SELECT importance, created_at, stored_at, changed_at, seen FROM documents WHERE id = ?"""
_STANDS = "SELECT count(*) FROM documents WHERE id IN (?, ?)"
_SHA256 = "SELECT sha256 FROM documents WHERE id = ?"
_SPACE_NUMBER = "SELECT number FROM spaces WHERE name = ?"

# A page of the mirror tells of the stamps: it is to be written anew.
_SET_CARD = """
UPDATE documents SET importance = ?, created_at = ?, stored_at = ?, changed_at = ?, seen = ?,
    mirrored_sha256 = NULL WHERE id = ?"""
_ADD_ACCESS = "UPDATE nodes SET access = max(0, access + ?) WHERE id = ?"
_DROP_EDGE = "DELETE FROM edges WHERE source = ? AND target = ? AND kind = ?"
_ADD_EDGE = """
INSERT INTO edges (source, target, kind, weight, document) VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET weight = excluded.weight, document = excluded.document"""
_ADD_ALIAS = """
INSERT INTO aliases (space, path, node, document, until) VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET node = excluded.node, document = excluded.document,
    until = excluded.until"""
_DROP_ALIAS = "DELETE FROM aliases WHERE space = ? AND path = ?"
_ADD_MERGED = "INSERT OR REPLACE INTO merged VALUES (?, ?, ?, ?, ?, ?, ?)"
_DROP_MERGED = "DELETE FROM merged WHERE document = ?"
_INTO = "SELECT document FROM merged WHERE survivor = ? ORDER BY document"
_PASS_MERGED = "UPDATE merged SET survivor = ?, survivor_sha256 = ? WHERE survivor = ?"
_GIVE_MERGED = "UPDATE merged SET survivor = ?, survivor_sha256 = ? WHERE document = ?"
_FOLLOW = "UPDATE merged SET survivor_sha256 = ? WHERE survivor = ?"
_RELEASE = """
DELETE FROM merged WHERE space = (SELECT number FROM spaces WHERE name = ?) AND source = ?"""
_FORGET_MERGED = """
DELETE FROM merged WHERE document IN carray(?1) OR survivor IN carray(?1)"""
_ADD_APART = "INSERT OR IGNORE INTO apart VALUES (?, ?)"

_PUT_DOCUMENT = f"""
INSERT INTO documents ({DOCUMENT}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""  # noqa: S608 - our own columns
_PUT_NODE = f"""
INSERT INTO nodes ({NODE}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""  # noqa: S608 - our own columns
_PUT_VERSION = "INSERT INTO versions (document, until, sha256, text, nodes) VALUES (?, ?, ?, ?, ?)"
_PUT_WORDS = "INSERT INTO words (rowid, terms) VALUES (?, ?)"
_PUT_EMBEDDER = "INSERT OR IGNORE INTO embedders (identity, dim) VALUES (?, ?)"
_PUT_VECTOR = """
INSERT INTO vectors (node, embedder, space, script, digest, row)
SELECT ?, number, ?, ?, ?, ? FROM embedders WHERE identity = ?"""
_COUNT_NODES = "UPDATE spaces SET nodes = nodes + ?, length = length + ? WHERE number = ?"

_MEANS = """
SELECT script, nodes, row, median, p999 FROM means WHERE space = ? AND embedder = ?"""
_DROP_MEANS = "DELETE FROM means WHERE space = ? AND embedder = ?"
_PUT_MEAN = "INSERT INTO means VALUES (?, ?, ?, ?, ?, ?, ?)"

_NODE_ID, _NODE_PATH, _NODE_LENGTH, _NODE_ACCESS = 0, 7, 13, 14
"""Places in a row of `journal.NODE`."""


class MergeWriting(HomeWriting):
    """The statements, for a writer inside an open transaction; see `MergeWriter`."""

    def begin_dream(self, at: datetime) -> int:
        """Begin a run and return its id."""
        return int(self._hot.execute(_BEGIN, (stamp_of(at),)).get)

    def finish_dream(self, dream: int, at: datetime, *, keep: int) -> None:
        """End a run, leave out one that changed nothing, and keep the newest `keep` with it."""
        self._hot.execute(_FINISH, (stamp_of(at), dream))
        self._hot.execute(_DROP_EMPTY)
        self._hot.execute(_PRUNE, (max(0, keep),))

    def merge(self, dream: int, merge: Merge) -> None:
        """Let a document go into another one, and note how both were; see `MergeWriter`."""
        going, staying = merge.document.id, merge.survivor.id
        held = self._held(merge)
        remove_document(self._hot, going)
        self._hot.executemany(_DROP_EDGE, [row[:3] for row in held.touching])
        self._hot.execute(_SET_CARD, (*held.card_after, staying))
        counts = [
            (row[_NODE_ACCESS], merge.nodes[row[_NODE_ID]])
            for row in held.nodes
            if row[_NODE_ACCESS]
        ]
        self._hot.executemany(_ADD_ACCESS, counts)
        self._hot.executemany(
            _ADD_EDGE,
            [
                (e.edge.source, e.edge.target, e.edge.kind, e.edge.weight, e.document)
                for e in merge.passed_on
            ],
        )
        until = stamp_of(merge.at)
        former = [
            (held.space, path, merge.nodes.get(node, node), staying, left)
            for path, node, left in held.aliases
        ]
        now = [
            (held.space, row[_NODE_PATH], merge.nodes[row[_NODE_ID]], staying, until)
            for row in held.nodes
        ]
        self._hot.executemany(_ADD_ALIAS, [*former, *now])
        self._hot.execute(_PASS_MERGED, (staying, merge.survivor.sha256, going))
        told = (held.document[SOURCE], merge.document.sha256, merge.hash)
        row = (going, held.space, *told, staying, merge.survivor.sha256)
        self._hot.execute(_ADD_MERGED, row)
        packed = journal.pack_merge(held)
        self._hot.execute(_ADD_STEP, (dream, "merge", held.space, going, staying, 1, packed))

    def _held(self, merge: Merge) -> HeldMerge:
        """Read all that a merge takes away or changes, as it is now."""
        going, staying = merge.document.id, merge.survivor.id
        document = self._hot.execute(_DOCUMENT, (going,)).fetchone()
        if document is None:
            raise KeyError(going)
        before = self._card(staying)
        after = _joined(before, self._card(going))
        return HeldMerge(
            space=document[1],
            document=document,
            versions=self._hot.execute(_VERSIONS, (going,)).fetchall(),
            nodes=self._hot.execute(_NODES, (going,)).fetchall(),
            vectors=self._hot.execute(_VECTORS, (going,)).fetchall(),
            edges=self._hot.execute(_EDGES, (going,)).fetchall(),
            touching=[
                (e.edge.source, e.edge.target, e.edge.kind, e.edge.weight, e.document)
                for e in merge.touching
            ],
            aliases=self._hot.execute(_ALIASES, (going,)).fetchall(),
            survivor=staying,
            leads_to=sorted(merge.nodes.items()),
            card_before=before,
            card_after=after,
            passed_on=[(e.edge.source, e.edge.target, e.edge.kind) for e in merge.passed_on],
            texts=sorted(merge.texts.items()),
            merged=[row[0] for row in self._hot.execute(_INTO, (going,))],
            key=merge.key,
            tiers=merge.tiers,
        )

    def _card(self, document: int) -> Card:
        row: Card | None = self._hot.execute(_CARD, (document,)).fetchone()
        if row is None:
            raise KeyError(document)
        return row

    def unmerge(self, step: int, terms: Mapping[int, Sequence[str]]) -> bool:
        """Put a merged document back; see `MergeWriter`."""
        payload = self._hot.execute(_PAYLOAD, (step, "merge")).get
        if payload is None:
            return False
        held = journal.unpack_merge(bytes(payload))
        sha256 = self._hot.execute(_SHA256, (held.survivor,)).get
        if sha256 is None:
            return False
        try:
            with self._hot:  # a savepoint: one that has no place any more holds up no other
                self._take_from_survivor(held)
                self._put_back(held, terms)
        except apsw.ConstraintError:
            return False
        going = held.document[0]
        digest = held.document[5]
        self._hot.executemany(_GIVE_MERGED, [(going, digest, each) for each in held.merged])
        self._hot.execute(_DROP_MERGED, (going,))
        self._hot.execute(_ADD_APART, (held.space, held.key))
        return True

    def _take_from_survivor(self, held: HeldMerge) -> None:
        """Undo what the survivor was given, as far as nobody changed it since."""
        now = self._card(held.survivor)
        self._hot.execute(_SET_CARD, (*_parted(now, held), held.survivor))
        leads_to = dict(held.leads_to)
        counts = [(-row[_NODE_ACCESS], leads_to[row[_NODE_ID]]) for row in held.nodes]
        self._hot.executemany(_ADD_ACCESS, [each for each in counts if each[0]])
        self._hot.executemany(_DROP_EDGE, held.passed_on)
        paths = [*(row[0] for row in held.aliases), *(row[_NODE_PATH] for row in held.nodes)]
        self._hot.executemany(_DROP_ALIAS, [(held.space, path) for path in paths])

    def _put_back(self, held: HeldMerge, terms: Mapping[int, Sequence[str]]) -> None:
        going = held.document[0]
        # Its file in the mirror is gone: it is to be written anew.
        document = (*held.document[: MIRRORED - 1], None, None, *held.document[MIRRORED + 1 :])
        nodes = [_measured(row, terms) for row in held.nodes]
        self._hot.execute(_PUT_DOCUMENT, document)
        self._hot.executemany(_PUT_NODE, nodes)
        length = sum(row[_NODE_LENGTH] for row in nodes)
        self._hot.execute(_COUNT_NODES, (len(nodes), length, held.space))
        self._hot.executemany(
            _PUT_WORDS, [(i, content_of(held.space, found)) for i, found in terms.items()]
        )
        self._hot.executemany(_PUT_VERSION, [(going, *row) for row in held.versions])
        self._hot.executemany(_PUT_EMBEDDER, {tuple(row[:2]) for row in held.vectors})
        self._hot.executemany(
            _PUT_VECTOR,
            [
                (node, held.space, script, digest, row, identity)
                for identity, _, node, script, digest, row in held.vectors
            ],
        )
        self._hot.executemany(
            _ADD_ALIAS,
            [(held.space, path, node, going, until) for path, node, until in held.aliases],
        )

    def close_steps(self, steps: Iterable[int]) -> None:
        """Note that there is nothing left to do for these."""
        self._hot.executemany(_CLOSE_STEP, [(step,) for step in steps])

    def drop_steps(self, steps: Iterable[int]) -> None:
        """Delete entries of the journal, and runs that have none any more."""
        self._hot.executemany(_DROP_STEP, [(step,) for step in steps])
        self._hot.execute(_DROP_EMPTY)

    def note_links(self, dream: int, space: str, links: Links) -> None:
        """Note what of a space's links is to change, and its means as they are."""
        number = self._hot.execute(_SPACE_NUMBER, (space,)).get
        means: list[Row] = self._hot.execute(_MEANS, (number, links.embedder)).fetchall()
        packed = journal.pack_links(links, means)
        self._hot.execute(_ADD_STEP, (dream, "relink", number, None, None, 0, packed))

    def restore_means(self, step: int) -> None:
        """Put the means of a space back as a relinking found them."""
        row = self._hot.execute(_RELINK, (step,)).fetchone()
        if row is None:
            return
        number, payload = row
        held = journal.unpack_links(bytes(payload))
        embedder = held.links.embedder
        self._hot.execute(_DROP_MEANS, (number, embedder))
        self._hot.executemany(_PUT_MEAN, [(number, embedder, *mean) for mean in held.means])

    def release(self, space: str, source: str) -> None:
        """Let a source key lead to no survivor any more: it has a document of its own."""
        self._hot.execute(_RELEASE, (space, source))

    def follow(self, survivor: int, sha256: str) -> None:
        """Note that a survivor whose text was cut still stands for what went into it."""
        self._hot.execute(_FOLLOW, (sha256, survivor))

    def forget_merged(self, documents: Iterable[int]) -> None:
        """Delete all that tells of merges into these documents or of them."""
        ids = id_array(documents)
        if len(ids):
            self._hot.execute(_DROP_STEPS_OF, (apsw.carray(ids),))
            self._hot.execute(_FORGET_MERGED, (apsw.carray(ids),))
            self._hot.execute(_DROP_EMPTY)


def _joined(stays: Card, goes: Card) -> Card:
    """Give the survivor's card what the other one had more."""
    return (
        max(stays[0], goes[0]),
        min(stays[1], goes[1]),
        min(stays[2], goes[2]),
        max(stays[3], goes[3]),
        stays[4] + goes[4],
    )


def _parted(now: Card, held: HeldMerge) -> Card:
    """Give the survivor's card back what it was; what was changed since the merge stays."""
    was, became = held.card_before, held.card_after
    kept = [old if here == new else here for here, old, new in zip(now, was, became, strict=True)]
    seen = max(1, now[4] - (became[4] - was[4]))
    return (kept[0], int(kept[1]), int(kept[2]), int(kept[3]), seen)


def _measured(row: Row, terms: Mapping[int, Sequence[str]]) -> Row:
    """Set a node's length by the terms that it is indexed under from now on."""
    length = len(terms[row[_NODE_ID]])
    return (*row[:_NODE_LENGTH], length, *row[_NODE_LENGTH + 1 :])
