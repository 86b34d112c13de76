"""The bundled model in a memory: killed, forked, and interrupted in the middle of its work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from ringwood.embed.bundled import BundledEmbedder
from ringwood.memory import Memory

NOTES = {
    "gateway": "The gateway listens on port 8090 behind the balancer.",
    "bread": "Knead the dough, let it rise overnight, bake it at 240 degrees.",
    "会议": "周三的会议改到周四下午三点。",
}

INTERRUPTED = 150
"""Notes of an import that is interrupted: seconds of embedding on a fast machine."""


@pytest.fixture
def embedder() -> Iterator[BundledEmbedder]:
    opened = BundledEmbedder()
    yield opened
    opened.close()


def kill_workers(embedder: BundledEmbedder) -> int:
    killed = [pid for pid in embedder.worker_pids if pid is not None]
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
        # Dead while idle, not in the midst of the next text; who made it buries it.
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    return len(killed)


def test_meaning_finds_what_no_word_does(tmp_path: Path, embedder: BundledEmbedder) -> None:
    with Memory.open(tmp_path, embedder=embedder, wait_s=30.0) as memory:
        for title, text in NOTES.items():
            memory.store(text, title=title)
        assert memory.wait()

        assert memory.recall("when is the meeting").hits[0].path.startswith("/会议")
        assert memory.recall("how do I make a loaf").hits[0].path.startswith("/bread")


def test_with_its_worker_killed_storing_and_recalling_go_on_and_vectors_follow(
    tmp_path: Path, embedder: BundledEmbedder
) -> None:
    with Memory.open(tmp_path, embedder=embedder, wait_s=30.0) as memory:
        memory.store(NOTES["gateway"], title="gateway")
        assert memory.wait()
        memory.recall("port")
        assert kill_workers(embedder) > 0

        stored = memory.store(NOTES["bread"], title="bread")
        answer = memory.recall("dough overnight")
        assert answer.hits[0].path.startswith("/bread")

        deadline = time.monotonic() + 30.0
        while memory.receipt(stored).state != "ready" and time.monotonic() < deadline:
            memory.recall("dough")  # whoever uses the home next tries again
            memory.wait(1.0)
        assert memory.receipt(stored).vectors == memory.receipt(stored).nodes
        assert not memory.recall("how do I make a loaf").notes


def test_a_forked_child_recalls_and_never_hangs(tmp_path: Path, embedder: BundledEmbedder) -> None:
    with Memory.open(tmp_path, embedder=embedder, wait_s=30.0) as memory:
        memory.store(NOTES["gateway"], title="gateway")
        assert memory.wait()
        memory.recall("port")

        child = os.fork()
        if child == 0:
            found = memory.recall("which port").hits
            os._exit(0 if found else 1)
        deadline = time.monotonic() + 25.0
        status = None
        while status is None and time.monotonic() < deadline:
            done, code = os.waitpid(child, os.WNOHANG)
            status = code if done else None
            time.sleep(0.05)
        if status is None:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

        assert status == 0
        assert memory.recall("which port").hits


def vectors_of_all(home: Path) -> int:
    """Count the vectors once every note is stored; a fast machine leaves little time for it."""
    if not (home / "memory.db").exists():
        return 0
    with closing(apsw.Connection(str(home / "memory.db"), apsw.SQLITE_OPEN_READONLY)) as hot:
        try:
            documents = hot.execute("SELECT count(*) FROM documents").get
            vectors: int = hot.execute("SELECT count(*) FROM vectors").get
        except apsw.Error:  # its tables are just being made
            return 0
    return vectors if documents == INTERRUPTED else 0


@pytest.mark.slow
@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGINT])
def test_an_import_that_was_interrupted_is_taken_up_where_it_was(
    tmp_path: Path, blow: signal.Signals
) -> None:
    folder, home = tmp_path / "notes", tmp_path / "home"
    folder.mkdir()
    for number in range(INTERRUPTED):
        text = f"# Note {number}\n\nSubject {number} of the long list.\n\nIts number is {number}."
        (folder / f"{number}.md").write_text(text, "utf-8")
    command = [sys.executable, "-m", "ringwood", "import", str(folder), "--wait", "120", "--json"]
    environment = {**os.environ, "RINGWOOD_HOME": str(home), "RINGWOOD_EMBEDDER": "bundled"}
    running = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    vectors = 0
    deadline = time.monotonic() + 60.0
    while vectors == 0 and time.monotonic() < deadline and running.poll() is None:
        time.sleep(0.02)
        vectors = vectors_of_all(home)
    running.send_signal(blow)
    out, _ = running.communicate(timeout=30)

    assert running.returncode == (-9 if blow == signal.SIGKILL else 130)
    assert blow == signal.SIGKILL or b'"interrupted"' in out
    with Memory.open(home, wait_s=0.0) as memory:
        left = memory.stats().totals.tiers["hot"]
        assert left.documents == INTERRUPTED
        assert vectors <= left.vectors < left.nodes
        memory.recall("subject")
        assert memory.wait(120.0)
        assert memory.stats().totals.states == {"ready": INTERRUPTED}
        done = memory.stats().totals.tiers["hot"]
        assert done.vectors == done.nodes
