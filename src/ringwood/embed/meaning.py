"""How one home compares meanings: an embedder, the identity of its vectors, means and anchors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ringwood.embed.base import Anchors, Embedder, FloatRows, FloatVector, Means
from ringwood.embed.calibration import OFF, UNCENTRED, calibrate, centre, version_of

TEMPLATE = "ctx1"
"""Version of the text that is embedded for a node: see `write/template.py`."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What recall and linking need to compare vectors."""

    embedder: Embedder
    """Turns texts into vectors."""
    means: Means
    """Subtracted before comparing."""
    anchors: Anchors
    """Map of centred cosines to 0..1."""

    @classmethod
    def of(cls, embedder: Embedder, *, calibrated: bool = True) -> Meaning:
        """Take the embedder's own means and anchors, or with `calibrated=False` raw cosines."""
        if not calibrated:
            return cls(embedder, UNCENTRED, OFF)
        return cls(embedder, embedder.means, embedder.anchors)

    def on(self, own: Mapping[str, FloatVector]) -> Meaning:
        """Compare with means of a space's own, where it has some.

        Args:
            own: float32[d] per script; the others keep the embedder's.
        """
        if not own or self.means is UNCENTRED:
            return self
        by_script = self.means.by_script | dict(own)
        return replace(self, means=Means(version_of(by_script), by_script))

    @property
    def identity(self) -> str:
        """Under which vectors are stored: those of another identity are never compared."""
        return f"{self.embedder.identity}/{TEMPLATE}"

    def centre(self, rows: FloatRows, scripts: Sequence[str]) -> FloatRows:
        """Subtract each row's script mean. Rows unit length."""
        return centre(rows, scripts, self.means)

    def similarity(self, centred: float) -> float:
        """Return the calibrated similarity of a pair, 0..1, from its centred cosine."""
        return float(calibrate(centred, self.anchors))

    def to_others(
        self,
        row: FloatVector,
        script: str,
        others: Sequence[FloatVector],
        scripts: Sequence[str],
    ) -> list[float]:
        """Compare one row with others, each unit length: calibrated similarities, 0..1."""
        centred = self.centre(np.stack([row, *others]), [script, *scripts])
        return [float(each) for each in calibrate(centred[1:] @ centred[0], self.anchors)]

    def among(self, centred: Mapping[int, FloatVector]) -> Callable[[int, int], float | None]:
        """Compare all pairs of nodes at once.

        Args:
            centred: rows by node id, each centred on the means of its own space.

        Returns:
            The calibrated similarity of two node ids, 0..1; None where one has no row.
        """
        if not centred:
            return lambda one, other: None
        places = {node: place for place, node in enumerate(centred)}
        stacked = np.stack(list(centred.values()))
        table = calibrate(stacked @ stacked.T, self.anchors)

        def similarity(one: int, other: int) -> float | None:
            if one not in places or other not in places:
                return None
            return float(table[places[one], places[other]])

        return similarity
