"""From the name that `--embedder` takes to an embedder."""

from __future__ import annotations

from collections.abc import Callable

from ringwood.embed.base import Embedder
from ringwood.embed.bundled import BundledEmbedder
from ringwood.embed.hashing import DEFAULT_DIM, HashingEmbedder
from ringwood.embed.options import EmbedOptions
from ringwood.embed.remote.open import PROVIDERS, open_remote
from ringwood.errors import UsageError

NAMES = ("bundled", "words", "hashing", "hashing:DIM", "ollama:MODEL", "openai:MODEL")
"""What this version takes."""


def open_embedder(
    name: str,
    *,
    threads: int | None = None,
    options: EmbedOptions | None = None,
    key_of: Callable[[str], str | None] = lambda provider: None,
) -> Embedder | None:
    """Make the embedder of this name; None for `words`, which is recall without one.

    Costs nothing: no model is imported, no process is started and no server asked before the first
    text.

    Args:
        name: One of `NAMES`.
        threads: Of the model, for `bundled`; None for all cores.
        options: Where servers are, and how long they may take.
        key_of: Returns the key for a provider, `openai`; None where there is none.

    Raises:
        UsageError: when there is no such embedder, or its server's URL is none.
        EmbedderError: when no model package is installed, or a key is missing.
    """
    kind, _, argument = name.partition(":")
    if name == "words":
        return None
    if name == "bundled":
        return BundledEmbedder(threads=threads)
    if kind == "hashing" and (name == kind or _is_dim(argument)):
        return HashingEmbedder(int(argument or DEFAULT_DIM))
    if kind in PROVIDERS:
        return open_remote(name, EmbedOptions() if options is None else options, key_of)
    raise UsageError(f"there is no embedder {name!r}", mend=f"use one of: {', '.join(NAMES)}")


def _is_dim(argument: str) -> bool:
    """Whether this is a number of columns: 1 to 4096."""
    return argument.isascii() and argument.isdigit() and 1 <= int(argument) <= 4096
