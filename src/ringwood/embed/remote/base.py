"""The seam between the remote embedder and the two ways in which servers speak."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

Cells = Sequence[Sequence[float]]
"""Rows as a server sent them: any number of anything until `rows.checked` has seen them."""


class Server(Protocol):
    """One model behind one server. Raises `Failure`, never anything else."""

    @property
    def provider(self) -> str:
        """`ollama` or `openai`: first part of the embedder's name and identity."""

    @property
    def model(self) -> str:
        """The model's name, as the server takes it."""

    def digest(self, *, deadline: float) -> str:
        """Return what the server says the weights are; empty when it does not tell."""

    def embed(self, texts: Sequence[str], *, deadline: float, patient: bool) -> Cells:
        """Return one row per text, in order, as far as the server keeps to that."""

    def close(self) -> None:
        """Let go of connections. Idempotent."""

    def after_fork_in_child(self) -> None:
        """Leave connections to the parent."""
