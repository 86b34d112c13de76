"""Whatever speaks OpenAI's `/embeddings`: OpenAI, vLLM, llama.cpp, TEI, LM Studio, gateways."""

from __future__ import annotations

from collections.abc import Sequence

from ringwood.embed.remote.base import Cells
from ringwood.embed.remote.client import Client
from ringwood.embed.remote.failure import Failure


class OpenAI:
    """Embeds over an OpenAI-compatible API."""

    provider = "openai"

    def __init__(self, model: str, url: str, *, key: str | None, connect_timeout_s: float) -> None:
        """Name model and server, whose base URL is checked; nothing is opened."""
        self.model = model
        wrong_key = "correct OPENAI_API_KEY, or `key` under [openai] in credentials.toml"
        self._client = Client(
            url,
            key=key,
            connect_timeout_s=connect_timeout_s,
            mends={
                401: wrong_key,
                403: wrong_key,
                404: f"check that the server has a model {model!r}, and embed.openai_url",
            },
        )

    def digest(self, *, deadline: float) -> str:
        """Return nothing: this API tells a name, and what is behind it may change."""
        del deadline
        return ""

    def embed(self, texts: Sequence[str], *, deadline: float, patient: bool) -> Cells:
        """Embed, and put the rows in the order that they are numbered in."""
        payload = {"model": self.model, "input": list(texts), "encoding_format": "float"}
        told = self._client.ask("POST", "/embeddings", payload, deadline=deadline, patient=patient)
        try:
            rows = {
                each.get("index", at): each["embedding"] for at, each in enumerate(told["data"])
            }
            return [rows[at] for at in range(len(told["data"]))]
        except (AttributeError, LookupError, TypeError) as error:
            raise Failure(
                "the embedding server answered without 'data', 'index' and 'embedding'",
                mend="check embed.openai_url: it usually ends in /v1",
            ) from error

    def close(self) -> None:
        """Let go of connections. Idempotent."""
        self._client.close()

    def after_fork_in_child(self) -> None:
        """Leave connections to the parent."""
        self._client.after_fork_in_child()
