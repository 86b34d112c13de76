"""What is known of a node before the query is read: importance, age, use.

    prior = 0.06·importance + 0.05·exp(-age/45 d) + 0.03·min(1, log1p(access)/log(8))

Small on purpose: priors break ties, they never carry a hit.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from math import exp, log, log1p

from ringwood.types import Term

_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class PriorOptions:
    """How much each prior can add."""

    importance: float = 0.06
    """Of importance 1."""
    recency: float = 0.05
    """Of a text changed just now."""
    access: float = 0.03
    """Of a node that was returned seven times or more."""
    recency_days: float = 45.0
    """Time constant of forgetting, days: half-life 31 days."""


def recency(changed_at: datetime, now: datetime, options: PriorOptions) -> float:
    """Return exp(-age / 45 d). A stamp in the future counts as now: clocks jump."""
    age_days = max(0.0, (now - changed_at).total_seconds() / _DAY_S)
    return exp(-age_days / options.recency_days)


def use(access: int) -> float:
    """Return min(1, log1p(access) / log(8)), 0..1."""
    return min(1.0, log1p(max(0, access)) / log(8))


def prior_terms(
    importance: float, recency: float, use: float, options: PriorOptions
) -> tuple[Term, ...]:
    """Weigh the three priors, each given as 0..1."""
    return (
        Term("importance", options.importance * importance),
        Term("recency", options.recency * recency),
        Term("access", options.access * use),
    )
