"""Every similar pair of a set of nodes: an exact comparison of all with all, in blocks. Pure."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ringwood.embed.base import Anchors, FloatRows
from ringwood.embed.calibration import calibrate
from ringwood.write.link import LinkOptions

BLOCK_CELLS = 2_000_000
"""Pairs compared at a time: 30 MB of work, however many of them are similar."""
STEPS = 100_000
"""Steps of a cosine that count. Below, a product of two rows depends on the order of summing, and
equal texts would not be equally similar."""
_NEVER = -2 * STEPS

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
    newest_first = np.ascontiguousarray(rows[::-1])
    height = max(1, BLOCK_CELLS // max(1, len(rows)))
    for start in range(0, len(rows), height):
        here = np.arange(start, min(start + height, len(rows)))
        steps = np.rint(rows[here] @ newest_first.T * STEPS).astype(np.int32)
        steps[documents[here, None] == documents[None, ::-1]] = _NEVER
        for _ in range(options.max_edges):
            best = steps.argmax(axis=1)  # of equal ones the first, which is the newest
            found = np.take_along_axis(steps, best[:, None], axis=1)[:, 0]
            cosines = (found / STEPS).astype(np.float32)
            weights = np.round(calibrate(cosines, anchors).astype(np.float64), 5)
            chosen = (weights >= options.threshold) & (found != _NEVER)
            for one, other, weight in zip(
                here[chosen].tolist(),
                (len(rows) - 1 - best[chosen]).tolist(),
                weights[chosen].tolist(),
                strict=True,
            ):
                pairs[min(one, other), max(one, other)] = weight
            np.put_along_axis(steps, best[:, None], _NEVER, axis=1)
        on_rows(len(here) + start)
    return pairs
