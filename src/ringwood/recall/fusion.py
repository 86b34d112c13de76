"""Fuse the ranking by words and the ranking by meaning into one base score.

base = (0.55·cos + 0.20·lexical + 0.25·RRF + across) × tier weight
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ringwood.types import Signals, Term, Tier

RRF_K = 60
"""Smoothing constant of reciprocal rank fusion (Cormack, Clarke, Büttcher, SIGIR 2009)."""


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each signal counts."""

    cosine: float = 0.55
    """Of calibrated similarity: it carries the score, so that priors only break ties."""
    lexical: float = 0.20
    """Of BM25 relative to the best of the query."""
    rrf: float = 0.25
    """Of reciprocal rank fusion, which needs no scale."""
    across: float = 0.5
    """What a node of another script than the question's, which can hold none of its words, is given
    in their place: its rank by meaning counts as the one by words too, and so much of its cosine as
    BM25. 0: nothing. See bench/results/meaning.md."""
    hot: float = 1.00
    """Tier weight below 30 days."""
    warm: float = 0.90
    """Tier weight from 30 to 180 days: older text must match a little better."""
    cold: float = 0.78
    """Tier weight above 180 days."""

    @classmethod
    def seed(cls) -> Weights:
        """Return the published formula, whatever the defaults become."""
        return cls(cosine=0.55, lexical=0.20, rrf=0.25, across=0.0, hot=1.00, warm=0.90, cold=0.78)

    def tier(self, tier: Tier) -> float:
        """Return the weight of a tier."""
        return {"hot": self.hot, "warm": self.warm, "cold": self.cold}[tier]


def reciprocal_ranks(rankings: Sequence[Sequence[int]]) -> dict[int, float]:
    """Fuse rankings of ids: Σ 1/(60 + rank) over two of them, divided by 2/61, so 0..1.

    The divisor stays 2/61 when one ranking is empty: being first in the only one gives 0.5.
    """
    fused: dict[int, float] = {}
    for order in rankings:
        for rank, identity in enumerate(order, start=1):
            fused[identity] = fused.get(identity, 0.0) + 1.0 / (RRF_K + rank)
    best = 2.0 / (RRF_K + 1)
    return {identity: total / best for identity, total in fused.items()}


def relative(scores: Mapping[int, float]) -> dict[int, float]:
    """Divide scores by the best of them: 0..1; all 0 when the best is 0."""
    best = max(scores.values(), default=0.0)
    if best <= 0.0:
        return dict.fromkeys(scores, 0.0)
    return {identity: score / best for identity, score in scores.items()}


def in_place_of_words(signals: Signals, by_meaning: float, weights: Weights) -> float:
    """Return what a node of another script is given in place of words, before the tier's weight.

    Words that it holds after all, names and numbers, count against it: nothing counts twice.

    Args:
        signals: its cosine, lexical and rrf.
        by_meaning: what the ranking by meaning alone gives it, 0..0.5.
        weights: how much each signal counts.
    """
    if not weights.across:
        return 0.0
    lexical = weights.across * (signals.cosine or 0.0)
    return weights.lexical * max(0.0, lexical - signals.lexical) + weights.rrf * max(
        0.0, 2.0 * by_meaning - signals.rrf
    )


def base_terms(signals: Signals, *, tier: Tier, weights: Weights) -> tuple[Term, ...]:
    """Weigh the signals of a node. Their sum is its base. A missing cosine counts 0."""
    tier_weight = weights.tier(tier)
    clamped = min(1.0, max(0.0, signals.cosine or 0.0))
    terms = (
        Term("cosine", weights.cosine * clamped * tier_weight),
        Term("lexical", weights.lexical * signals.lexical * tier_weight),
        Term("rrf", weights.rrf * signals.rrf * tier_weight),
    )
    return (*terms, Term("across", signals.across * tier_weight)) if signals.across else terms
