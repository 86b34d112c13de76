"""What every benchmark prints first, and the measures of a ranking."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
"""Where the evaluation data lies beside a checkout; every benchmark takes another place."""


def machine() -> str:
    """Describe where and when this runs: timings of two runs are not comparable without it."""
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    return (
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()},"
        f" load {load}"
    )


def hit_at(ranks: Sequence[int | None], k: int) -> float:
    """Return the share of questions whose answer is among the first k."""
    return sum(rank is not None and rank <= k for rank in ranks) / max(1, len(ranks))


def mrr(ranks: Sequence[int | None]) -> float:
    """Return the mean reciprocal rank."""
    return sum(1.0 / rank for rank in ranks if rank is not None) / max(1, len(ranks))


def percentile(values: Sequence[float], share: float) -> float:
    """Return a percentile of unsorted values, the nearest rank; 0 of none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
