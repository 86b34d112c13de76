"""How one home compares meanings: an embedder, the identity of its vectors, means and anchors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ringwood.embed.base import Anchors, Embedder, FloatRows, Means
from ringwood.embed.calibration import calibrate, centre

TEMPLATE = "ctx1"
"""Version of the text that is embedded for a node: see `write/template.py`."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What recall and linking need to compare vectors."""

    embedder: Embedder
    """Turns texts into vectors."""
    means: Means
    """Subtracted before comparing."""
    anchors: Anchors | None
    """Map of centred cosines to 0..1; None: raw cosines are used as they are."""

    @classmethod
    def of(cls, embedder: Embedder, *, calibrated: bool = True) -> Meaning:
        """Take the embedder's own means and anchors."""
        return cls(embedder, embedder.means, embedder.anchors if calibrated else None)

    @property
    def identity(self) -> str:
        """Under which vectors are stored: those of another identity are never compared."""
        return f"{self.embedder.identity}/{TEMPLATE}"

    def centre(self, rows: FloatRows, scripts: Sequence[str]) -> FloatRows:
        """Subtract each row's script mean. Rows unit length."""
        return centre(rows, scripts, self.means)

    def similarity(self, raw: float, centred: float) -> float:
        """Return the calibrated similarity of a pair, 0..1, from its two cosines."""
        if self.anchors is None:
            return min(1.0, max(0.0, raw))
        return float(calibrate(centred, self.anchors))

    def to_others(
        self,
        row: npt.NDArray[np.float32],
        script: str,
        others: Sequence[npt.NDArray[np.float32]],
        scripts: Sequence[str],
    ) -> list[float]:
        """Compare one row with others, each unit length: calibrated similarities, 0..1."""
        table = self._table(np.stack([row, *others]), [script, *scripts], slice(0, 1))
        return [float(each) for each in table[0, 1:]]

    def among(
        self, rows: Mapping[int, npt.NDArray[np.float32]], scripts: Mapping[int, str]
    ) -> dict[tuple[int, int], float]:
        """Compare all pairs of nodes: calibrated similarities, 0..1, the smaller id first."""
        ids = sorted(rows)
        if len(ids) < 2:
            return {}
        stacked = np.stack([rows[each] for each in ids])
        table = self._table(stacked, [scripts[each] for each in ids], slice(None))
        return {
            (one, other): float(table[i, j])
            for i, one in enumerate(ids)
            for j, other in enumerate(ids)
            if i < j
        }

    def _table(
        self, rows: FloatRows, scripts: Sequence[str], left: slice
    ) -> npt.NDArray[np.float32]:
        """Compare the rows of a slice with all rows: float32[slice, n]."""
        if self.anchors is None:
            return np.asarray(np.clip(rows[left] @ rows.T, 0.0, 1.0), dtype=np.float32)
        centred = self.centre(rows, scripts)
        return np.asarray(calibrate(centred[left] @ centred.T, self.anchors), dtype=np.float32)
