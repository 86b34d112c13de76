"""From `ollama:MODEL` or `openai:MODEL` to an embedder."""

from __future__ import annotations

from collections.abc import Callable

from ringwood.embed.options import EmbedOptions
from ringwood.embed.remote.address import PORTS, base_url
from ringwood.embed.remote.base import Server
from ringwood.embed.remote.embedder import RemoteEmbedder
from ringwood.embed.remote.prefixes import prefixes_of
from ringwood.errors import EmbedderError, UsageError

PROVIDERS = ("ollama", "openai")
"""What stands before the colon."""

OLLAMA_URL = "http://127.0.0.1:11434"
OPENAI_URL = "https://api.openai.com/v1"

_OLLAMA = "embed.ollama_url"


def open_remote(
    name: str, options: EmbedOptions, key_of: Callable[[str], str | None]
) -> RemoteEmbedder:
    """Make the embedder of this name. Nothing is asked and no HTTP client imported.

    Args:
        name: `ollama:MODEL` or `openai:MODEL`.
        options: where the servers are, and limits.
        key_of: returns the key for a provider; None where there is none.

    Raises:
        UsageError: when no model is named.
        ConfigError: when a base URL is none.
        EmbedderError: when the key is missing, or none that can be sent.
    """
    provider, _, model = name.partition(":")
    if not model.strip() or not model.isprintable():
        raise UsageError(f"{name!r} names no model", mend=f"--embedder {provider}:MODEL")
    prefixes = prefixes_of(model, query=options.query_prefix, passage=options.passage_prefix)
    connect = _ollama(model, options) if provider == "ollama" else _openai(model, options, key_of)
    return RemoteEmbedder(provider, model, connect, prefixes, options)


# httpx2 takes 0.3 s to import: it is paid by whoever speaks to a server first, not by who opens a
# home.


def _ollama(model: str, options: EmbedOptions) -> Callable[[], Server]:
    url = base_url(options.ollama_url or OLLAMA_URL, setting=_OLLAMA, port=PORTS[_OLLAMA])

    def connect() -> Server:
        from ringwood.embed.remote.ollama import Ollama  # noqa: PLC0415

        return Ollama(model, url, connect_timeout_s=options.connect_timeout_s)

    return connect


def _openai(
    model: str, options: EmbedOptions, key_of: Callable[[str], str | None]
) -> Callable[[], Server]:
    url = base_url(options.openai_url or OPENAI_URL, setting="embed.openai_url")
    key = key_of("openai")
    if key is None and url == OPENAI_URL:
        raise EmbedderError(
            "there is no key for OpenAI: OPENAI_API_KEY is not set, and credentials.toml has none",
            mend="set OPENAI_API_KEY, or embed.openai_url for a server that needs no key",
        )
    if key is not None and not _can_be_sent(key):
        raise EmbedderError(
            "the key for OpenAI holds characters that no key has: a space, a line end, a quote",
            mend="copy it again",
        )

    def connect() -> Server:
        from ringwood.embed.remote.openai import OpenAI  # noqa: PLC0415

        return OpenAI(model, url, key=key, connect_timeout_s=options.connect_timeout_s)

    return connect


def _can_be_sent(key: str) -> bool:
    """Say whether a key fits into a header: an error about one that does not would quote it."""
    return key.isascii() and key.isprintable() and not set(key) & set(" \"'")
