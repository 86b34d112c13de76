"""Means of a space's own: what its vectors of one script have in common.

The embedder's means are those of texts about everything; a space is about something. Subtracting
what all of its texts share leaves what tells them apart.
"""

from __future__ import annotations

import numpy as np

from ringwood.embed.meaning import Meaning
from ringwood.engine.base import Engine, Reader, ScriptMean

LEAST = 24
"""Nodes of a script from which on a space has a mean of its own."""
GROWTH = 4
"""The mean is taken again when there are so many times as many nodes: rarely, so that edges that
were measured under it keep their meaning, and soon enough that a first document does not decide."""
PRIOR = 4
"""Nodes that the embedder's own mean counts as: twenty-four of one document share its subject."""


def meaning_of(reader: Reader, meaning: Meaning, space: str) -> Meaning:
    """Return how the vectors of a space are compared."""
    own = reader.means(meaning.identity, space)
    return meaning.on({script: each.mean for script, each in own.items()})


def refresh_means(engine: Engine, meaning: Meaning, space: str, *, force: bool = False) -> bool:
    """Take the means of a space again where it has grown enough; say whether any was.

    Args:
        engine: where they are kept.
        meaning: whose vectors, and the means that a space begins with.
        space: the space.
        force: take all of them again.
    """
    identity = meaning.identity
    with engine.reading() as reader:
        kept = reader.means(identity, space)
        counts = reader.vectors_per_script(identity, space)
        enough = {script: count for script, count in counts.items() if count >= LEAST}
        taken = {
            script: _taken(reader, meaning, space, script, count)
            for script, count in enough.items()
            if force or script not in kept or count >= GROWTH * kept[script].nodes
        }
    gone = force and kept.keys() - taken.keys()
    new = {script: each for script, each in taken.items() if not _same(each, kept.get(script))}
    if gone or new:
        with engine.writing() as writer:
            if gone:
                writer.drop_means(space)
            writer.put_means(identity, space, taken)
    return bool(gone or new)


def _taken(reader: Reader, meaning: Meaning, space: str, script: str, count: int) -> ScriptMean:
    mean = reader.mean_vector(meaning.identity, space, script)
    by_script = meaning.means.by_script
    prior = by_script.get(script, by_script.get(""))
    if prior is not None:
        mean = ((mean * count + prior * PRIOR) / (count + PRIOR)).astype(np.float32)
    return ScriptMean(count, mean)


def _same(one: ScriptMean, other: ScriptMean | None) -> bool:
    return other is not None and one.nodes == other.nodes and np.array_equal(one.mean, other.mean)
