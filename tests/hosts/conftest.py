"""The real DeepSeek Harness, one home and one memory per test, against a model on loopback."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from threading import Timer
from types import TracebackType
from typing import Any, Self

import pytest
from tests.hosts.mock_model import Call, MockModel, Say
from tests.processes import eventually, is_alive

from ringwood.hosts.dsh import install as installer
from ringwood.memory import Memory
from ringwood.types import address_of

ROOT = Path(__file__).resolve().parents[2]
RELEASES = ("0.2.1rc2", "0.1.5rc1")
"""With session format 4, and the last before it that is installed whole."""
WITHOUT_TITLES = "- id: session-title-llm\n  disabled: true\n"
"""0.1.5rc1 lacks the package of this row and would not boot with it."""
LIMIT_S = 90.0
"""How long a process of the host may live: it is killed, and the test fails."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What one turn of the host came to."""

    answer: str
    """What the assistant said last."""
    requests: list[dict[str, Any]]
    """What the model was sent meanwhile: requests with tools."""
    waited_s: float
    """From the beginning of the turn to its first step, by the host's own clock."""

    @property
    def first(self) -> str:
        """The first request's messages, as text."""
        return json.dumps(self.requests[0]["messages"], ensure_ascii=False)


class Running:
    """A process of the host, spoken to as its SDK does: a JSON object a line. A context manager."""

    def __init__(self, dsh: Dsh, model: MockModel) -> None:
        """Start it; it is ready when the context is entered."""
        self._model = model
        self._numbers = count(1)
        self._process = subprocess.Popen(
            [dsh.program, "--profile", "sdk"],
            cwd=dsh.workspace,
            env=dsh.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._limit = Timer(LIMIT_S, self._process.kill)  # a test that hangs fails instead
        self._place = str(dsh.workspace)

    def ask(self, session: str, prompt: str, *lines: Say | Call) -> Turn:
        """Let it answer a prompt in a session, with the model saying these lines."""
        self._model.play(*lines)
        blocks = [{"type": "text", "text": prompt}]
        self._send("session/prompt", sessionId=session, contentBlocks=blocks)
        events = []
        for told in self._lines():
            assert "error" not in told, told
            params = told.get("params", {})
            if params.get("sessionId") != session:
                continue
            if told["method"] == "session.event":
                events.append(params["event"])
            elif params.get("status") == "idle" and events:
                break
        return Turn(_answer(events), list(self._model.requests), _waited_s(events))

    def resume(self, session: str) -> None:
        """Take up a session of an earlier process."""
        number = self._send("session/resume", sessionId=session)
        told = next(told for told in self._lines() if told.get("id") == number)
        assert "error" not in told, told

    def wait_for_request(self, text: str, *, without: str) -> str:
        """Wait until the model was sent messages that hold one text and not another."""
        latest = time.monotonic() + 20
        while time.monotonic() < latest:
            for request in list(self._model.requests):
                messages = json.dumps(request["messages"])
                if text in messages and without not in messages:
                    return messages
            time.sleep(0.05)
        raise AssertionError("the model was never asked that")

    def kill(self) -> None:
        """End it as a crash would."""
        self._process.kill()

    def _send(self, method: str, **params: object) -> int:
        assert self._process.stdin is not None
        number = next(self._numbers)
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
        return number

    def _lines(self) -> Iterator[dict[str, Any]]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            yield json.loads(line)
        raise AssertionError("the host is gone")

    def __enter__(self) -> Self:
        self._limit.start()
        number = self._send(
            "initialize", cwd=self._place, provider="deepseek-official", model="deepseek-flash"
        )
        told = next(told for told in self._lines() if told.get("id") == number)
        assert "error" not in told, told
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(OSError):  # it was killed
            self._send("shutdown")
        self._process.communicate()
        self._limit.cancel()


class Dsh:
    """One installation of the host with a home of its own."""

    def __init__(self, release: str, root: Path, model: MockModel) -> None:
        """Make the host's home; the plugin is not in it yet."""
        self.release = release
        """Which."""
        self.home = root / "dsh"
        """`DSH_HOME`."""
        self.workspace = root / "harbour"
        """Where its sessions work."""
        self.memory_home = root / "memory"
        """The home that the plugin uses."""
        self.patch_file = self.home / installer.PATCH_FILE
        """Where the plugin's row is."""
        self.resumes = release != "0.1.5rc1"
        """Whether its SDK takes up sessions of earlier processes."""
        self.program = ROOT / ".hosts" / f"dsh-{release}" / "bin" / "dsh"
        """What is run."""
        self.settings = {"RINGWOOD_EMBEDDER": "words"}
        """Variables that Ringwood is run with, beside none of those of the tests."""
        self._model = model
        for folder in (self.home, self.workspace):
            folder.mkdir(parents=True)
        if release == "0.1.5rc1":
            self.patch_file.write_text(WITHOUT_TITLES, "utf-8")

    def install(self, **config: object) -> None:
        """Install the plugin, with settings of its row."""
        row = installer.row_of({"dataDir": str(self.memory_home), **config})
        installer.install(self.home, row)

    def uninstall(self) -> None:
        """Take the plugin out again."""
        installer.uninstall(self.home)

    def running(self) -> Running:
        """Start a process of the host."""
        return Running(self, self._model)

    def ask(self, session: str, prompt: str, *lines: Say | Call) -> Turn:
        """Let a process of its own answer one prompt of a new session."""
        with self.running() as host:
            return host.ask(session, prompt, *lines)

    def environment(self) -> dict[str, str]:
        """Return the variables it runs with: of ours, only those of `settings`."""
        own = {name: value for name, value in os.environ.items() if "RINGWOOD" not in name}
        return {
            **own,
            "DSH_HOME": str(self.home),
            "DSH_TELEMETRY_DISABLED": "1",
            "DEEPSEEK_API_KEY": "none",
            "DEEPSEEK_BASE_URL": self._model.url,
            **self.settings,
        }

    def log(self) -> str:
        """Return what the plugin logged."""
        file = self.memory_home / "logs" / "dsh.log"
        return file.read_text("utf-8") if file.is_file() else ""

    def children(self) -> list[int]:
        """List the processes of the children that greeted, the oldest first."""
        return [int(number) for number in re.findall(r"child (\d+) of", self.log())]

    def wait_for_document(self, source: str) -> None:
        """Wait until a document with this source key is in the memory."""
        latest = time.monotonic() + 20
        while source not in self.documents():
            assert time.monotonic() < latest, f"{source} was never stored"
            time.sleep(0.1)

    def documents(self, home: Path | None = None) -> dict[str, tuple[str, str, str]]:
        """Return address, time and text of every document by source key; the spool is taken in."""
        with Memory.open(home or self.memory_home, embedder="words", wait_s=0.0) as memory:
            memory.create()
            memory.take_in(everything=True)
            return {
                str(document.source): (
                    address_of(document.space, document.path),
                    document.created_at.isoformat(timespec="milliseconds"),
                    memory.within(space=space).read(document.path).source,
                )
                for space in memory.spaces()
                for document in memory.within(space=space).recent(limit=100)
                if document.space == space
            }

    def exchanges(self) -> dict[str, str]:
        """Return the texts of all documents by source key."""
        return {source: text for source, (_, _, text) in self.documents().items()}

    def import_sessions(self, home: Path) -> dict[str, Any]:
        """Read the host's sessions into a home; return what the command said."""
        arguments = ["dsh", "import", "--dsh-home", str(self.home), "--home", str(home), "--json"]
        done = subprocess.run(
            [sys.executable, "-m", "ringwood", *arguments],
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=True,
        )
        told: dict[str, Any] = json.loads(done.stdout)
        return told


def _answer(events: list[dict[str, Any]]) -> str:
    """Return the words of the last message of the assistant."""
    said = [event["data"] for event in events if event["type"] == "assistant/message"]
    content = said[-1].get("message", said[-1])["content"]
    return "".join(part["text"] for part in content if part["type"] == "text")


def _waited_s(events: list[dict[str, Any]]) -> float:
    times = {event["type"]: event["time"] for event in reversed(events)}
    return float(times["step/start"] - times["turn/start"]) / 1000


def blocks(request: str) -> list[str]:
    """Find the recall blocks in a request by their nonces, each once."""
    return sorted(set(re.findall(r"<memory-recall nonce=\\+\"(\w+)", request)))


@pytest.fixture
def model() -> Iterator[MockModel]:
    """A model on loopback."""
    with MockModel() as served:
        yield served


@pytest.fixture(params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    """Each release of the host in turn; skipped where it is not installed."""
    if not (ROOT / ".hosts" / f"dsh-{request.param}" / "installed").is_file():
        pytest.skip(f"needs .hosts/dsh-{request.param}: scripts/hosts.py installs it")
    return str(request.param)


@pytest.fixture
def dsh(release: str, tmp_path: Path, model: MockModel) -> Iterator[Dsh]:
    """A host with the plugin installed; afterwards none of its children lives."""
    host = Dsh(release, tmp_path, model)
    host.install()
    yield host
    eventually(lambda: not any(map(is_alive, host.children())))
