"""Which embedder, and how it is used."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EmbedOptions:
    """Settings of embedding."""

    embedder: str | None = None
    """`bundled`, `words`, `hashing`, `ollama:MODEL`, `openai:MODEL`. None: what the home was made
    with, else `bundled`."""
    calibration: bool = True
    """False: raw cosines of the model; thresholds then mean something else for every model."""
    query_timeout_s: float = 10.0
    """How long a recall waits for its query's vector before it goes on by words."""
    ollama_url: str | None = None
    """Where Ollama listens. None: on this machine, at its usual port."""
    openai_url: str | None = None
    """Base of an OpenAI-compatible API, `/v1` included. None: OpenAI itself."""
    connect_timeout_s: float = 5.0
    """How long a server may take to accept a connection: a model loads after that, not before."""
    timeout_s: float = 120.0
    """How long one batch of texts may take, all attempts together. A model of half a billion
    parameters on two cores needs 40 s for a batch of the usual 5,000 characters."""
    pause_s: float = 10.0
    """How long a server that failed is left alone: until then recall goes by words at once."""
    batch: int = 32
    """Texts of one request at most."""
    query_prefix: str | None = None
    """What a server's model wants before a question. None: what its name tells."""
    passage_prefix: str | None = None
    """What it wants before a text to be found. None: what its name tells."""
