"""Several processes and threads at one home: nobody is refused, nobody blocks, no log grows.

Rows of kinds LOCK and WAL of the list of public reports, by their number, and cases `con-*`.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.processes import eventually
from tests.serve.mcp_clients import Lines

from ringwood.capture import spool
from ringwood.capture.exchange import Event
from ringwood.memory import Memory

LOG_LIMIT = 16 * 2**20
"""Bytes that a write-ahead log may have when nobody reads."""
OTHER_UPKEEP = ("compact", "verify")

READ_ON = """
import sys, apsw
connection = apsw.Connection(sys.argv[1])
connection.set_busy_timeout(30_000)
connection.execute("BEGIN")
connection.execute("SELECT id FROM nodes").fetchone()
print("reading", flush=True)
sys.stdin.readline()
"""
WRITE_ON = """
import sys, apsw
connection = apsw.Connection(sys.argv[1])
connection.set_busy_timeout(30_000)
connection.execute("BEGIN IMMEDIATE")
connection.execute("INSERT INTO meta (key, value) VALUES ('stale', 'server')")
print("writing", flush=True)
sys.stdin.readline()
"""
STORE_AND_DIE = """
import os, signal, sys
from ringwood.memory import Memory
for number in range(int(sys.argv[2])):
    session = os.fork()
    if not session:
        memory = Memory.open(sys.argv[1], embedder="words")
        memory.store(f"Session {number}. " + "The heron waits. " * 4000)
        os.kill(os.getpid(), signal.SIGKILL)
    assert os.WTERMSIG(os.waitpid(session, 0)[1]) == signal.SIGKILL
"""
"""Sessions one after the other, each of which stores a long text and is killed."""
USE_ALL = """
import sys
from pathlib import Path
from ringwood.memory import Memory
opened = []
def listen(event, given):
    if event == "open" and str(given[0]).endswith((".db", ".db-wal", ".db-shm")):
        opened.append(str(given[0]))
sys.addaudithook(listen)
home = Path(sys.argv[1])
with Memory.open(home, embedder="hashing") as memory:
    for number in range(3):
        receipt = memory.store(f"Note {number} of a heron.")
    memory.wait()
    memory.recall("heron")
    memory.stats()
    memory.rotate()
    memory.dream()
    memory.forget(receipt.address)
    memory.compact()
    memory.verify()
    memory.backup(home.with_name("backup"))
    with home.with_name("export").open("wb") as file:
        memory.export(file)
    if sys.argv[2:]:
        open(home / "memory.db").close()
print(*(each for each in opened if Path(each).parent == home))
"""


@contextmanager
def program(code: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Another program at the home that has begun, and ends when its input does."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()


def log_of(memory: Memory) -> int:
    """Measure the write-ahead log of the hot tier, bytes."""
    log = Path(memory.home) / "memory.db-wal"
    return log.stat().st_size if log.exists() else 0


def documents(memory: Memory) -> int:
    return sum(memory.spaces().values())


def test_1_no_write_fails_while_another_process_holds_a_cursor(words: Memory) -> None:
    words.store("The first note.")
    with program(READ_ON, str(Path(words.home) / "memory.db")):
        for number in range(200):
            assert words.store(f"Note {number}.").state == "ready"
    assert documents(words) == 201


def test_3_a_stale_server_with_an_open_transaction_stops_no_hook_and_no_recall(
    words: Memory,
) -> None:
    """A store waits for it, and goes through when the stale server is gone."""
    words.store("The port is 8090.")
    with (
        ThreadPoolExecutor(1) as pool,
        program(WRITE_ON, str(Path(words.home) / "memory.db")) as stale,
    ):
        waits = pool.submit(words.store, "The ferry leaves at nine.")
        event = Event(
            host="test", session="s", sequence="1", kind="person", text="Which port?", at=1e9
        )
        spool.append(words.home, event)
        assert [hit.text for hit in words.recall("port").hits] == ["The port is 8090."]
        assert not waits.done()
        stale.kill()
        assert waits.result(30).state == "ready"
    assert words.recall("ferry").hits


def test_5_stores_during_a_rotation_succeed(tmp_path: Path) -> None:
    long_ago = datetime.now(UTC) - timedelta(days=60)
    with (
        Memory.open(tmp_path / "home", embedder="words") as rotating,
        Memory.open(tmp_path / "home", embedder="words") as storing,
    ):
        for number in range(120):
            rotating.store(f"Old note {number}.", at=long_ago)
        with ThreadPoolExecutor(1) as pool:
            rotation = pool.submit(rotating.rotate)
            stored = 0
            while not rotation.done() or not stored:
                assert storing.store(f"New note {stored}.").state == "ready"
                stored += 1
        assert rotation.result().moved["warm"] == 120
        tiers = storing.stats().totals.tiers
        assert (tiers["hot"].documents, tiers["warm"].documents) == (stored, 120)


@pytest.mark.parametrize(
    "upkeep", ["dream", *(pytest.param(each, marks=pytest.mark.slow) for each in OTHER_UPKEEP)]
)
def test_5_stores_during_upkeep_succeed(tmp_path: Path, upkeep: str) -> None:
    with (
        Memory.open(tmp_path / "home", embedder="hashing") as tending,
        Memory.open(tmp_path / "home", embedder="hashing") as storing,
    ):
        for number in range(20):
            tending.store(f"Note {number % 10} of a heron.", source=f"note:{number}")
        tending.wait()
        with ThreadPoolExecutor(1) as pool:
            tended = pool.submit(getattr(tending, upkeep))
            stored = 0
            while not tended.done() or not stored:
                assert storing.store(f"New note {stored}.").state in ("pending", "ready")
                stored += 1
        tended.result()
        merged = 10 if upkeep == "dream" else 0  # each was there twice
        assert documents(storing) == 20 + stored - merged


@pytest.mark.slow
def test_7_two_servers_of_two_agents_serve_one_home(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with Lines(home) as one, Lines(home) as other:
        for server in (one, other):
            server.open()
        for number in range(6):  # both are asked before either answers
            one.call("mem_store", {"text": f"The heron eats eel {number}."}, wait=False)
            other.call("mem_store", {"text": f"The otter eats crab {number}."}, wait=False)
            for server in (one, other):
                assert server.hear()["result"]["structuredContent"]["stored"]
        assert "otter" in frame_of(one, "crab")
        assert "heron" in frame_of(other, "eel")

        one.process.kill()  # its host died; nothing of it stands in the way of the other
        one.process.wait()
        for number in range(6, 9):
            stored = other.call("mem_store", {"text": f"The otter eats crab {number}."})
            assert stored["result"]["structuredContent"]["stored"]
        assert "heron" in frame_of(other, "eel")
        assert other.end() == 0
    with Memory.open(home) as memory:
        assert documents(memory) == 15


def frame_of(server: Lines, query: str) -> str:
    """Recall something over a server, for the prompt."""
    answer = server.call("mem_recall", {"query": query})
    frame: str = answer["result"]["structuredContent"]["frame"]
    return frame


@pytest.mark.slow
def test_7_a_command_says_that_it_was_busy_and_does_not_hang(words: Memory) -> None:
    words.store("The port is 8090.")
    with program(WRITE_ON, str(Path(words.home) / "memory.db")):
        started = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "ringwood", "--home", words.home, "--json", "store", "-"],
            input="The ferry leaves at nine.",
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert time.monotonic() - started >= 30
    assert done.returncode != 0
    assert '"busy"' in done.stdout


def test_9_one_memory_serves_sixteen_threads_and_asyncio_at_once(memory: Memory) -> None:
    """con-01 in one process; `tests/faults/crowd.py` is that of several."""
    ready = threading.Barrier(16)

    def work(thread: int) -> int:
        ready.wait(30)
        for number in range(6):
            memory.store(f"Thread {thread} counts herons, turn {number}.")
            assert memory.recall("herons").hits
        return len(memory.recent(limit=200))

    async def together() -> list[int]:
        tasks = [asyncio.to_thread(memory.recall, "herons") for _ in range(40)]
        with ThreadPoolExecutor(16) as pool:
            loop = asyncio.get_running_loop()
            works = [loop.run_in_executor(pool, work, thread) for thread in range(16)]
            await asyncio.gather(*tasks)
            return await asyncio.gather(*works)

    assert max(asyncio.run(together())) <= 96
    assert documents(memory) == 96


def test_11_a_log_that_a_reader_held_shrinks_when_the_reader_is_gone(
    words: Memory,
) -> None:  # con-02
    """con-02: writers go on meanwhile, and `stats` says why the log is large."""
    large = "The heron waits by the gate. " * 20_000
    words.store("The first note.")
    with program(READ_ON, str(Path(words.home) / "memory.db")):
        for number in range(12):
            words.store(f"Note {number}. {large}")
        held = log_of(words)
        assert held > LOG_LIMIT  # the control: this reader does hold it
        assert any("log" in note for note in words.stats().notes)
    words.store("The last note.")
    assert log_of(words) <= LOG_LIMIT < held


@pytest.mark.slow
def test_13_two_hundred_sessions_that_are_killed_leave_no_large_log(tmp_path: Path) -> None:
    home = tmp_path / "home"
    subprocess.run([sys.executable, "-c", STORE_AND_DIE, str(home), "200"], check=True)
    with Memory.open(home) as memory:
        assert documents(memory) == 200
        assert 0 < log_of(memory) <= LOG_LIMIT


def test_con_04_a_killed_holder_leaves_nothing_that_blocks(tmp_path: Path) -> None:
    home = tmp_path / "home"
    subprocess.run([sys.executable, "-c", STORE_AND_DIE, str(home), "2"], check=True)
    with Memory.open(home) as memory:
        assert memory.store("After the kill.").state == "ready"
        assert documents(memory) == 3


def test_con_05_no_live_database_is_opened_as_a_plain_file(tmp_path: Path) -> None:
    """Closing it would drop every lock that SQLite holds on it in this process."""

    def opened(home: Path, *words: str) -> list[str]:
        command = [sys.executable, "-c", USE_ALL, str(home), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    assert opened(tmp_path / "sound" / "home") == []
    careless = tmp_path / "careless" / "home"
    assert opened(careless, "carelessly") == [str(careless / "memory.db")]


def test_con_07_a_recall_takes_no_lock_and_counts_later(words: Memory) -> None:
    note = words.store("The port is 8090.")
    with program(WRITE_ON, str(Path(words.home) / "memory.db")):
        for _ in range(3):
            assert words.recall("port").hits
        assert words.stats().totals.tiers["hot"].documents == 1
        assert words.read(note.address).node.access == 0
    words.store("The ferry leaves at nine.")
    assert words.wait(30)
    eventually(lambda: words.read(note.address).node.access + _below(words, note.address) >= 3)


def _below(memory: Memory, address: str) -> int:
    return sum(node.access for node in memory.read(address).children)
