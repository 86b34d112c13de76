"""What is known of a candidate on its way through the stages, and how it ended.

Every candidate leaves with one outcome: returned, or dropped at a stage for a reason. Its score is
the sum of its terms, so that it can be explained and checked.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import fsum

from ringwood.types import Document, Node, Signals, Term


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that may answer the query."""

    node: Node
    """The node."""
    document: Document
    """Its document's card."""
    signals: Signals
    """What was measured of it."""
    terms: tuple[Term, ...] = ()
    """Addends of its score, already weighted."""
    stage: str | None = None
    """Where it was dropped; None while it stands."""
    reason: str = ""
    """Why it was dropped: one sentence with the figures that decided."""

    @property
    def score(self) -> float:
        """Sum of the terms; higher is better."""
        return fsum(term.value for term in self.terms)

    def drop(self, stage: str, reason: str) -> Candidate:
        """Return the candidate as dropped."""
        return replace(self, stage=stage, reason=reason)


def best_first(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Sort by score; ties by the newer document, then by reading order, so that runs are equal."""
    return sorted(
        candidates,
        key=lambda each: (-each.score, -each.document.id, each.node.order),
    )


def standing(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Keep those that no stage has dropped."""
    return [each for each in candidates if each.stage is None]
