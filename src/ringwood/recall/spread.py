"""Spread activation one hop: from a hit to its parent and to its similar neighbours.

    propagated = base                        a direct hit
               | base(hit) × 0.55            its parent
               | base(hit) × 0.55 × sim      its similar neighbour      (the largest of the three)

Exactly one hop: two decay below 0.3, which is noise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ringwood.types import Edge, Hop


@dataclass(frozen=True, slots=True)
class SpreadOptions:
    """How far activation reaches."""

    expansion_damping: float = 0.55
    """What one hop keeps, 0..1. 0 switches spreading off."""


@dataclass(frozen=True, slots=True)
class Activation:
    """The strongest way by which a node was reached."""

    propagated: float
    """Its score before priors."""
    hop: Hop
    """The way."""
    via: int | None = None
    """Node id of the hit that a hop came from."""
    similarity: float | None = None
    """Weight of the edge, for a `similar` hop."""


def spread(
    bases: Mapping[int, float],
    parents: Mapping[int, int | None],
    edges: Iterable[Edge],
    options: SpreadOptions,
) -> dict[int, Activation]:
    """Activate direct hits, their parents and their similar neighbours.

    Args:
        bases: base score of every direct hit.
        parents: parent of every direct hit.
        edges: edges that touch direct hits; those that touch none are ignored.
        options: damping.

    Ties go to the direct hit, then to the parent.
    """
    reached = {node: Activation(base, "direct") for node, base in bases.items()}

    def reach(node: int, activation: Activation) -> None:
        known = reached.get(node)
        if activation.propagated > 0.0 and (
            known is None or activation.propagated > known.propagated
        ):
            reached[node] = activation

    for node, base in bases.items():
        parent = parents.get(node)
        if parent is not None:
            reach(parent, Activation(base * options.expansion_damping, "parent", node))
    for edge in edges:
        for start, end in ((edge.source, edge.target), (edge.target, edge.source)):
            if start in bases:
                strength = bases[start] * options.expansion_damping * edge.weight
                reach(end, Activation(strength, "similar", start, edge.weight))
    return reached
