"""The seam between texts and vectors. One file per provider stands behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

FloatRows = npt.NDArray[np.float32]
"""float32[n, d], row = item."""
FloatVector = npt.NDArray[np.float32]
"""float32[d]"""


@dataclass(frozen=True, slots=True)
class Means:
    """Mean vectors to subtract before comparing: what texts of one script have in common."""

    version: str
    """Changes whenever the numbers do."""
    by_script: dict[str, FloatVector]
    """float32[d] per script name; the key `""` serves every script that has none."""


@dataclass(frozen=True, slots=True)
class Anchors:
    """Where centred cosines of one embedder lie on the calibrated scale."""

    background_median: float
    """Centred cosine of unrelated pairs, median -> 0."""
    background_p999: float
    """Centred cosine of unrelated pairs, 99.9th percentile -> 0.72."""
    duplicate_q1: float
    """Centred cosine of near-duplicate pairs, lower quartile -> 0.88."""


class Embedder(Protocol):
    """Turns texts into unit rows. Safe to call from several threads.

    Both methods raise `EmbedderError` when the provider is down, late or answers nonsense, and
    `ValueError` never: any `str` is taken (repaired, cut to what the model reads).
    """

    @property
    def name(self) -> str:
        """What `--embedder` takes: `bundled`, `hashing`, ..."""

    @property
    def identity(self) -> str:
        """Provider, model, weight digest, dimension, prefix rule, pooling.

        Vectors of different identities are never compared.
        """

    @property
    def dim(self) -> int:
        """Columns of a row."""

    @property
    def means(self) -> Means:
        """The embedder's own means, used until a space has means of its own."""

    @property
    def anchors(self) -> Anchors:
        """The embedder's own anchors."""

    def embed_passages(self, texts: Sequence[str]) -> FloatRows:
        """Embed texts to be found. Rows unit length, in the order given; `[]` gives `[0, d]`."""

    def embed_query(self, text: str, *, timeout_s: float | None = None) -> FloatVector:
        """Embed a question; it does not wait for passages. float32[d], unit length.

        Raises:
            EmbedderError: also when no answer came within `timeout_s`.
        """

    def close(self) -> None:
        """Let go of model and processes. Idempotent; may be called from any thread.

        A call under way raises `EmbedderError`, and so does every later one.
        """
