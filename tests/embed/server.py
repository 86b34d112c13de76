"""A real server on loopback that embeds, by both protocols, and misbehaves as it is told."""

from __future__ import annotations

import gzip
import json
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any

import numpy as np

from ringwood.embed.base import FloatRows
from ringwood.embed.hashing import HashingEmbedder
from ringwood.embed.open import open_embedder
from ringwood.embed.options import EmbedOptions
from ringwood.embed.remote.embedder import RemoteEmbedder
from ringwood.embed.remote.record import Record

KEY = "sk-test-4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c"
DIGEST = "sha256:0a109f422b47e3a30ba2b10eca18548e944e8a23073ee3f3e947efcf3c45e59f"


@dataclass
class Behaviour:
    """What the server does with the next requests; a test changes it as it goes."""

    mode: str = "ok"
    """`ok`, or a way to misbehave: see `_Handler`."""
    times: int = -1
    """After so many requests in `mode` all is well again; -1: never."""
    dim: int = 64
    """Columns of a row."""
    cone: float = 0.0
    """How strongly all vectors lean to one side, as those of real models do."""
    model: int = 0
    """Which model answers: vectors of two have nothing to do with each other."""
    noise: float = 0.0
    """How much of a row is chance."""
    max_texts: int = 1_000_000
    """Texts of one request that are too many."""
    max_chars: int = 1_000_000
    """Characters of one text that are too many."""
    lists: bool = True
    """Whether Ollama's list of models is served."""
    refused: str = ""
    """A text that holds this ends in status 500."""
    retry_after: str = ""
    """Header of a 429."""
    elsewhere: str = ""
    """Where a redirect leads."""
    changes: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Fields that change with the request of a number, from 1."""
    requests: list[dict[str, Any]] = field(default_factory=list)
    """What was asked, with path, headers and the client's port."""
    done: Event = field(default_factory=Event)
    """Set when the server ends: whoever hangs stops hanging."""

    def rows(self, texts: list[str]) -> FloatRows:
        """Embed texts."""
        rows = HashingEmbedder(self.dim).embed_passages(texts)
        rows = np.roll(rows, self.model, axis=1) * (1.0 if self.model % 2 == 0 else -1.0)
        chance = np.random.default_rng(len(self.requests)).normal(size=rows.shape)
        return np.asarray(rows + self.cone + self.noise * chance, dtype=np.float32) * 3.0

    @property
    def texts(self) -> list[str]:
        """All texts that were asked for."""
        return [text for each in self.requests for text in each.get("input", ())]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body leave apart: 40 ms for every answer otherwise
    behaviour: Behaviour
    lock: Lock

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer Ollama's list of models."""
        self.behaviour.requests.append({"path": self.path})
        if not self.behaviour.lists:
            self._send(404, {"error": "not found"})
        elif not self._misbehaves([]):
            listed = [{"name": "fake:latest", "model": "fake:latest", "digest": DIGEST}]
            self._send(200, {"models": listed})

    def do_POST(self) -> None:
        """Answer a request for vectors."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        asked = json.loads(body)
        self.behaviour.requests.append(
            asked
            | {
                "path": self.path,
                "headers": dict(self.headers.items()),
                "port": self.client_address[1],
            }
        )
        for name, value in self.behaviour.changes.get(len(self.behaviour.requests), {}).items():
            setattr(self.behaviour, name, value)
        texts = asked["input"]
        if self._misbehaves(texts) or self._refuses(asked):
            return
        self._send(200, self._answer(self.behaviour.rows(texts).tolist()))

    def _answer(self, rows: list[Any]) -> dict[str, Any]:
        if self.path == "/api/embed":
            return {"model": "fake", "embeddings": rows}
        numbered = [{"index": at, "embedding": row} for at, row in enumerate(rows)]
        return {"data": numbered[::-1]}  # the order is in the numbers

    def _refuses(self, asked: dict[str, Any]) -> bool:
        """Refuse what a well-behaved server refuses too."""
        texts = asked["input"]
        if asked["model"].partition(":")[0] != "fake":
            self._send(404, {"error": {"message": f"model {asked['model']!r} not found"}})
        elif len(texts) > self.behaviour.max_texts:
            self._send(413, {"error": "batch size 16 > maximum allowed batch size 4"})
        elif max(map(len, texts)) > self.behaviour.max_chars:
            self._send(400, {"error": "the input length exceeds the context length"})
        elif self.behaviour.refused and any(self.behaviour.refused in text for text in texts):
            self._send(500, {"error": f"unsupported value: NaN in {texts[0]}"})
        else:
            return False
        return True

    def _misbehaves(self, texts: list[str]) -> bool:
        told = self.behaviour
        with self.lock:
            if told.mode == "ok" or told.times == 0:
                return False
            told.times -= 1
        return bool(_WAYS[told.mode](self, texts))

    def _send(self, status: int, told: object, **headers: str) -> None:
        self._send_bytes(status, json.dumps(told).encode(), **headers)

    def _send_bytes(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    # -- ways to misbehave; each says whether the request is dealt with ---------------------

    def _status(self, status: int, message: str, **headers: str) -> bool:
        self._send(status, {"error": {"message": message}}, **headers)
        return True

    def wrong_key(self, texts: list[str]) -> bool:
        """Refuse the key, and quote it."""
        return self._status(401, f"Incorrect API key provided: {KEY}.")

    def gossip(self, texts: list[str]) -> bool:
        """Quote what was sent."""
        return self._status(400, f"cannot embed {' '.join(texts)}")

    def broken(self, texts: list[str]) -> bool:
        """Fail inside."""
        return self._status(500, "internal error")

    def overloaded(self, texts: list[str]) -> bool:
        """Be overloaded."""
        return self._status(503, "model is loading")

    def limited(self, texts: list[str]) -> bool:
        """Ask to wait."""
        return self._status(429, "slow down", Retry_After=self.behaviour.retry_after)

    def quota(self, texts: list[str]) -> bool:
        """Have no more for this account."""
        return self._status(429, "You exceeded your current quota.")

    def moved(self, texts: list[str]) -> bool:
        """Redirect."""
        return self._status(307, "", Location=self.behaviour.elsewhere)

    def hangs(self, texts: list[str]) -> bool:
        """Accept and never answer."""
        self.behaviour.done.wait(60.0)
        self.close_connection = True
        return True

    def drips(self, texts: list[str]) -> bool:
        """Answer a byte now and then."""
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while not self.behaviour.done.wait(0.05):
            try:
                self.wfile.write(b"x")
            except OSError:
                break
        self.close_connection = True
        return True

    def slow(self, texts: list[str]) -> bool:
        """Answer rightly, after a while."""
        self.behaviour.done.wait(0.4)
        return False

    def resets(self, texts: list[str]) -> bool:
        """Break off with a reset."""
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.connection.close()
        self.close_connection = True
        return True

    def garbage(self, texts: list[str]) -> bool:
        """Answer no JSON."""
        self._send_bytes(200, b'{"embeddings": [[0.1, ')
        return True

    def page(self, texts: list[str]) -> bool:
        """Answer the error page of something in between."""
        self._send_bytes(502, b"<html><h1>Bad gateway</h1></html>")
        return True

    def login(self, texts: list[str]) -> bool:
        """Answer a web page as if all were well."""
        self._send_bytes(200, b"<!doctype html><title>Sign in</title>")
        return True

    def huge(self, texts: list[str]) -> bool:
        """Answer without end."""
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        with suppress(OSError):
            while not self.behaviour.done.is_set():
                self.wfile.write(b" " * 1_000_000)
        self.close_connection = True
        return True

    def packed(self, texts: list[str]) -> bool:
        """Answer a small body that unpacks to a large one."""
        self._send_bytes(200, gzip.compress(b" " * 50_000_000), Content_Encoding="gzip")
        return True

    def other_shape(self, texts: list[str]) -> bool:
        """Answer JSON of another kind."""
        self._send(200, {"result": "ok"})
        return True

    def unnumbered(self, texts: list[str]) -> bool:
        """Give every row the same number."""
        rows = [{"index": 0, "embedding": row} for row in self.behaviour.rows(texts).tolist()]
        self._send(200, {"data": rows})
        return True

    def _rows_like(self, change: str, texts: list[str]) -> bool:
        rows: list[Any] = self.behaviour.rows(texts).tolist()
        if change == "nan":
            rows[0][0] = float("nan")
        elif change == "infinite":
            rows[0][0] = 1e400
        elif change == "zero":
            rows[0] = [0.0] * len(rows[0])
        elif change == "fewer":
            rows = rows[1:]
        elif change == "more":
            rows = [*rows, rows[0]]
        elif change == "ragged":
            rows[0] = rows[0][1:]
        elif change == "strings":
            rows[0] = ["a"] * len(rows[0])
        elif change == "nothing":
            rows[0] = None
        elif change == "empty":
            rows = [[] for _ in rows]
        self._send(200, self._answer(rows))
        return True


_ROWS = ("nan", "infinite", "zero", "fewer", "more", "ragged", "strings", "nothing", "empty")
_NAMES = [
    "wrong_key",
    "gossip",
    "broken",
    "overloaded",
    "limited",
    "quota",
    "moved",
    "hangs",
    "drips",
    "slow",
    "resets",
    "garbage",
    "page",
    "login",
    "huge",
    "packed",
    "other_shape",
    "unnumbered",
]
_WAYS: dict[str, Any] = {name: getattr(_Handler, name) for name in _NAMES} | {
    change: (lambda handler, texts, change=change: handler._rows_like(change, texts))
    for change in _ROWS
}


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, *arguments: Any) -> None:  # noqa: ANN401 - what the base takes
        super().__init__(*arguments)
        self.lines: list[socket.socket] = []

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Remember the line, so that it can be cut."""
        self.lines.append(request)
        super().process_request(request, client_address)

    def cut(self) -> None:
        """Break every line off: a kept connection would be served though nobody listens."""
        for line in self.lines:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that left: that is what they are tested for."""


class Place:
    """A port with or without a server: one that went down comes back under the same address."""

    def __init__(self, behaviour: Behaviour) -> None:
        """Start serving on a free port."""
        self.behaviour = behaviour
        self._server: _Quiet | None = None
        self._embedders: list[RemoteEmbedder] = []
        self.port = 0
        self.start()

    @property
    def url(self) -> str:
        """The server's root."""
        return f"http://127.0.0.1:{self.port}"

    def embedder(
        self,
        name: str = "openai:fake",
        record: Record | None = None,
        **options: Any,  # noqa: ANN401 - fields of EmbedOptions
    ) -> RemoteEmbedder:
        """Make an embedder that asks this server; it is closed when serving ends.

        Args:
            name: what `--embedder` takes.
            record: what is known of the model; None: it is not met, so that every request counts.
            options: instead of options without a pause after a failure.
        """
        urls: dict[str, Any] = {"ollama_url": self.url, "openai_url": f"{self.url}/v1"}
        chosen = EmbedOptions(**(urls | {"pause_s": 0.0} | options))
        opened = open_embedder(name, options=chosen, key_of=lambda provider: KEY)
        assert isinstance(opened, RemoteEmbedder)
        self._embedders.append(opened)
        if record is not None:
            opened.know(record)
        return opened

    def start(self) -> None:
        """Serve."""
        self.behaviour.done.clear()
        handler = type(
            "Handler", (_Handler,), {"behaviour": self.behaviour, "lock": Lock(), "timeout": 10.0}
        )
        self._server = _Quiet(("127.0.0.1", self.port), handler)
        self.port = self._server.server_address[1]
        Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        """Refuse connections. Idempotent."""
        self.behaviour.done.set()
        if self._server is not None:
            self._server.shutdown()
            self._server.socket.close()
            self._server.cut()
            self._server = None

    def close(self) -> None:
        """Close what was opened here, and stop."""
        for each in self._embedders:
            each.close()
        self.stop()


@contextmanager
def serving(**behaviour: Any) -> Iterator[Place]:  # noqa: ANN401 - fields of Behaviour
    """Serve while the context lasts."""
    place = Place(Behaviour(**behaviour))
    try:
        yield place
    finally:
        place.close()
