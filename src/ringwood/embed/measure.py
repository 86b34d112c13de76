"""Measure the means and anchors of an embedder on texts whose relation is known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ringwood.embed.base import Anchors, Embedder, FloatRows, FloatVector, Means
from ringwood.embed.calibration import centre, version_of
from ringwood.text.terms import dominant_script


def measure(
    embedder: Embedder, sentences: Sequence[str], pairs: Sequence[tuple[str, str]]
) -> tuple[Means, Anchors]:
    """Measure the means and anchors of an embedder.

    Args:
        embedder: What to measure. It embeds everything as passages.
        sentences: At least two of one script, mostly unrelated. Each script gets a mean, and the
            pairs within a script are the background.
        pairs: Near-duplicates, at least one.

    Raises:
        EmbedderError: as the embedder does.
    """
    rows = embedder.embed_passages(sentences)
    scripts = [dominant_script(text) for text in sentences]
    means = _means(rows, scripts)
    background = _background(centre(rows, scripts, means), scripts)
    duplicates = np.einsum(
        "ij,ij->i",
        _centred(embedder, [left for left, _ in pairs], means),
        _centred(embedder, [right for _, right in pairs], means),
    )
    anchors = Anchors(
        background_median=float(np.median(background)),
        background_p999=float(np.quantile(background, 0.999)),
        duplicate_q1=float(np.quantile(duplicates, 0.25)),
    )
    return means, anchors


def _means(rows: FloatRows, scripts: Sequence[str]) -> Means:
    """Average the rows of each script; `""` is the average of those averages."""
    by_script: dict[str, FloatVector] = {}
    for script in sorted(set(scripts) - {""}):
        chosen = np.fromiter((each == script for each in scripts), bool, len(scripts))
        by_script[script] = _rounded(rows[chosen].mean(axis=0))
    by_script[""] = _rounded(np.stack(list(by_script.values()) or list(rows)).mean(axis=0))
    return Means(version_of(by_script), by_script)


def _rounded(mean: FloatVector) -> FloatVector:
    """Keep the precision that ships, so that what is measured is what is used."""
    rounded: FloatVector = mean.astype(np.float16).astype(np.float32)
    return rounded


def _centred(embedder: Embedder, texts: Sequence[str], means: Means) -> FloatRows:
    rows = embedder.embed_passages(texts)
    return centre(rows, [dominant_script(text) for text in texts], means)


def _background(rows: FloatRows, scripts: Sequence[str]) -> FloatVector:
    """Return the cosines of all pairs of one script: those across scripts may be translations."""
    same = np.equal.outer(np.array(scripts), np.array(scripts))
    cosines: FloatVector = (rows @ rows.T)[np.triu(same, k=1)]
    return cosines
