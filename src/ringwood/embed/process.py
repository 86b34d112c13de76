"""The client's end of one worker: start it, ask it, notice that it is late, hung or dead."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Sequence

import numpy as np

from ringwood.embed.base import FloatRows
from ringwood.embed.worker import ANSWER_HEADER, FAILED, READY, REQUEST_HEADER, ROWS
from ringwood.errors import EmbedderError

START_S = 30.0
"""How long a worker may take to load its model: 0.4 s measured, more on a busy machine."""
SILENCE_S = 60.0
"""How long a worker may work on one request. The longest takes about 0.5 s on an idle machine, and
at low priority on a busy one many times that."""

_MAX_ANSWER_BYTES = 64 * 2**20  # a longer frame is no frame: something else wrote into the pipe
_MEND = "nothing to do: words go on and vectors follow"


def worker_command(provider: str, *, background: bool) -> list[str]:
    """Say how the worker of a provider is started; in the background it steps back for others."""
    # -P: a file `json.py` in somebody's working directory is not for us.
    command = [sys.executable, "-P", "-m", "ringwood.embed.worker", "--provider", provider]
    return [*command, "--background"] if background else command


class ModelProcess:
    """One worker process. Not thread-safe: whoever has the turn may use it.

    At most one request is ever unanswered. A request that was given up leaves its answer behind;
    the next one waits for that first, so answers cannot be mixed up and writes cannot block.
    """

    def __init__(
        self,
        command: Sequence[str],
        dim: int,
        *,
        threads: int | None = None,
        silence_s: float = SILENCE_S,
    ) -> None:
        """Start the worker and return at once, while it loads its model.

        Args:
            command: What to run: `worker_command`.
            dim: Columns of a row that it answers.
            threads: Of the model; None leaves it to the environment.
            silence_s: After this long without an answer the worker counts as hung.

        Raises:
            EmbedderError: when the system starts no process.
        """
        try:
            self._process = subprocess.Popen(
                command,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=_environment(threads),
            )
        except OSError as error:
            raise EmbedderError(
                f"the embedding process did not start: {error}", mend=_MEND
            ) from error
        if self._process.stdin is None or self._process.stdout is None:  # pragma: no cover
            raise AssertionError("both are pipes")
        self._requests = self._process.stdin
        self._answers = self._process.stdout
        self._poll = select.poll()
        self._poll.register(self._answers, select.POLLIN)
        self._buffer = bytearray()
        self._dim = dim
        self._silence_s = silence_s
        self._ready = False
        self._patience_ends: float | None = time.monotonic() + START_S

    @property
    def pid(self) -> int:
        """The process id of the worker."""
        return self._process.pid

    @property
    def gone(self) -> bool:
        """Whether there is nobody left to ask."""
        return self._requests.closed

    @property
    def ended(self) -> bool:
        """Whether the process has ended, asked or not: the system may kill one that is idle."""
        return self._process.poll() is not None

    def ask(self, texts: Sequence[str], *, query: bool, deadline: float | None) -> FloatRows:
        """Embed texts. Rows unit length, in the order given.

        Args:
            texts: Readable ones, few enough for one batch.
            query: Whether they are questions.
            deadline: On the monotonic clock. None waits as long as a healthy worker can take.

        Raises:
            EmbedderError: when the deadline passed or the model refused, and the worker goes on;
                when it died, hung or answered nonsense, and `gone` is true.
        """
        if self.gone:
            raise EmbedderError("the embedding process is gone", mend=_MEND)
        while self._patience_ends is not None:  # loading, or busy with what was given up
            self._receive(deadline)
        self._send(json.dumps({"query": query, "texts": list(texts)}, ensure_ascii=False).encode())
        kind, payload = self._receive(deadline)
        if kind == FAILED:
            raise EmbedderError(f"the model refused: {payload.decode()}", mend=_MEND)
        return self._checked(payload, len(texts))

    def kill(self) -> None:
        """End the worker now, from any thread; an `ask` under way raises `EmbedderError`."""
        self._process.kill()

    def close(self) -> None:
        """End the worker and let go of its pipes. Idempotent."""
        self._process.kill()
        self._process.wait()
        self._requests.close()
        self._answers.close()

    def disown(self) -> None:
        """Let go in a forked child: the worker belongs to the parent, and so does the waiting."""
        self._process.returncode = 0  # else the destructor waits for somebody else's child
        self._requests.close()
        self._answers.close()

    def _send(self, message: bytes) -> None:
        """Write one request whole."""
        frame = memoryview(REQUEST_HEADER.pack(len(message)) + message)
        self._patience_ends = time.monotonic() + self._silence_s
        try:
            while frame:
                frame = frame[self._requests.write(frame) :]
        except OSError as error:
            raise self._lost("died") from error
        except BaseException:  # half a frame would garble the next one
            self.close()
            raise

    def _receive(self, deadline: float | None) -> tuple[bytes, bytes]:
        """Read the answer that is due: its kind and what it carries."""
        kind, size = ANSWER_HEADER.unpack(self._peek(ANSWER_HEADER.size, deadline))
        if kind not in (READY, ROWS, FAILED) or size > _MAX_ANSWER_BYTES:
            raise self._lost("answered nonsense")
        payload = self._peek(ANSWER_HEADER.size + size, deadline)[ANSWER_HEADER.size :]
        del self._buffer[: ANSWER_HEADER.size + size]
        self._patience_ends = None
        if not self._ready:
            if kind != READY:
                raise self._lost(f"could not load its model ({payload.decode()})")
            self._ready = True
        return kind, payload

    def _peek(self, size: int, deadline: float | None) -> bytes:
        """Wait for the first bytes of what was not yet taken; they stay in the buffer."""
        while len(self._buffer) < size:
            self._wait(deadline)
            piece = os.read(self._answers.fileno(), 1 << 16)
            if not piece:
                raise self._lost("died")
            self._buffer += piece
        return bytes(self._buffer[:size])

    def _wait(self, deadline: float | None) -> None:
        """Wait until the worker says something or hangs up."""
        patience_ends = self._patience_ends if self._patience_ends is not None else time.monotonic()
        until = patience_ends if deadline is None else min(deadline, patience_ends)
        left_s = until - time.monotonic()
        if self._poll.poll(max(0.0, left_s * 1000)):
            return
        if time.monotonic() >= patience_ends:
            raise self._lost("hung")
        raise EmbedderError("no vector within the time given", mend=_MEND)

    def _checked(self, payload: bytes, count: int) -> FloatRows:
        """Make unit rows of an answer, or refuse it."""
        if len(payload) != count * self._dim * 4:
            raise self._lost(f"answered {len(payload)} bytes for {count} texts")
        rows = np.frombuffer(payload, dtype=np.float32).reshape(count, self._dim)
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        if not bool(np.all(np.abs(norms - 1.0) < 1e-3)):  # false for NaN, too
            raise self._lost("answered rows that are not of unit length")
        unit: FloatRows = rows / norms
        return unit

    def _lost(self, what: str) -> EmbedderError:
        """Put an end to the worker; the error says how it came to that."""
        self.close()
        code = self._process.returncode
        return EmbedderError(f"the embedding process {what} (exit status {code})", mend=_MEND)


def _environment(threads: int | None) -> dict[str, str]:
    """Give the worker our environment, with its number of threads; idle threads do not spin."""
    environment = dict(os.environ)
    environment.setdefault("OMP_WAIT_POLICY", "passive")
    if threads is not None:
        environment["OMP_NUM_THREADS"] = environment["OPENBLAS_NUM_THREADS"] = str(threads)
    return environment
