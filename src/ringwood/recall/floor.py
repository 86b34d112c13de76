"""Drop what has too little evidence, so that a query about nothing in the store returns nothing.

Evidence is absolute: the share of the query's idf mass that the node matches, and the calibrated
cosine. The score is none: its lexical and rank parts are relative, the best of nothing gets 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ringwood.recall.ledger import Candidate

STAGE = "floor"


@dataclass(frozen=True, slots=True)
class FloorOptions:
    """How much evidence is enough, 0..1. 0 lets everything pass."""

    asked: float = 0.35
    """For a recall that somebody asked for: a stray hit costs a glance."""
    injected: float = 0.50
    """For what goes into a prompt unasked: a stray hit costs attention and trust."""
    cosine_zero: float = 0.15
    """Calibrated cosine that is no evidence yet, 0..1, in a space with means of its own. For this,
    the next two and both floors: bench/results/floor.md."""
    cosine_zero_small: float = 0.35
    """The same in a space that is too small for means of its own, where what all of its texts share
    makes a question about that subject look like an answer."""
    cosine_zero_small_across: float = 0.25
    """The same there between a question and a node of another script, whose cosines lie lower."""

    def zero(self, *, settled: bool, across: bool) -> float:
        """Return the cosine that is no evidence yet.

        Args:
            settled: the space has means of its own.
            across: the question and the node are of different scripts.
        """
        if settled:
            return self.cosine_zero
        return self.cosine_zero_small_across if across else self.cosine_zero_small


def evidence(share: float, cosine: float | None, zero: float) -> float:
    """Return the stronger of the two kinds of evidence, 0..1. By words alone the share decides.

    The cosine is counted from a zero of its own up, so that one floor means the same for both.

    Args:
        share: of the query's idf mass, 0..1.
        cosine: calibrated, 0..1; None without a vector.
        zero: calibrated cosine from which on it says something; below 1.
    """
    return max(share, min(1.0, ((cosine or 0.0) - zero) / (1.0 - zero)))


def apply_floor(candidates: Iterable[Candidate], floor: float) -> list[Candidate]:
    """Drop candidates whose evidence lies under the floor; others pass unchanged."""
    return [
        each
        if each.stage is not None or each.signals.evidence >= floor
        else each.drop(
            STAGE, f"evidence {each.signals.evidence:.3f} is under the floor {floor:.3f}"
        )
        for each in candidates
    ]
