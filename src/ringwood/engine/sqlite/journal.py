"""Entries of the journal of dreams at rest: the rows before, packed into one value.

They are read as a whole when a dream is undone, and never searched.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ringwood.engine.merging import Gone, Links, OwnedEdge
from ringwood.engine.sqlite.rows import Row, RowError, node_of
from ringwood.types import Edge, Tier

PATH, TEXT, SOURCE, MIRRORED = 3, 16, 2, 15
"""Places in the row of a document, whose columns are `DOCUMENT`."""
DOCUMENT = """id, space, source, path, title, sha256, actor, importance, created_at, stored_at,
    changed_at, state, error, seen, mirrored_sha256, mirrored_path, text"""
NODE = """id, document, space, parent, position, kind, title, path, span_start, span_end,
    own_start, own_end, script, length, access, actor, text"""

Card = tuple[float, int, int, int, int]
"""What a merge changes of the survivor: importance, created_at, stored_at, changed_at, seen."""


@dataclass(frozen=True, slots=True)
class HeldMerge:
    """A merge as it lies in the journal. Rows are those of the tables."""

    space: int
    """The number of the space."""
    document: Row
    """Of the one that went; columns as `DOCUMENT`."""
    versions: list[Row]
    """until, sha256, text, nodes."""
    nodes: list[Row]
    """Columns as `NODE`."""
    vectors: list[Row]
    """identity, dim, node, script, digest, row."""
    edges: list[Row]
    """source, target, kind, weight: those that lay with it."""
    touching: list[Row]
    """source, target, kind, weight, document: those of others."""
    aliases: list[Row]
    """path, node, until: where its nodes were addressed before."""
    survivor: int
    """The one that stayed."""
    leads_to: list[tuple[int, int]]
    """Node that went, node that stays."""
    card_before: Card
    """Of the survivor."""
    card_after: Card
    """The same with the other merged in."""
    passed_on: list[tuple[int, int, str]]
    """Edges that the survivor got."""
    texts: list[tuple[int, str]]
    """Document and digest of its text, of all that edges here lead to."""
    merged: list[int]
    """Documents that had gone into the one that went."""
    key: str
    """What the two had in common."""
    tiers: tuple[Tier, Tier]
    """Where the two lay."""


@dataclass(frozen=True, slots=True)
class HeldLinks:
    """A relinking as it lies in the journal."""

    links: Links
    """What changed."""
    means: list[Row]
    """script, nodes, row, median, p999: the space's means before."""


def pack_merge(held: HeldMerge) -> bytes:
    """Pack a merge."""
    return zlib.compress(_json(asdict(held)))


def unpack_merge(packed: bytes) -> HeldMerge:
    """Read a merge back. Raises RowError when it is none."""
    fields = json.loads(_unzipped(packed), object_hook=_bytes)
    fields["leads_to"] = [(one, other) for one, other in fields["leads_to"]]
    fields["texts"] = [(document, digest) for document, digest in fields["texts"]]
    fields["passed_on"] = [tuple(each) for each in fields["passed_on"]]
    for name in ("document", "card_before", "card_after", "tiers"):
        fields[name] = tuple(fields[name])
    return HeldMerge(**fields)


def gone_of(held: HeldMerge, space: str) -> Gone:
    """Say in the engine's words what a merge took away."""
    identity, text = held.document[0], held.document[TEXT]
    # `node_of` reads a row without the column of the space.
    nodes = (node_of((*row[:2], *row[3:]), {identity: text}) for row in held.nodes)
    vectors = Counter(row[0] for row in held.vectors)
    return Gone(
        space=space,
        source=held.document[SOURCE],
        path=held.document[PATH],
        text=text,
        nodes=tuple(nodes),
        leads_to=dict(held.leads_to),
        edges=(
            *(OwnedEdge(Edge(*row), identity) for row in held.edges),
            *(OwnedEdge(Edge(*row[:4]), row[4]) for row in held.touching),
        ),
        texts=dict(held.texts),
        tiers=held.tiers,
        mirrored=held.document[MIRRORED],
        embedded=frozenset(each for each, n in vectors.items() if n == len(held.nodes)),
    )


def pack_links(links: Links, means: Iterable[Row]) -> bytes:
    """Pack a relinking: its edges as columns of numbers, some six bytes each."""
    before = [(*_ends(each.edge), each.document) for each in links.before]
    head = {
        "embedder": links.embedder,
        "mark": links.mark,
        "means": [tuple(row) for row in means],
        "kinds": [each.edge.kind for each in links.before],
        "weights": [each.edge.weight for each in links.before],
        "texts": sorted(links.texts.items()),
    }
    # Of ascending numbers the differences are small, and small numbers pack well.
    added = sorted(_ends(edge) for edge in links.added)
    columns = np.array([*before, *((*ends, 0) for ends in added)], np.int64).reshape(-1, 3).T
    told = _json(head)
    steps = np.diff(columns, axis=1, prepend=0).astype("<i8").tobytes()
    return zlib.compress(len(told).to_bytes(8, "little") + told + steps)


def unpack_links(packed: bytes) -> HeldLinks:
    """Read a relinking back; edges that were added have no kind and no weight any more.

    Raises:
        RowError: when it is none.
    """
    data = _unzipped(packed)
    end = 8 + int.from_bytes(data[:8], "little")
    head: dict[str, Any] = json.loads(data[8:end], object_hook=_bytes)
    steps = np.frombuffer(data[end:], "<i8").reshape(3, -1)
    rows = np.cumsum(steps, axis=1).T.tolist()
    before = [
        OwnedEdge(Edge(source, target, kind, weight), document)
        for (source, target, document), kind, weight in zip(
            rows, head["kinds"], head["weights"], strict=False
        )
    ]
    added = tuple(Edge(source, target, "similar", 0.0) for source, target, _ in rows[len(before) :])
    links = Links(head["embedder"], head["mark"], tuple(before), added, dict(head["texts"]))
    return HeldLinks(links, [tuple(row) for row in head["means"]])


def _unzipped(packed: bytes) -> bytes:
    """Take an entry out of its packing, whose checksum finds what a bit did to it."""
    try:
        return zlib.decompress(packed)
    except (zlib.error, TypeError) as error:
        raise RowError("an entry of the journal of dreams cannot be unpacked") from error


def _ends(edge: Edge) -> tuple[int, int]:
    return edge.source, edge.target


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, default=_text, separators=(",", ":")).encode()


def _text(value: bytes) -> dict[str, str]:
    """Write bytes as JSON can hold them."""
    return {"bytes": b64encode(value).decode()}


def _bytes(value: dict[str, Any]) -> object:
    """Read bytes back; no other object that is packed has this one key."""
    return b64decode(value["bytes"]) if value.keys() == {"bytes"} else value
