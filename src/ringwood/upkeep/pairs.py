"""Every similar pair of a set of nodes: an exact comparison of all with all, in blocks. Pure."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ringwood.embed.base import Anchors, FloatRows
from ringwood.embed.calibration import calibrate
from ringwood.write.link import LinkOptions

BLOCK_CELLS = 2_000_000
"""Pairs compared at a time: 8 MB of cosines, and at most ten times that where all are similar."""
DECIMALS = 5
"""What of a similarity counts: below it, a product of two rows depends on the order of summing."""

IntVector = npt.NDArray[np.int64]
"""int64[n]"""


def nearest_pairs(
    rows: FloatRows,
    documents: IntVector,
    anchors: Anchors,
    options: LinkOptions,
    on_rows: Callable[[int], None] = lambda done: None,
) -> dict[tuple[int, int], float]:
    """Find for each row the most similar rows of other documents.

    Args:
        rows: centred rows of unit length, float32[n, d]; older nodes before newer ones.
        documents: whose they are, int64[n].
        anchors: how a centred cosine becomes a similarity.
        options: how many neighbours a row chooses, and how similar they must be.
        on_rows: told how many rows are done; may raise to stop.

    Returns:
        Similarity, 0..1, per pair of places in `rows`, the smaller place first. Of equally similar
        neighbours a row chooses the newer. A pair is there when either of the two chose it, so
        that a row may be in more pairs than it chose.
    """
    pairs: dict[tuple[int, int], float] = {}
    bar = _cosine_at(options.threshold, anchors)
    height = max(1, BLOCK_CELLS // max(1, len(rows)))
    for start in range(0, len(rows), height):
        block = rows[start : start + height]
        cosines = block @ rows.T
        here, there = np.nonzero(cosines >= bar)
        apart = documents[start + here] != documents[there]
        here, there = here[apart], there[apart]
        weights = np.round(calibrate(cosines[here, there], anchors), DECIMALS)
        best = np.lexsort((-there, -weights, here))
        here, there, weights = here[best], there[best], weights[best]
        rank = np.arange(len(here)) - np.searchsorted(here, here)
        chosen = (rank < options.max_edges) & (weights >= options.threshold)
        for one, other, weight in zip(
            (start + here[chosen]).tolist(),
            there[chosen].tolist(),
            weights[chosen].tolist(),
            strict=True,
        ):
            pair = (min(one, other), max(one, other))
            pairs[pair] = max(weight, pairs.get(pair, 0.0))
        on_rows(start + len(block))
    return pairs


def _cosine_at(similarity: float, anchors: Anchors) -> float:
    """Find a centred cosine just below all that are at least so similar."""
    low, high = -1.0, 1.0
    for _ in range(40):  # halving: to within 1e-12
        middle = (low + high) / 2
        if calibrate(middle, anchors) >= similarity:
            high = middle
        else:
            low = middle
    return low - 1e-5
