"""Means of a space's own: what its vectors of one script have in common.

The embedder's means are those of texts about everything; a space is about something. Subtracting
what all of its texts share leaves what tells them apart. How far apart unrelated texts then lie is
measured too: turns of one conversation are more alike than notes on many things.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ringwood.embed.base import Anchors, FloatRows, FloatVector, Means
from ringwood.embed.calibration import centre
from ringwood.embed.meaning import Meaning
from ringwood.engine.base import Engine, NodeVector, Reader, ScriptMean

LEAST = 24
"""Nodes of a script from which on a space has a mean of its own."""
GROWTH = 4
"""The mean is taken again when there are so many times as many nodes: rarely, so that edges that
were measured under it keep their meaning, and soon enough that a first document does not decide."""
PRIOR = 4
"""Nodes that the embedder's own mean counts as: twenty-four of one document share its subject."""
SAMPLE = 1500
"""Nodes among which unrelated pairs are measured: a million pairs, a thousand above p99.9."""
PRIOR_PAIRS = 1000
"""Pairs that the embedder's own background counts as: p99.9 of fewer is one pair's cosine."""


def meaning_of(reader: Reader, meaning: Meaning, space: str) -> Meaning:
    """Return how the vectors of a space are compared."""
    own = reader.means(meaning.identity, space)
    return meaning.on(
        {script: each.mean for script, each in own.items()},
        {script: each.background for script, each in own.items()},
    )


def refresh_means(engine: Engine, meaning: Meaning, space: str, *, force: bool = False) -> bool:
    """Take the means of a space again where it has grown enough; say whether any was.

    Args:
        engine: where they are kept.
        meaning: whose vectors, and the means and background that a space begins with.
        space: the space.
        force: take all of them again.
    """
    identity = meaning.identity
    with engine.reading() as reader:
        kept = reader.means(identity, space)
        counts = reader.vectors_per_script(identity, space)
        enough = {script: count for script, count in counts.items() if count >= LEAST}
        due = {
            script: count
            for script, count in enough.items()
            if force or script not in kept or count >= GROWTH * kept[script].nodes
        }
        drawn = _sample(reader, identity, space) if due else {}
        means = {script: _mean(reader, meaning, space, script, due[script]) for script in due}
    taken = {
        script: ScriptMean(
            due[script], mean, _background(drawn.get(script, ()), script, mean, meaning.anchors)
        )
        for script, mean in means.items()
    }
    gone = force and kept.keys() - taken.keys()
    new = {script: each for script, each in taken.items() if not _same(each, kept.get(script))}
    if gone or new:
        with engine.writing() as writer:
            if gone:
                writer.drop_means(space=space, embedder=identity)
            writer.put_means(identity, space, taken)
    return bool(gone or new)


def means_among(
    meaning: Meaning,
    rows: FloatRows,
    scripts: npt.NDArray[np.str_],
    documents: npt.NDArray[np.int64],
) -> dict[str, ScriptMean]:
    """Take the means of a space from all of its rows at once, as one that compares them all has.

    Args:
        meaning: whose vectors, and the means and background that a space begins with.
        rows: unit length, float32[n, d], ascending by node.
        scripts: of their texts.
        documents: whose they are, int64[n].

    Returns:
        By script, those of too few nodes left out; the same for the same rows.
    """
    means: dict[str, ScriptMean] = {}
    for script in sorted(set(scripts.tolist())):
        places = np.flatnonzero(scripts == script)
        count = len(places)
        if count < LEAST:
            continue
        total: FloatVector = rows[places].sum(axis=0, dtype=np.float64)
        mean = _with_prior(meaning, script, (total / count).astype(np.float32), count)
        if count > SAMPLE:
            places = np.sort(np.random.default_rng(count).choice(places, SAMPLE, replace=False))
        centred = centre(rows[places], [script] * len(places), Means("", {script: mean}))
        measured = background(centred, documents[places], meaning.anchors)
        means[script] = ScriptMean(count, mean, measured)
    return means


def same_means(one: Mapping[str, ScriptMean], other: Mapping[str, ScriptMean]) -> bool:
    """Say whether two sets of means are equal to the last bit."""
    return one.keys() == other.keys() and all(_same(each, other[s]) for s, each in one.items())


def _sample(reader: Reader, identity: str, space: str) -> Mapping[str, Sequence[NodeVector]]:
    """Draw nodes of a space by chance, the same each time as long as it holds the same."""
    nodes = np.sort(reader.node_ids([card.id for card in reader.roots(space)]))
    if len(nodes) > SAMPLE:
        nodes = np.random.default_rng(len(nodes)).choice(nodes, SAMPLE, replace=False)
    drawn: dict[str, list[NodeVector]] = defaultdict(list)
    for vector in reader.vectors(identity, nodes.tolist()).values():
        drawn[vector.script].append(vector)
    return drawn


def _mean(reader: Reader, meaning: Meaning, space: str, script: str, count: int) -> FloatVector:
    """Take the mean of one script, the embedder's own counted in."""
    mean = reader.mean_vector(meaning.identity, space, script)
    return _with_prior(meaning, script, mean, count)


def _with_prior(meaning: Meaning, script: str, mean: FloatVector, count: int) -> FloatVector:
    given = meaning.means.by_script
    prior = given.get(script, given.get(""))
    if prior is None:
        return mean
    return ((mean * count + prior * PRIOR) / (count + PRIOR)).astype(np.float32)


def _background(
    drawn: Sequence[NodeVector], script: str, mean: FloatVector, anchors: Anchors
) -> tuple[float, float] | None:
    """Measure the background among nodes of one script; None where none were drawn."""
    if not drawn:
        return None
    rows = np.stack([each.row for each in drawn])
    centred = centre(rows, [script] * len(drawn), Means("", {script: mean}))
    return background(centred, np.array([each.document for each in drawn]), anchors)


def background(
    rows: FloatRows, documents: npt.NDArray[np.int64], anchors: Anchors
) -> tuple[float, float]:
    """Say how alike unrelated rows are: median and 99.9th percentile of their cosines.

    Rows of one document are related, and so are near-duplicates: their pairs are left out. Few
    pairs count little against the embedder's own background.

    Args:
        rows: centred rows of unit length, float32[n, d].
        documents: whose they are, int64[n].
        anchors: the embedder's.
    """
    apart = np.triu(documents[:, None] != documents[None, :], k=1)
    cosines = (rows @ rows.T)[apart]
    cosines = cosines[cosines < anchors.duplicate_q1]
    given = np.array([anchors.background_median, anchors.background_p999])
    measured = np.quantile(cosines, [0.5, 0.999]) if len(cosines) else given
    share = len(cosines) / (len(cosines) + PRIOR_PAIRS)
    median, p999 = np.round(share * measured + (1.0 - share) * given, 4).tolist()
    return median, p999


def _same(one: ScriptMean, other: ScriptMean | None) -> bool:
    return (
        other is not None
        and (one.nodes, one.background) == (other.nodes, other.background)
        and np.array_equal(one.mean, other.mean)
    )
