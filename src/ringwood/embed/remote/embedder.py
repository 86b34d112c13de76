"""The embedder whose model runs elsewhere: it knows the model again, checks rows, and fails soon.

A model is known by three texts. Their vectors are kept with those of the home; when a process first
speaks to a server, after every failure, and every ten minutes, they are asked for again. A server
that sends others has another model behind the old name, and is refused.
"""

from __future__ import annotations

import hashlib
import logging
import os
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from threading import Lock, RLock
from typing import TypeVar

import numpy as np

from ringwood.embed import pieces, shipped
from ringwood.embed.base import Anchors, FloatRows, FloatVector, Means
from ringwood.embed.measure import measure
from ringwood.embed.options import EmbedOptions
from ringwood.embed.remote.base import Server
from ringwood.embed.remote.breaker import Breaker
from ringwood.embed.remote.calls import Calls
from ringwood.embed.remote.failure import Failure, TooLate, TooLong
from ringwood.embed.remote.prefixes import Prefixes
from ringwood.embed.remote.record import PROBES, SAME, Record
from ringwood.embed.remote.rows import checked, unit
from ringwood.errors import EmbedderError

T = TypeVar("T")

_log = logging.getLogger(__name__)

_BATCH_CHARS = 8_000
"""Characters of one request at most: about 2,000 tokens, a minute's work of a slow machine."""
_SHORTEST_PART = 64
"""A text that is too long is halved, but not below so many characters."""
_CONFIRM_EVERY_S = 600.0
"""How long a server is believed to have the model that it had."""


class RemoteEmbedder:
    """Embeds on a server. Safe from several threads, and over a fork."""

    def __init__(
        self,
        provider: str,
        model: str,
        connect: Callable[[], Server],
        prefixes: Prefixes,
        options: EmbedOptions | None = None,
    ) -> None:
        """Say who is asked and how; nothing is opened, and no HTTP client imported.

        Args:
            provider: `ollama` or `openai`.
            model: the model's name, as the server takes it.
            connect: makes the client of the server, at the first request.
            prefixes: what the model wants to read before questions and texts.
            options: limits.
        """
        self.name = f"{provider}:{model}"
        self._provider, self._model = provider, model
        self._connect = connect
        self._prefixes = prefixes
        self._options = EmbedOptions() if options is None else options
        self._server: Server | None = None
        self._record: Record | None = None
        self._met_dim: int | None = None  # while nothing else is known of the model
        self._told_of_parts = False
        self._trouble: str | None = None
        self._calls = Calls(self.name)
        self._begin()
        _live.add(self)

    def _begin(self) -> None:
        """Hold no locks, and believe nothing of the server yet."""
        self._lock = Lock()  # of the fields
        self._meeting = RLock()
        self._turn = Lock()  # passages go one batch at a time
        self._questions = Breaker(self._options.pause_s)
        self._passages = Breaker(self._options.pause_s)
        self._confirmed_at: float | None = None

    # -- who it is -------------------------------------------------------------------------------

    @property
    def record(self) -> Record | None:
        """What is known of the model; None until it was met."""
        return self._record

    @property
    def trouble(self) -> str | None:
        """Why the server was of no use the last time, in a sentence; None when it was."""
        return self._trouble

    def know(self, record: Record) -> None:
        """Take for granted what a home knows of the model; the server has to show that it is so."""
        self._record = record

    def meet(self) -> Record:
        """Return what is known of the model; ask the server first when that is nothing.

        Measures means and anchors on some five hundred short texts, which takes a local model
        seconds.

        Raises:
            EmbedderError: when the server does not answer well, or with another model in the end
                than in the beginning.
        """
        if self._record is not None:
            return self._record
        with self._meeting:
            if self._record is None:
                self._met_dim = None
                digest = self._ask(self._read_digest, self._passages)
                probes = self.embed_passages(PROBES)
                means, anchors = measure(self, *shipped.sentences())
                met = Record(digest or _digest(probes), probes, means, anchors)
                self._ask(partial(self._compare, met, patient=True), self._passages)
                self._record = met
            return self._record

    @property
    def identity(self) -> str:
        """Provider, model, digest, dimension, prefix rule, pooling. Asks the server if need be."""
        record = self.meet()
        model = f"{self._model}@{record.digest}"
        return "/".join((self._provider, model, str(record.dim), self._prefixes.rule, "server"))

    @property
    def dim(self) -> int:
        """Columns of a row. Asks the server if need be."""
        return self.meet().dim

    @property
    def means(self) -> Means:
        """The means measured when the model was met."""
        return self.meet().means

    @property
    def anchors(self) -> Anchors:
        """The anchors measured when the model was met."""
        return self.meet().anchors

    # -- embedding -------------------------------------------------------------------------------

    def embed_passages(self, texts: Sequence[str]) -> FloatRows:
        """Embed texts to be found. Rows unit length, in the order given; `[]` gives `[0, d]`."""
        if not texts:
            return np.empty((0, self.dim), dtype=np.float32)
        readable = [pieces.readable(text) for text in texts]
        batches = _batches(readable, self._options.batch)
        with self._turn:
            return np.concatenate(
                [
                    self._ask(partial(self._embed, batch, self._prefixes.passage), self._passages)
                    for batch in batches
                ]
            )

    def embed_query(self, text: str, *, timeout_s: float | None = None) -> FloatVector:
        """Embed a question, whatever passages are waiting. float32[d], unit length.

        It is asked once: who waits for an answer is better served by words than by patience.

        Raises:
            EmbedderError: also when no answer came within `timeout_s`.
        """
        asked = partial(self._embed, [pieces.readable(text)], self._prefixes.query, patient=False)
        vector: FloatVector = self._ask(asked, self._questions, timeout_s)[0]
        return vector

    def close(self) -> None:
        """Let go of connections. Idempotent; a call under way raises `EmbedderError`."""
        self._calls.close()
        with self._lock:
            server = self._server
        if server is not None:
            server.close()

    def _ask(self, work: Callable[[float], T], lane: Breaker, timeout_s: float | None = None) -> T:
        """Do some work on the server, which is told a deadline.

        Who has no time for it leaves earlier, and the work goes on: a model that was asleep is
        awake for the next question. Ollama stops loading one when nobody waits.
        """
        patience_s = self._options.timeout_s if timeout_s is None else timeout_s
        now = time.monotonic()
        deadline = now + max(patience_s, self._options.query_timeout_s)

        def attempt() -> T:
            result = work(deadline)
            lane.worked()
            self._trouble = None
            return result

        try:
            lane.check(patience_s)
        except Failure as failure:
            raise _error(failure) from failure
        try:
            return self._calls.run(attempt, now + patience_s)
        except Failure as failure:
            if failure.server:
                lane.failed(failure, patience_s)
            if failure.server and not isinstance(failure, TooLate):
                self._confirmed_at = None  # whoever answers next may be another
            error = _error(failure)
            self._trouble = error.message
            raise error from failure

    def _read_digest(self, deadline: float) -> str:
        return self._connected().digest(deadline=deadline)

    def _embed(
        self, texts: Sequence[str], prefix: str, deadline: float, *, patient: bool = True
    ) -> FloatRows:
        """Embed readable texts with the model that is known, and no other."""
        self._confirm(deadline, patient=patient)
        return self._rows(texts, prefix, deadline, patient=patient)

    def _confirm(self, deadline: float, *, patient: bool) -> None:
        """Make sure, now and then, that the server has the model that is known."""
        record, at = self._record, self._confirmed_at
        if record is None or (at is not None and time.monotonic() - at < _CONFIRM_EVERY_S):
            return
        self._compare(record, deadline, patient=patient)

    def _compare(self, record: Record, deadline: float, *, patient: bool) -> None:
        """Ask for the vectors of the probes once more; refuse those of another model."""
        now = self._rows(PROBES, self._prefixes.passage, deadline, patient=patient)
        least = float(np.einsum("ij,ij->i", now, record.probes).min())
        if least < SAME:
            raise Failure(
                f"another model answers to the name {self.name!r} than this home was filled with"
                f" (cosine {least:.3f} of the same text)",
                mend="bring the old one back, or take the new one over with `ringwood reindex`",
            )
        self._confirmed_at = time.monotonic()

    def _rows(
        self, texts: Sequence[str], prefix: str, deadline: float, *, patient: bool
    ) -> FloatRows:
        """Embed texts; fewer at once, and a text in parts, where they are too much."""
        record = self._record
        prefixed = [prefix + text for text in texts]
        try:
            cells = self._connected().embed(prefixed, deadline=deadline, patient=patient)
        except TooLong:
            half = len(texts) // 2
            parts = (texts[:half], texts[half:]) if half else _halves(texts[0])
            halves = [self._rows(part, prefix, deadline, patient=patient) for part in parts]
            if half:
                return np.concatenate(halves)
            self._tell_of_parts()
            return unit(halves[0] + halves[1])
        rows = checked(cells, len(texts), self._met_dim if record is None else record.dim)
        self._met_dim = rows.shape[1]
        return rows

    def _tell_of_parts(self) -> None:
        if not self._told_of_parts:
            self._told_of_parts = True
            _log.warning(
                "%s reads less at once than some texts hold: these get the mean of their parts",
                self.name,
            )

    def _connected(self) -> Server:
        with self._lock:
            if self._server is None:
                self._server = self._connect()
            return self._server

    def _after_fork_in_child(self) -> None:
        if self._server is not None:
            self._server.after_fork_in_child()
        self._calls.after_fork_in_child()
        self._begin()


def _error(failure: Failure) -> EmbedderError:
    """Say all of it in the message, too: the notes of a recall show no more."""
    message = f"{failure.message}; {failure.mend}" if failure.mend else failure.message
    return EmbedderError(message, mend=failure.mend)


def _digest(probes: FloatRows) -> str:
    """Tell models apart by what they answer, where a server does not tell."""
    return "probes-" + hashlib.sha256(probes.astype("<f2").tobytes()).hexdigest()[:8]


def _batches(texts: Sequence[str], most: int) -> Iterator[Sequence[str]]:
    """Group consecutive texts by number and by characters."""
    start = chars = 0
    for at, text in enumerate(texts):
        if at > start and (at - start >= most or chars + len(text) > _BATCH_CHARS):
            yield texts[start:at]
            start, chars = at, 0
        chars += len(text)
    yield texts[start:]


def _halves(text: str) -> tuple[list[str], list[str]]:
    """Cut a text in the middle, at a space where one is near.

    Raises:
        Failure: when it is short already.
    """
    middle = len(text) // 2
    if middle < _SHORTEST_PART:
        raise Failure(f"the embedding server takes no text of {len(text)} characters", server=False)
    space = text.find(" ", middle, middle + _SHORTEST_PART // 2)
    cut = middle if space < 0 else space + 1
    return [text[:cut]], [text[cut:]]


_live: weakref.WeakSet[RemoteEmbedder] = weakref.WeakSet()


def _forget_connections() -> None:
    """Let every embedder of a forked child make connections of its own."""
    for embedder in list(_live):
        embedder._after_fork_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_connections)
