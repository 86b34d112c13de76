"""Which node of an edited document is which: ids survive edits, so that links and counts do.

    same subtree -> same text -> similar text -> sections by what they hold -> same place -> back

The surest evidence first, and each node once. What is left over is new; what nothing continues is
gone. Pure: an edit is two trees.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from ringwood.parse.tree import ParsedNode
from ringwood.text.terms import index_terms
from ringwood.types import Node
from ringwood.write.paths import unnumbered

SIMILAR = 0.6
"""Share of terms (Dice) from which one text is an edit of the other. Two items of one list that
differ in a name and a number reach .5; a paragraph in which a clause was rewritten keeps .7."""
MIN_TERMS = 4
"""Shorter texts are never similar: "- done" is no edit of "- to do"."""
HOLDS = 0.5
"""Share of what a renamed section holds (Dice) from which it is the same."""
HOLDS_TITLED = 0.25
"""The same where half of its title stayed too."""
TITLE, BODY, PLACE, DEPTH = 0.35, 0.65, 0.2, 0.3
"""What of two sections speaks for their being the same. Of a section and the one above it that hold
the very same, depth says more than a title that became like the other's, less than an equal one."""

_COMMON = 40
"""Nodes that hold a term from which it no longer proposes pairs: a rewritten book stays linear."""
_PROPOSED = 5
"""Pairs that are compared for each node that was edited."""


def carry_ids(
    old: Sequence[Node],
    old_root: str,
    new: Sequence[ParsedNode],
    gone: Mapping[str, int] | None = None,
) -> list[int | None]:
    """Give each parsed node the id of the stored node that it continues, or None.

    Args:
        old: the stored nodes, in reading order.
        old_root: path of the stored root, so that paths compare below it.
        new: the parsed nodes, root first. The root always continues the root.
        gone: ids of nodes that are gone, by the whole path that they had: one that comes back to
            its place, as when a file is switched between two states, is itself again.
    """
    if not old or not new:
        return [None] * len(new)
    match = _Match(_stored(old, old_root), _parsed(new))
    match.take(0, 0)
    _same_in_place(match, lambda tree: tree.signs, whole=True)
    _same_and_single(match, lambda tree: tree.signs, whole=True)
    _same_in_place(match, lambda tree: tree.says)
    _same_and_single(match, _said_at_length)
    _similar_leaves(match)
    _sections(match)
    _leaves_under_their_section(match)
    _same_leaves_in_order(match)
    _same_in_place(match, lambda tree: [None] * len(tree.places))
    carried = [None if i is None else old[i].id for i in match.of_new]
    used = set(carried)
    for position, place in enumerate(match.new.places):
        back = (gone or {}).get(old_root + place)
        if carried[position] is None and back is not None and back not in used:
            carried[position] = back
            used.add(back)
    return carried


class _Tree:
    """One state of a document, by position in reading order. A subtree is a run of positions."""

    def __init__(
        self, nodes: Sequence[Node] | Sequence[ParsedNode], parents: list[int], places: list[str]
    ) -> None:
        """Take nodes with the position of each one's parent, -1 for none, and their paths."""
        self.parents = parents
        self.places = places
        """Paths relative to the root."""
        self.kinds = [node.kind for node in nodes]
        self.titles = [node.title for node in nodes]
        self.texts = [node.text for node in nodes]
        self.says: list[Hashable] = [(node.kind, node.title, node.text) for node in nodes]
        """What a node says itself."""
        self._terms: dict[str, frozenset[str]] = {}

    @cached_property
    def sizes(self) -> list[int]:
        """Count the nodes of each subtree, its top included."""
        return self._summed([1] * len(self.parents))

    @cached_property
    def leaves(self) -> list[int]:
        """Count the leaves of each subtree."""
        return self._summed([int(self.is_leaf(each)) for each in range(len(self.parents))])

    @cached_property
    def depths(self) -> list[int]:
        """Count the nodes above each."""
        depths = [0] * len(self.parents)
        for position in range(1, len(depths)):
            depths[position] = depths[self.parents[position]] + 1
        return depths

    def _summed(self, counts: list[int]) -> list[int]:
        for position in range(len(counts) - 1, 0, -1):
            counts[self.parents[position]] += counts[position]
        return counts

    @cached_property
    def signs(self) -> list[Hashable]:
        """Sign each subtree: equal signs, equal subtrees. Numbers stand for subtrees below."""
        below: list[list[Hashable]] = [[] for _ in self.parents]
        signs: list[Hashable] = [None] * len(self.parents)
        for position in range(len(signs) - 1, -1, -1):
            signs[position] = hash((self.says[position], tuple(below[position])))
            if position:
                below[self.parents[position]].append(signs[position])
        return signs

    def terms(self, text: str) -> frozenset[str]:
        """Return the distinct terms of a text of this state."""
        if text not in self._terms:
            self._terms[text] = frozenset(index_terms(text))
        return self._terms[text]

    def body(self, position: int) -> str:
        """Return what a section says below its title."""
        return self.texts[position].partition("\n")[2]

    def is_leaf(self, position: int) -> bool:
        """Say whether a node is told by its own words: all but sections and the root."""
        return self.kinds[position] not in ("section", "document")

    def above(self, position: int) -> Iterator[int]:
        """Yield the nodes above one, nearest first."""
        while (position := self.parents[position]) >= 0:
            yield position


def _stored(nodes: Sequence[Node], root: str) -> _Tree:
    positions = {node.id: position for position, node in enumerate(nodes)}
    parents = [-1 if node.parent is None else positions[node.parent] for node in nodes]
    return _Tree(nodes, parents, [node.path.removeprefix(root) for node in nodes])


def _parsed(nodes: Sequence[ParsedNode]) -> _Tree:
    parents = [-1 if node.parent is None else node.parent for node in nodes]
    return _Tree(nodes, parents, [node.path for node in nodes])


class _Match:
    """Pairs of positions that are the same node, grown from the surest on."""

    def __init__(self, old: _Tree, new: _Tree) -> None:
        """Begin with none."""
        self.old = old
        self.new = new
        self.of_old: list[int | None] = [None] * len(old.parents)
        self.of_new: list[int | None] = [None] * len(new.parents)

    def take(self, i: int, j: int) -> None:
        """Pair two nodes, unless one of them is paired already."""
        if self.of_old[i] is None and self.of_new[j] is None:
            self.of_old[i], self.of_new[j] = j, i

    def take_whole(self, i: int, j: int) -> None:
        """Pair two equal subtrees node by node."""
        for step in range(self.old.sizes[i]):
            self.take(i + step, j + step)

    def free_old(self) -> Iterator[int]:
        """Yield the positions of stored nodes without a pair."""
        return (i for i, pair in enumerate(self.of_old) if pair is None)

    def free_new(self) -> Iterator[int]:
        """Yield the positions of parsed nodes without a pair."""
        return (j for j, pair in enumerate(self.of_new) if pair is None)

    def by(
        self, key: Callable[[_Tree], Sequence[Hashable]]
    ) -> tuple[dict[Hashable, list[int]], dict[Hashable, list[int]]]:
        """Group the free positions of either state by a key; None is nobody's key."""
        groups: tuple[dict[Hashable, list[int]], ...] = (defaultdict(list), defaultdict(list))
        for group, tree, free in (
            (groups[0], self.old, self.free_old()),
            (groups[1], self.new, self.free_new()),
        ):
            keys = key(tree)
            for position in free:
                if keys[position] is not None:
                    group[keys[position]].append(position)
        return groups[0], groups[1]

    def is_same_parent(self, i: int, j: int) -> bool:
        """Say whether the node above one is the node above the other."""
        above = self.old.parents[i]
        return above >= 0 and self.of_old[above] == self.new.parents[j]


def _same_in_place(
    match: _Match, key: Callable[[_Tree], Sequence[Hashable]], *, whole: bool = False
) -> None:
    """Pair what is equal and stands at the same path."""
    old_keys, new_keys = key(match.old), key(match.new)
    olds = {(match.old.places[i], old_keys[i]): i for i in match.free_old()}
    for j in list(match.free_new()):
        i = olds.get((match.new.places[j], new_keys[j]))
        if i is not None:
            (match.take_whole if whole else match.take)(i, j)


def _same_and_single(
    match: _Match, key: Callable[[_Tree], Sequence[Hashable]], *, whole: bool = False
) -> None:
    """Pair what is equal and stands once in either state, the largest subtrees first."""
    olds, news = match.by(key)
    for sign in sorted(olds.keys() & news.keys(), key=lambda s: -match.old.sizes[olds[s][0]]):
        ones = [i for i in olds[sign] if match.of_old[i] is None]
        others = [j for j in news[sign] if match.of_new[j] is None]
        if len(ones) == len(others) == 1:
            (match.take_whole if whole else match.take)(ones[0], others[0])


def _said_at_length(tree: _Tree) -> list[Hashable]:
    """Return what nodes say, but for sections that say no more than their title."""
    return [
        said if tree.is_leaf(position) or tree.body(position) else None
        for position, said in enumerate(tree.says)
    ]


def _similar_leaves(match: _Match) -> None:
    """Pair leaves whose words mostly stayed, wherever they went; best pairs first.

    Those whose very words stand in the other state wait: they are told apart by their section.
    """
    olds, news = match.by(lambda tree: tree.says)
    edited = [ones[0] for said, ones in olds.items() if said not in news]
    fresh = [others[0] for said, others in news.items() if said not in olds]
    holders: dict[str, list[int]] = defaultdict(list)
    for j in fresh:
        if match.new.is_leaf(j):
            for term in match.new.terms(match.new.texts[j]):
                holders[term].append(j)
    found = []
    for i in edited:
        terms = match.old.terms(match.old.texts[i])
        if not match.old.is_leaf(i) or len(terms) < MIN_TERMS:
            continue
        shared = Counter(
            j for term in terms if len(holders.get(term, ())) <= _COMMON for j in holders[term]
        )
        for j, _ in shared.most_common(_PROPOSED):
            score = dice(terms, match.new.terms(match.new.texts[j]))
            if score >= SIMILAR and match.old.kinds[i] == match.new.kinds[j]:
                same_place = match.old.places[i] == match.new.places[j]
                found.append((score + 0.2 * same_place, i, j))
    _take_best(match, found)


def _sections(match: _Match) -> None:
    """Pair sections by what they hold, what they are called and where they stand.

    What it holds counts more than its title, so that two sections that swap titles are told apart;
    of two that hold nothing, the title says all. Its depth tells it from the section above, which
    may hold the very same.
    """
    held = _held_in_common(match)
    proposed = set(held)
    for key in (lambda tree: tree.places, lambda tree: tree.titles):
        olds, news = match.by(key)
        proposed |= {
            (ones[0], news[said][0])
            for said, ones in olds.items()
            if len(ones) == len(news.get(said, ())) == 1
        }
    found = []
    for i, j in proposed:
        if not (match.old.kinds[i] == match.new.kinds[j] == "section"):
            continue
        body = max(_share_held(match, i, j, held[i, j]), _share_said(match, i, j))
        title = dice(match.old.terms(match.old.titles[i]), match.new.terms(match.new.titles[j]))
        place = match.old.places[i] == match.new.places[j] or (
            match.is_same_parent(i, j) and match.old.titles[i] == match.new.titles[j]
        )
        if place or body >= HOLDS or (title >= 0.5 and body >= HOLDS_TITLED):
            # Where only one of the two holds anything, an equal title is weak evidence: another
            # section of that title may hold what it held.
            is_bare = not (match.old.leaves[i] or match.new.leaves[j])
            likeness = title if is_bare else TITLE * title + BODY * body
            depth = match.old.depths[i] == match.new.depths[j]
            found.append((likeness + PLACE * place + DEPTH * depth, i, j))
    _take_best(match, found)


def _held_in_common(match: _Match) -> Counter[tuple[int, int]]:
    """Count, for each two sections without a pair, the pairs that stand below both."""
    held: Counter[tuple[int, int]] = Counter()
    for j, i in enumerate(match.of_new):
        if i is None or not match.new.is_leaf(j):
            continue
        above = [j for j in match.new.above(j) if match.of_new[j] is None]
        for one in match.old.above(i):
            if match.of_old[one] is None:
                held.update((one, other) for other in above)
    return held


def _share_held(match: _Match, i: int, j: int, common: int) -> float:
    """Return the share of leaves below two sections that are the same (Dice)."""
    leaves = match.old.leaves[i] + match.new.leaves[j]
    return 2 * common / leaves if leaves else 0.0


def _share_said(match: _Match, i: int, j: int) -> float:
    """Return the share of terms below two titles that are the same (Dice)."""
    return dice(match.old.terms(match.old.body(i)), match.new.terms(match.new.body(j)))


def _leaves_under_their_section(match: _Match) -> None:
    """Pair what is left of a section's leaves: the same words, then the same name."""

    def name(place: str) -> str:
        return place.rpartition("/")[2]

    for told in (
        lambda tree, position: tree.says[position],
        lambda tree, position: name(tree.places[position]),
        lambda tree, position: unnumbered(name(tree.places[position])),
    ):
        left: dict[Hashable, list[int]] = defaultdict(list)
        for i in match.free_old():
            pair = match.of_old[match.old.parents[i]]
            if pair is not None:
                left[pair, told(match.old, i)].append(i)
        for j in list(match.free_new()):
            ones = left.get((match.new.parents[j], told(match.new, j)))
            if ones:
                match.take(ones.pop(0), j)


def _same_leaves_in_order(match: _Match) -> None:
    """Pair leaves of the same words that nothing tells apart, in reading order."""
    olds, news = match.by(lambda tree: tree.says)
    for said, others in news.items():
        for i, j in zip(olds.get(said, ()), others, strict=False):
            if match.old.is_leaf(i):
                match.take(i, j)


def _take_best(match: _Match, found: Iterable[tuple[float, int, int]]) -> None:
    """Take proposed pairs by score; ties by the nearer in reading order."""
    for _, i, j in sorted(found, key=lambda each: (-each[0], abs(each[1] - each[2]), each[1])):
        match.take(i, j)


def dice(one: frozenset[str], other: frozenset[str]) -> float:
    """Return Dice's coefficient of two sets, 0..1; 0 when both are empty."""
    total = len(one) + len(other)
    return 2 * len(one & other) / total if total else 0.0
