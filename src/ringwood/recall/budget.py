"""Keep what fits: three hard bounds on what is handed over, the frame included."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ringwood.recall.ledger import Candidate

STAGE = "budget"


@dataclass(frozen=True, slots=True)
class Budget:
    """Upper bounds of one recall."""

    max_nodes: int = 6
    """Hits at most."""
    max_chars: int = 4000
    """Code points of the whole framed block at most."""
    max_node_chars: int = 900
    """Code points of one hit's text at most: longer texts are cut and marked."""


def spend(
    ranked: Sequence[Candidate],
    overhead: int,
    cost: Callable[[Candidate, int], int],
    budget: Budget,
) -> list[Candidate]:
    """Take candidates best first while they fit; one too large leaves its room to smaller ones.

    Args:
        ranked: candidates, best first; dropped ones pass unchanged.
        overhead: code points of an empty frame.
        cost: code points that a candidate adds as the hit with this number (from 1).
        budget: the bounds.
    """
    taken = 0
    left = budget.max_chars - overhead
    walked: list[Candidate] = []
    for each in ranked:
        outcome = each
        if each.stage is None:
            if taken >= budget.max_nodes:
                outcome = each.drop(STAGE, f"{budget.max_nodes} better hits fill max_nodes")
            elif (needed := cost(each, taken + 1)) > left:
                outcome = each.drop(STAGE, f"needs {needed} characters, {max(0, left)} are left")
            else:
                taken += 1
                left -= needed
        walked.append(outcome)
    return walked
