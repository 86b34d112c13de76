"""Ollama, by its own API: it tells the digest of a model, and takes an order not to truncate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ringwood.embed.remote.base import Cells
from ringwood.embed.remote.client import Client
from ringwood.embed.remote.failure import Failure


class Ollama:
    """Embeds with a model that Ollama serves."""

    provider = "ollama"

    def __init__(self, model: str, url: str, *, connect_timeout_s: float) -> None:
        """Name model and server, whose base URL is checked; nothing is opened."""
        self.model = model
        self._client = Client(
            url,
            key=None,
            connect_timeout_s=connect_timeout_s,
            mends={404: f"ollama pull {model}"},
        )

    def digest(self, *, deadline: float) -> str:
        """Return the beginning of the model's digest; empty when it is not listed.

        A gateway before Ollama may serve `/api/embed` and nothing else.
        """
        try:
            told = self._client.ask("GET", "/api/tags", deadline=deadline)
            models = _list(told, "models")
        except Failure as failure:
            if failure.again:
                raise
            return ""
        wanted = self.model if ":" in self.model.rpartition("/")[2] else f"{self.model}:latest"
        for each in models:
            if isinstance(each, dict) and wanted in (each.get("name"), each.get("model")):
                return str(each.get("digest", "")).removeprefix("sha256:")[:12]
        return ""

    def embed(self, texts: Sequence[str], *, deadline: float, patient: bool) -> Cells:
        """Embed; a text that is too long is a failure and not a row of its beginning."""
        payload = {"model": self.model, "input": list(texts), "truncate": False}
        told = self._client.ask("POST", "/api/embed", payload, deadline=deadline, patient=patient)
        rows: Cells = _list(told, "embeddings")
        return rows

    def close(self) -> None:
        """Let go of connections. Idempotent."""
        self._client.close()

    def after_fork_in_child(self) -> None:
        """Leave connections to the parent."""
        self._client.after_fork_in_child()


def _list(told: Any, name: str) -> list[Any]:  # noqa: ANN401 - a stranger's JSON
    """Return a list of an answer.

    Raises:
        Failure: when the answer has none of this name.
    """
    found = told.get(name) if isinstance(told, dict) else None
    if not isinstance(found, list):
        raise Failure(f"Ollama answered without {name!r}", mend="check embed.ollama_url")
    return found
