"""What a home keeps of a server's model, so that it knows it again, and needs no server to open."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass

import numpy as np

from ringwood.embed import shipped
from ringwood.embed.base import Anchors, FloatRows, Means

PROBES = (
    "The ferry leaves at seven, but only when the harbour is free of ice.",
    "昨天会议决定先修复登录问题，再发布新版本。",
    "def retry(call, times=3): return next(filter(None, map(call, range(times))))",
)
"""Three texts by whose vectors a model is known again. Never changed: homes hold their vectors."""

SAME = 0.999
"""Cosine from which two vectors of one text are of one model. Builds of a model differ by 2e-3 in a
component, another quantisation or version by far more."""


@dataclass(frozen=True, slots=True)
class Record:
    """A model as it was met first."""

    digest: str
    """What tells its weights from others: of the server, else of the vectors of `PROBES`."""
    probes: FloatRows
    """float32[3, d]: vectors of `PROBES` as passages, unit length."""
    means: Means
    """Measured on the shipped sentences."""
    anchors: Anchors
    """Measured on the shipped pairs."""

    @property
    def dim(self) -> int:
        """Columns of a row."""
        return int(self.probes.shape[1])

    def is_of_the_model_of(self, other: Record) -> bool:
        """Say whether two records are of one model, by the vectors of the probes."""
        if self.dim != other.dim:
            return False
        return float(np.einsum("ij,ij->i", self.probes, other.probes).min()) >= SAME

    def dumps(self) -> str:
        """Write it as JSON."""
        measured = shipped.record_of(self.digest, self.means, self.anchors)
        halves = self.probes.astype("<f2")  # moves a cosine by 1e-6
        return json.dumps(
            measured | {"dim": self.dim, "probes": base64.b64encode(halves.tobytes()).decode()}
        )

    @classmethod
    def loads(cls, text: str) -> Record | None:
        """Read it; None when it is none, or damaged: the model is then met again."""
        try:
            told = json.loads(text)
            means, anchors = shipped.read_record(told)
            halves = np.frombuffer(base64.b64decode(told["probes"]), dtype="<f2")
            probes = halves.astype(np.float32).reshape(len(PROBES), told["dim"])
            probes /= np.linalg.norm(probes, axis=1, keepdims=True)
            return cls(str(told["identity"]), probes, means, anchors)
        except (AttributeError, LookupError, TypeError, ValueError):
            return None
