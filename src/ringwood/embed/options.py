"""Which embedder, and how it is used."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EmbedOptions:
    """Settings of embedding."""

    embedder: str | None = None
    """`bundled`, `words`, `hashing`. None: what the home was made with, else `bundled`."""
    calibration: bool = True
    """False: raw cosines of the model; thresholds then mean something else for every model."""
    query_timeout_s: float = 10.0
    """How long a recall waits for its query's vector before it goes on by words."""
