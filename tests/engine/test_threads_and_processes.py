"""One engine in many threads, across a fork, and under a kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest
from tests.engine.making import embed, found, question, store, unit
from tests.engine.moving import FILES

from ringwood.engine.base import Engine, WordQuery
from ringwood.engine.sqlite import open_engine

STORE_FOR_EVER = """
import sys
from pathlib import Path
from ringwood.engine.sqlite import open_engine
from tests.engine.making import embed, store, unit
engine = open_engine(Path(sys.argv[1]), create=False)
for i in range(100_000):
    card, nodes = store(engine, f"number{i} all\\nmore all", source=f"{sys.argv[2]}/{i}")
    embed(engine, card, {node.id: unit(1, i, 1, 0) for node in nodes[1:]})
    print(card.id, flush=True)
"""


def test_sixteen_threads_store_and_rank_at_once(engine: Engine) -> None:
    query = question(unit(1, 0, 0, 0))

    def work(number: int) -> None:
        for i in range(6):
            card, nodes = store(engine, f"mine{number}x{i} all\nmore", source=f"{number}/{i}")
            assert embed(engine, card, {n.id: unit(1, number, i, 0) for n in nodes[1:]})
            with engine.reading() as reader:
                words = reader.rank_words(WordQuery([f"mine{number}x{i}"]), ["global"], limit=5)
                assert words.order == (nodes[1].id,)
                every = reader.rank_words(WordQuery(["all"]), ["global"], limit=500).order
                meaning = reader.rank_vectors(query, ["global"], limit=500)
                assert {nodes[1].id, nodes[2].id} <= set(meaning.order)
                assert meaning.cosines == reader.cosines(query, meaning.order)
                assert len(meaning.order) <= 2 * len(every)  # vectors follow words
            with engine.writing() as writer:
                writer.count_access([nodes[1].id])

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(work, range(16)))
    with engine.reading() as reader:
        hot = reader.totals().tiers["hot"]
        assert (hot.documents, hot.nodes, hot.vectors) == (96, 288, 192)
        assert len(reader.rank_vectors(query, ["global"], limit=500).order) == 192


def test_an_open_cursor_does_not_block_two_hundred_writes(engine: Engine) -> None:
    """The default of other databases: a heartbeat read is open, and writes fail as locked."""
    store(engine, "before")
    with engine.reading() as reader:
        for i in range(200):
            with engine.writing(timeout_s=5) as writer:
                writer.set_meta(f"k{i}", "v")
        assert reader.meta("k0") is None


def test_a_reading_sees_one_moment(engine: Engine) -> None:
    store(engine, "one")
    with engine.reading() as reader:
        store(engine, "two")
        assert len(reader.roots("global")) == 1
        with engine.reading() as later:
            assert len(later.roots("global")) == 2


def in_a_fork(work: object) -> int:
    """Run `work` in a forked child; give its exit status, 0 when it returned."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()  # type: ignore[operator]
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


# From 3.12 on, forking with threads running warns; the waiter of a gate may be one.
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_reads_and_writes_on_its_own(home: Path, engine: Engine) -> None:
    store(engine, "before")
    with engine.reading() as reader:
        reader.rank_words(WordQuery(["before"]), ["global"], limit=5)

    def child() -> None:
        assert found(engine, "before") != ()
        store(engine, "from the child")

    assert in_a_fork(child) == 0
    assert found(engine, "child") != ()
    store(engine, "after")
    engine.close()
    again = open_engine(home, create=False)
    assert [len(found(again, word)) for word in ("before", "child", "after")] == [1, 1, 1]
    again.close()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_outlives_its_parents_engine(home: Path, engine: Engine) -> None:
    """Had it inherited the record of locks, the parent's close would take the log from under it."""
    store(engine, "before")
    to_child, from_parent = os.pipe()

    child = os.fork()
    if child == 0:
        status = 1
        try:
            store(engine, "child one")
            os.read(to_child, 1)
            store(engine, "child two")
            status = 0
        finally:
            os._exit(status)
    while found(engine, "one") == ():
        pass
    engine.close()
    os.write(from_parent, b"x")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    again = open_engine(home, create=False)
    assert len(found(again, "child")) == 2
    again.close()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_while_another_thread_writes_leaves_the_child_unlocked(engine: Engine) -> None:
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with engine.writing() as writer:
            writer.set_meta("k", "parent")
            entered.set()
            leave.wait(20)

    holder = threading.Thread(target=hold)
    holder.start()
    assert entered.wait(20)

    def child() -> None:
        with engine.reading() as reader:
            assert reader.meta("k") is None

    assert in_a_fork(child) == 0
    leave.set()
    holder.join()
    with engine.reading() as reader:
        assert reader.meta("k") == "parent"


def test_what_was_acknowledged_survives_a_kill(home: Path) -> None:
    open_engine(home, create=True).close()
    acknowledged: list[int] = []
    for round_ in range(3):
        writer = subprocess.Popen(
            [sys.executable, "-c", STORE_FOR_EVER, str(home), str(round_)],
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
            text=True,
        )
        assert writer.stdout is not None
        while len(acknowledged) < 7 * (round_ + 1):
            acknowledged.append(int(writer.stdout.readline()))
        writer.send_signal(signal.SIGKILL)
        acknowledged += [int(line) for line in writer.stdout.read().split()]
        writer.wait()
        writer.stdout.close()
    engine = open_engine(home, create=False)
    with engine.reading() as reader:
        kept = reader.documents(range(1, 1000))
        assert set(acknowledged) <= set(kept)
        assert [kept[i].state for i in acknowledged] == ["ready"] * len(acknowledged)
        assert len(reader.rank_words(WordQuery(["all"]), ["global"], limit=9999).order) == 2 * len(
            kept
        )
        pairs = (len(reader.nodes_of(i)) for i in kept)
        assert set(pairs) == {3}
        hot = reader.totals().tiers["hot"]
    store(engine, "goes on")
    engine.close()
    file = apsw.Connection(str(home / FILES["hot"]))
    assert file.pragma("integrity_check") == "ok"
    assert file.execute("SELECT sum(nodes) FROM spaces").get == hot.nodes + 2
    file.close()
