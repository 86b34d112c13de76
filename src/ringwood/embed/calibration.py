"""From a model's cosines to similarities that mean the same under every model.

Two steps: subtract what all texts of a script have in common, then map the cosine that is left to
0..1, straight between three measured anchors.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import overload

import numpy as np

from ringwood.embed.base import Anchors, FloatRows, FloatVector, Means

SCALE = (0.0, 0.72, 0.88, 1.0)
"""Where the three anchors and identity lie on the calibrated scale."""

OFF = Anchors(background_median=SCALE[0], background_p999=SCALE[1], duplicate_q1=SCALE[2])
"""Anchors that leave a cosine as it is, clamped to 0..1."""

UNCENTRED = Means(version="none", by_script={})
"""Means that subtract nothing."""


def centre(rows: FloatRows, scripts: Sequence[str], means: Means) -> FloatRows:
    """Subtract from each row the mean of its script and bring it back to unit length.

    Args:
        rows: float32[n, d], unit length.
        scripts: The dominant script of each row's text. One without a mean of its own takes the
            one under `""`; without that, nothing is subtracted.
        means: What to subtract.

    Returns:
        float32[n, d], unit length. A row that equals its mean stays zero: it is like nothing.
    """
    centred: FloatRows = np.array(rows, dtype=np.float32)
    fallback = means.by_script.get("")
    for script in set(scripts):
        mean = means.by_script.get(script, fallback)
        if mean is not None:
            chosen = np.fromiter((each == script for each in scripts), bool, len(scripts))
            centred[chosen] -= mean
    norms = np.linalg.norm(centred, axis=1, keepdims=True)
    np.divide(centred, norms, out=centred, where=norms > 0.0)
    return centred


def version_of(by_script: Mapping[str, FloatVector]) -> str:
    """Name a set of means by a digest of its numbers."""
    digest = hashlib.sha256()
    for script in sorted(by_script):
        digest.update(script.encode() + b"\0" + by_script[script].tobytes())
    return digest.hexdigest()[:12]


@overload
def calibrate(centred: float, anchors: Anchors) -> float: ...
@overload
def calibrate(centred: FloatRows, anchors: Anchors) -> FloatRows: ...
def calibrate(centred: float | FloatRows, anchors: Anchors) -> float | FloatRows:
    """Map centred cosines to similarities in [0, 1], straight between the anchors.

    Never falls as the cosine rises, whatever the anchors: one that lies below its predecessor is
    raised to it.
    """
    measured = (anchors.background_median, anchors.background_p999, anchors.duplicate_q1, 1.0)
    corners = np.maximum.accumulate(np.clip(measured, -1.0, 1.0))
    mapped = np.interp(centred, corners, SCALE)
    return np.asarray(mapped, np.float32) if isinstance(centred, np.ndarray) else float(mapped)
