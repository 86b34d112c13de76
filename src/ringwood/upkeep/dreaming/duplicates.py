"""Find the documents of a space that say the same, and say which of them stays.

    cards -> kinds that may be one -> equal keys -> similar enough -> who stays -> node by node

Precision comes first: a merge that was wrong hides what somebody meant, one that was missed costs a
line in a recall.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ringwood.embed.meaning import Meaning
from ringwood.engine.base import FloatVector, Reader
from ringwood.types import Document, Node
from ringwood.upkeep.dreaming.sameness import Key, exact_key, near_key, title_key

PINNED = 0.9
"""Importance from which on a document stays, however young: no model may set as much."""
LONG_CHARS = 200
"""A text of so many characters says of itself what it is about. A shorter one in another folder,
`/staging/port` and `/production/port`, says something else with the same words."""
SIMILAR = 0.88
"""Calibrated similarity of near-duplicates: that of diversity, which drops one of two such hits."""


@dataclass(frozen=True, slots=True)
class Twin:
    """A document that another one of its space stands for."""

    document: Document
    """The one that goes."""
    survivor: Document
    """The one that stays."""
    exact: bool
    """Whether they differ in nothing but width, blanks, plain case and marks at the end."""
    similarity: float | None
    """Calibrated, 0..1; None where it is exact, or where there are no vectors."""
    key: str
    """What they have in common."""


@dataclass(frozen=True, slots=True)
class _Known:
    """A document and all that decides what it may be one with."""

    card: Document
    exact: Key
    near: Key
    exchange: bool
    chars: int


def find_twins(
    reader: Reader, cards: Iterable[Document], meaning: Meaning | None, apart: frozenset[str]
) -> tuple[Twin, ...]:
    """Find documents of one space that say the same.

    Notes are merged when they say nearly the same. Of files and of exchanges only exact copies are:
    a file that differs in a word is kept by somebody who keeps it so, and an exchange is what was
    said. Never merged are texts of different actors, those whose titles add something different,
    short ones of different folders, and those without vectors yet.

    Args:
        reader: a snapshot.
        cards: of the space.
        meaning: how similarity is measured, on the embedder's own means: where all texts of a space
            are alike, the space's leave of two only what tells them apart. None: by words alone.
        apart: keys of merges that were undone.

    Returns:
        Each document at most once as the one that goes; none of them is a survivor.
    """
    groups: dict[tuple[str, Key, Key], list[_Known]] = defaultdict(list)
    for card in sorted(cards, key=lambda each: each.id):
        if card.state != "ready":
            continue
        text = reader.text_of(card.id)
        near = near_key(text)
        if near:
            title = title_key(card.title, near, file=card.actor == "import")
            known = _Known(card, exact_key(text), near, exchange=False, chars=len(text))
            groups[card.actor, near, title].append(known)
    twins: list[Twin] = []
    for group in groups.values():
        if len(group) > 1:
            for one in _kinds(reader, group):
                twins += _twins(reader, one, meaning, apart)
    return tuple(sorted(twins, key=lambda twin: twin.document.id))


def _kinds(reader: Reader, group: Sequence[_Known]) -> Iterator[list[_Known]]:
    """Part documents of one near key by what they are, and by their folder where that counts."""
    parts: dict[tuple[object, ...], list[_Known]] = defaultdict(list)
    for known in group:
        exchange = any(node.actor for node in reader.nodes_of(known.card.id))
        exact = known.exact if exchange or known.card.actor == "import" else ()
        folder = "" if exchange or known.chars >= LONG_CHARS else _folder(known.card)
        parts[exchange, exact, folder].append(known)
    yield from (part for part in parts.values() if len(part) > 1)


def _folder(card: Document) -> str:
    return card.path.rpartition("/")[0]


def _twins(
    reader: Reader, group: Sequence[_Known], meaning: Meaning | None, apart: frozenset[str]
) -> Iterator[Twin]:
    survivor, *rest = sorted(group, key=lambda each: _precedence(each.card))
    key = digest_of(survivor.near)
    if key in apart:
        return
    for other in rest:
        exact = other.exact == survivor.exact
        similarity = None
        if not exact and meaning is not None:
            similarity = _similarity(reader, meaning, survivor.card, other.card)
            if similarity is None or similarity < SIMILAR:
                continue
        yield Twin(other.card, survivor.card, exact, similarity, key)


def _precedence(card: Document) -> tuple[bool, float, int]:
    """Order documents: the pinned first, of them the most important, then the oldest."""
    pinned = card.importance >= PINNED
    return (not pinned, -card.importance if pinned else 0.0, card.id)


def _similarity(reader: Reader, meaning: Meaning, one: Document, other: Document) -> float | None:
    """Measure how alike two documents are as wholes; None where one has no vector."""
    found = [_row(reader, meaning, each) for each in (one, other)]
    rows = [each for each in found if each is not None]
    if len(rows) < len(found):
        return None
    (row, script), (to, of) = rows
    [similarity] = meaning.to_others(row, script, [to], [of])
    return similarity


def _row(reader: Reader, meaning: Meaning, card: Document) -> tuple[FloatVector, str] | None:
    """Take the direction that a document's nodes have in common, and its script."""
    found = reader.vectors(meaning.identity, reader.node_ids([card.id]))
    if not found:
        return None
    total: FloatVector = np.sum([each.row for each in found.values()], axis=0, dtype=np.float32)
    length = float(np.linalg.norm(total))
    first = found[min(found)]
    return (total / np.float32(length) if length else first.row), first.script


def digest_of(key: Key) -> str:
    """Name a key in a few characters, without its words."""
    return hashlib.sha256("\0".join(key).encode()).hexdigest()[:32]


def node_map(going: Sequence[Node], staying: Sequence[Node]) -> dict[int, int]:
    """Say which node of the one that stays each node of the other leads to.

    The root leads to the root; each other one to the next that says the same, else to one at the
    same place, else to where the node above it leads.

    Args:
        going: nodes in reading order, not empty.
        staying: the same of the other.
    """
    leads_to = {going[0].id: staying[0].id}
    said: dict[tuple[str, Key], list[int]] = defaultdict(list)
    for node in reversed(staying[1:]):
        said[node.kind, near_key(node.text)].append(node.id)
    placed = {_place(node, staying[0]): node.id for node in staying}
    for node in going[1:]:
        same = said.get((node.kind, near_key(node.text)))
        above = staying[0].id if node.parent is None else leads_to[node.parent]
        leads_to[node.id] = same.pop() if same else placed.get(_place(node, going[0]), above)
    return leads_to


def _place(node: Node, root: Node) -> str:
    return node.path.removeprefix(root.path)
