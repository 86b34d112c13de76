"""A warm interpreter: everything is imported and was used once, and each trial is a fork of it.

Starting Python costs more than what a trial does, and a call that fails while Python itself starts
tells nothing of us. A child begins with nothing open; where it is to be traced it waits for that.
"""

from __future__ import annotations

import ctypes
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 120.0
"""After so long a child that should take a second is given up, and counts as hung."""
GO = signal.SIGUSR1
"""A child that waits goes on at it, each time it waits."""

_SETTINGS = {
    "OPENBLAS_NUM_THREADS": "1",  # its threads would not survive a fork
    "RINGWOOD_UPKEEP_RETRY_S": "0.2",  # what failed is tried again while the judge waits
}
_ANY_TRACER = (0x59616D61, -1)  # PR_SET_PTRACER: strace is our sibling, which Yama would refuse


class Warm:
    """One interpreter that forks children, one at a time. A context manager."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        """Prepare; the interpreter starts when the context is entered."""
        own = {k: v for k, v in os.environ.items() if not k.startswith("RINGWOOD_")}
        self._environ = {**own, **_SETTINGS, **(environ or {})}

    def __enter__(self) -> Self:
        self._parent = subprocess.Popen(
            [sys.executable, "-X", "utf8", "-c", "from tests.faults import warm; warm.serve()"],
            cwd=ROOT,
            env=self._environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        with suppress(BrokenPipeError):
            self._parent.stdin.close()
        self._parent.stdout.close()
        self._parent.wait(PATIENCE_S)

    @contextmanager
    def child(self, function: Callable[..., object], *arguments: object) -> Iterator[Child]:
        """Fork a child that calls a function of a module of ours; it waits for `Child.go`.

        Args:
            function: a function at the top of a module.
            arguments: as JSON takes them.
        """
        request = [function.__module__, function.__name__, arguments]
        child = Child(int(self._exchange(json.dumps(request))))
        timer = threading.Timer(PATIENCE_S, child.kill)
        timer.start()
        try:
            yield child
        except BaseException:
            child.kill()
            raise
        finally:
            child.go()  # where nobody told it yet
            self._bury(child)
            timer.cancel()

    def call(self, function: Callable[..., object], *arguments: object) -> int:
        """Call a function in a child; return what it ended with, -9 for a kill."""
        with self.child(function, *arguments) as child:
            child.go()
        assert child.code is not None
        return child.code

    def _bury(self, child: Child) -> None:
        assert self._parent.stdout is not None
        child.code = int(self._parent.stdout.readline() or -1)

    def _exchange(self, line: str) -> str:
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        self._parent.stdin.write(line + "\n")
        self._parent.stdin.flush()
        return self._parent.stdout.readline()


class Child:
    """A forked child that waits to be told to go on."""

    def __init__(self, pid: int) -> None:
        """Name it. It is buried by its parent, so that the number stays its own until then."""
        self.pid = pid
        self.code: int | None = None
        """What it ended with, -9 for a kill; None while it runs."""

    @property
    def runs(self) -> bool:
        """Whether it has not ended yet."""
        with suppress(OSError):
            stat = Path(f"/proc/{self.pid}/stat").read_text("ascii", "replace")
            return stat.rpartition(")")[2].split()[0] not in "ZX"
        return False

    def go(self) -> None:
        """Let it go on."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, GO)

    def kill(self) -> None:
        """End it at once."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


def wait_to_go() -> None:
    """Wait, in a child, until it is told to go on."""
    signal.sigwait({GO})


def serve() -> None:
    """Be the interpreter: fork a child for each line, tell its number, then how it ended."""
    logging.getLogger("ringwood").addHandler(logging.NullHandler())  # else Python prints it
    with tempfile.TemporaryDirectory() as folder:
        import_module("tests.faults.workloads").warm_up(Path(folder))
    signal.pthread_sigmask(signal.SIG_BLOCK, {GO})
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            _be_child(*json.loads(line))
        _say(pid)
        _, status = os.waitpid(pid, 0)
        _say(os.waitstatus_to_exitcode(status))


def _say(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def _be_child(module: str, name: str, arguments: list[Any]) -> None:
    """Call a function and end without a trace of the parent's own end."""
    code = 70
    try:
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        os.dup2(2, 1)
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(*_ANY_TRACER)
        function = getattr(import_module(module), name)
        wait_to_go()
        answer = function(*arguments)
        code = answer if isinstance(answer, int) else 0
    except BaseException:  # noqa: BLE001 - whatever it is, a child must not go on as the parent
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(code)
