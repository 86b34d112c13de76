"""Hooks and resident processes as a host has them: real processes in a home of their own."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.processes import PATIENCE_S, eventually, is_alive

from ringwood import home as homes
from ringwood.memory import Memory
from ringwood.serve.resident import wire

PYTHON = (sys.executable, "-P", "-m", "ringwood")
"""The command, as a resident process is started."""


@dataclass(frozen=True, slots=True)
class Call:
    """What one hook came to."""

    code: int
    """Exit code."""
    out: bytes
    """Standard output."""
    err: bytes
    """Standard error."""
    seconds: float
    """By the wall."""
    cpu_ms: float
    """Processor time of it and of what it waited for."""

    @property
    def context(self) -> str:
        """The text that the model gets; empty where the hook said nothing."""
        if not self.out:
            return ""
        told: str = json.loads(self.out)["hookSpecificOutput"]["additionalContext"]
        return told


class Host:
    """A host that calls hooks in one home. Leaving it ends the resident process it started."""

    def __init__(self, home: Path, directory: Path, **environ: str) -> None:
        """Take the home, the folder the host works in, and what its environment has besides."""
        self.home = home
        self.directory = directory
        own = {key: value for key, value in os.environ.items() if not key.startswith("RINGWOOD_")}
        safe = {"RINGWOOD_SERVE_IDLE_S": "60", "RINGWOOD_EMBEDDER": "hashing"}
        self.environ = {**own, **safe, "RINGWOOD_HOME": str(home), **environ}

    def __enter__(self) -> Host:
        return self

    def __exit__(self, *failed: object) -> None:
        self.end_resident()

    def hook(self, event: str, *, host: str = "claude-code", **payload: object) -> Call:
        """Call a hook with a payload of the recorded shape."""
        return self.call(json.dumps(self.payload(event, **payload)).encode(), host)

    def payload(self, event: str, **more: object) -> dict[str, Any]:
        """Write what a host says of an event."""
        common = {
            "session_id": "session-1",
            "transcript_path": None,
            "cwd": str(self.directory),
            "hook_event_name": event,
        }
        return common | more

    def call(
        self,
        given: bytes,
        host: str = "claude-code",
        *,
        environ: Mapping[str, str] | None = None,
        before: Callable[[], None] | None = None,
    ) -> Call:
        """Call a hook with any bytes.

        Args:
            given: what it reads.
            host: which host calls.
            environ: what its environment has besides.
            before: done in the new process before it becomes a hook.
        """
        used_ms, began = _children_ms(), time.monotonic()
        done = subprocess.run(
            [*PYTHON, "hook", host],
            input=given,
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
            env={**self.environ, **(environ or {})},
            cwd=self.directory,
            preexec_fn=before,  # the tests that use it have no other thread
        )
        seconds = time.monotonic() - began
        return Call(done.returncode, done.stdout, done.stderr, seconds, _children_ms() - used_ms)

    def say(self, prompt: str, answer: str, *, session: str = "session-1", turn: str = "") -> None:
        """Have a person say something and an assistant answer."""
        named = {"session_id": session} | ({"prompt_id": turn} if turn else {})
        self.hook("UserPromptSubmit", prompt=prompt, **named)
        self.hook("Stop", last_assistant_message=answer, stop_hook_active=False, **named)

    def command(self, *arguments: str) -> dict[str, Any]:
        """Run a command of the same home and read its object."""
        done = subprocess.run(
            [*PYTHON, *arguments, "--json"],
            capture_output=True,
            env=self.environ,
            cwd=self.directory,
            timeout=PATIENCE_S,
            check=False,
        )
        loaded: dict[str, Any] = json.loads(done.stdout)
        return loaded

    def serve(self, *arguments: str, **environ: str) -> subprocess.Popen[bytes]:
        """Start a resident process that is our own child."""
        return subprocess.Popen(
            [*PYTHON, "serve", *arguments],
            env=self.environ | environ,
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def ask(self, do: str, **request: object) -> dict[str, Any]:
        """Ask the resident process as a patient hook."""
        return wire.ask(str(self.home), {"do": do, **request}, time.monotonic() + PATIENCE_S)

    def answers(self) -> bool:
        """Say whether a resident process is there."""
        try:
            self.ask("hello")
        except OSError:
            return False
        return True

    def settled(self, documents: int = 1) -> bool:
        """Say whether so many documents are stored, all with their vectors."""
        if not homes.exists(str(self.home)):
            return False
        with Memory.open(self.home, embedder="words", wait_s=0.0) as memory:
            states = memory.stats().totals.states
        return states.get("ready", 0) == documents == sum(states.values())

    @property
    def resident(self) -> int | None:
        """The process id of the resident process; None where there is none."""
        try:
            pid = int(self.ask("hello")["pid"])
        except OSError:
            return None
        return pid

    def end_resident(self) -> None:
        """End the resident process, and wait until it is gone."""
        pid = self.resident
        if pid is None:
            with contextlib.suppress(OSError, ValueError):
                pid = int((self.home / homes.RESIDENT_LOCK).read_text())
        if pid is not None and is_alive(pid) and "ringwood" in _command_of(pid):
            os.kill(pid, signal.SIGTERM)
            os.kill(pid, signal.SIGCONT)
            eventually(lambda: not is_alive(pid))


def _command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except FileNotFoundError:
        return "ringwood"


def _children_ms() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1000


def cpu_ms(command: list[str], environ: Mapping[str, str]) -> float:
    """Measure the processor time of a command."""
    before = _children_ms()
    subprocess.run(command, env=dict(environ), check=True)
    return _children_ms() - before
