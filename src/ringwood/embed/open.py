"""From the name that `--embedder` takes to an embedder."""

from __future__ import annotations

from ringwood.embed.base import Embedder
from ringwood.embed.bundled import BundledEmbedder
from ringwood.embed.hashing import DEFAULT_DIM, HashingEmbedder
from ringwood.errors import UsageError

NAMES = ("bundled", "words", "hashing", "hashing:DIM")
"""What this version takes."""

_REMOTE = ("ollama", "openai")


def open_embedder(name: str, *, threads: int | None = None) -> Embedder | None:
    """Make the embedder of this name; None for `words`, which is recall without one.

    Costs nothing: no model is imported and no process is started before the first text.

    Args:
        name: One of `NAMES`.
        threads: Of the model, for `bundled`; None for all cores.

    Raises:
        UsageError: when there is no such embedder.
        EmbedderError: when no model package is installed.
    """
    kind, _, argument = name.partition(":")
    if name == "words":
        return None
    if name == "bundled":
        return BundledEmbedder(threads=threads)
    if kind == "hashing" and (name == kind or _is_dim(argument)):
        return HashingEmbedder(int(argument or DEFAULT_DIM))
    if kind in _REMOTE:
        raise UsageError(
            f"remote embedders are not in this version: {name!r}",
            mend="use `--embedder bundled`, or `--embedder words` to go without",
        )
    raise UsageError(f"there is no embedder {name!r}", mend=f"use one of: {', '.join(NAMES)}")


def _is_dim(argument: str) -> bool:
    """Whether this is a number of columns: 1 to 4096."""
    return argument.isascii() and argument.isdigit() and 1 <= int(argument) <= 4096
