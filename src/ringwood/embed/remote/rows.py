"""Rows as a server sent them, checked: as many as texts, finite, of one length, not zero."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ringwood.embed.base import FloatRows
from ringwood.embed.remote.base import Cells
from ringwood.embed.remote.failure import Failure

MAX_DIM = 16_384
"""More columns than any model has."""


def checked(cells: Cells, count: int, dim: int | None) -> FloatRows:
    """Return the rows, brought to unit length.

    Args:
        cells: what the server sent.
        count: how many texts were sent, at least one.
        dim: columns that a row must have; None: any number, the same in all.

    Raises:
        Failure: when they are not what was asked for.
    """
    if len(cells) != count:
        raise Failure(f"the embedding server sent {len(cells)} vectors for {count} texts")
    try:
        with np.errstate(over="ignore"):
            rows = np.array(cells, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise Failure(
            "the embedding server sent vectors that are no lists of numbers of one length"
        ) from error
    if rows.ndim != 2 or not 1 <= rows.shape[1] <= MAX_DIM:
        raise Failure("the embedding server sent something that is no vectors")
    if dim is not None and rows.shape[1] != dim:
        raise Failure(
            f"the embedding server sent vectors of {rows.shape[1]} numbers, and this home's have"
            f" {dim}: another model is behind the name",
            mend="bring the old one back, or take the new one over with `ringwood reindex`",
        )
    return unit(rows)


def unit(rows: npt.NDArray[np.floating[Any]]) -> FloatRows:
    """Bring rows to unit length.

    Raises:
        Failure: when one is zero or not finite.
    """
    with np.errstate(over="ignore"):
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(norms).all() or not norms.all():
        raise Failure("the embedding server sent a vector that is zero or not finite", server=False)
    scaled: FloatRows = (rows / norms).astype(np.float32)
    return scaled
