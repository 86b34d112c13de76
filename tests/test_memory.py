"""One memory used from many sides: threads, forks, a busy database, and after its end."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.processes import eventually

from ringwood.engine.sqlite import open_engine
from ringwood.errors import AddressError, RingwoodError, UsageError
from ringwood.memory import Memory

THREADS = 16
SUBJECTS = ("harbour", "orchard", "quarry", "lantern", "saddle", "violin", "glacier", "bakery")
HOLD = """
import sys
from pathlib import Path
from ringwood.engine.sqlite import open_engine
with open_engine(Path(sys.argv[1]), create=False).writing():
    print("holding", flush=True)
    sys.stdin.read()
"""


def at_once(task: Callable[[int], object]) -> list[object]:
    """Run a task in every thread at the same moment; its errors are raised here."""
    start = threading.Barrier(THREADS)

    def run(number: int) -> object:
        start.wait(20.0)
        return task(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


def workers() -> int:
    return sum(each.name == "ringwood-worker" for each in threading.enumerate())


@contextmanager
def writing_elsewhere(home: Path) -> Iterator[None]:
    """Hold the write lock of a home, as a long import of another program does."""
    command = [sys.executable, "-c", HOLD, str(home)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline()
        yield
        other.kill()  # a forked child may hold its input open


def test_many_threads_store_and_recall_and_nothing_is_lost_or_twice(memory: Memory) -> None:
    def task(number: int) -> None:
        subject = SUBJECTS[number % len(SUBJECTS)]
        for turn in range(3):
            memory.store(f"The {subject} number {number} was seen on day {turn}.")
            memory.store(f"Everybody knows the {subject}.")
            assert memory.recall(f"{subject} number {number}", floor=0.0).hits

    at_once(task)

    assert memory.wait(30.0)
    stats = memory.stats()
    expected = THREADS * 3 + len(SUBJECTS)
    assert stats.totals.states == {"ready": expected}
    assert stats.totals.tiers["hot"].vectors == stats.totals.tiers["hot"].nodes
    assert stats.unmirrored == 0
    assert len(list((Path(memory.home) / "mirror").rglob("*.md"))) == expected
    seen = [each.seen for each in memory.recent(limit=1000) if each.title.startswith("Everybody")]
    assert sum(seen) == THREADS * 3


def test_the_first_use_from_many_threads_opens_once_and_agrees(tmp_path: Path) -> None:
    before = workers()
    with Memory.open(tmp_path / "home", embedder="hashing", wait_s=20.0) as memory:
        at_once(lambda number: memory.store("The very same text.", source=f"source {number % 2}"))

        assert workers() == before + 1
        assert memory.stats().totals.tiers["hot"].documents == 2
    assert workers() == before


def test_an_edit_of_one_source_from_many_threads_leaves_one_whole_document(memory: Memory) -> None:
    at_once(lambda number: memory.store(f"# Plan\n\n## Goal\n\nShip in week {number}.", source="p"))

    [document] = memory.recent()
    assert document.path == "/plan"
    goal = memory.read("/plan/goal")
    assert len(goal.children) == 1
    assert memory.read("/plan").source.endswith(goal.children[0].text)
    assert memory.wait()
    assert memory.stats().totals.states == {"ready": 1}


def test_closing_under_use_ends_and_nobody_gets_a_wrong_answer(tmp_path: Path) -> None:
    before = workers()
    memory = Memory.open(tmp_path, embedder="hashing", wait_s=0.0)
    memory.store("The harbour freezes in January.")
    refusals: list[str] = []

    def task(number: int) -> None:
        if number == 0:
            memory.close()
            return
        try:
            while True:
                assert memory.recall("harbour January").hits
        except RingwoodError as error:
            refusals.append(error.message)

    at_once(task)

    assert len(refusals) == THREADS - 1
    assert all("closed" in message for message in refusals)
    eventually(lambda: workers() == before)
    with Memory.open(tmp_path, embedder="hashing") as again:
        assert again.recall("harbour").hits


def test_a_closed_memory_says_so_and_can_be_closed_again(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="words") as memory:
        memory.store("A text.")
    memory.close()

    for use in (lambda: memory.store("More."), lambda: memory.recall("text"), memory.stats):
        with pytest.raises(UsageError, match="closed"):
            use()


def test_uses_that_cannot_be_written_now_are_written_once_and_later(memory: Memory) -> None:
    memory.store("The orchard is pruned in March.")
    memory.wait()

    with writing_elsewhere(Path(memory.home)):
        answers = [memory.recall("orchard March") for _ in range(3)]
        assert all(answer.hits for answer in answers)
        time.sleep(0.7)  # longer than the worker waits for the lock
    again = memory.recall("orchard March", counted=False)
    memory.wait()

    for answer in (*answers, again):
        assert memory.explain(answer.recall_id)["recall_id"] == answer.recall_id
    assert memory.read(again.hits[0].address).node.access == 3


def test_a_recall_that_was_not_yet_logged_is_never_logged_once_its_text_is_forgotten(
    memory: Memory,
) -> None:
    receipt = memory.store("The quarry belongs to nobody.")
    memory.wait()
    with writing_elsewhere(Path(memory.home)):
        answer = memory.recall("quarry")

    memory.forget(receipt.address)
    memory.wait()

    with pytest.raises(AddressError):
        memory.explain(answer.recall_id)


def test_looking_what_would_be_forgotten_loses_no_recall(memory: Memory) -> None:
    receipt = memory.store("The bakery opens at five.")
    memory.wait()
    with writing_elsewhere(Path(memory.home)):
        answer = memory.recall("bakery")
        memory.forget(receipt.address, dry_run=True)
    memory.wait()

    assert memory.explain(answer.recall_id)["hits"]


def test_another_memory_does_not_log_what_was_forgotten_here(tmp_path: Path) -> None:
    with (
        Memory.open(tmp_path, embedder="words") as memory,
        Memory.open(tmp_path, embedder="words") as other,
    ):
        receipt = memory.store("The lantern hangs in the tower.")
        memory.wait()
        with writing_elsewhere(tmp_path):
            answer = other.recall("lantern tower")
            forgetting = threading.Thread(target=memory.forget, args=[receipt.address])
            forgetting.start()
            time.sleep(0.7)  # longer than the other's worker waits for the lock
        forgetting.join(20.0)
        other.recall("anything")
        other.wait()

        with pytest.raises(AddressError):
            other.explain(answer.recall_id)


def test_a_forked_child_stores_recalls_and_catches_up_by_itself(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="hashing", wait_s=20.0) as memory:
        memory.store("The violin needs new strings.")
        memory.wait()
        with writing_elsewhere(tmp_path):
            pending = memory.recall("violin strings")
            child = os.fork()
            if child == 0:
                os._exit(_child(memory))
            time.sleep(0.3)
        _, status = os.waitpid(child, 0)

        assert os.waitstatus_to_exitcode(status) == 0
        assert memory.wait()
        assert memory.explain(pending.recall_id)
        assert memory.stats().totals.states == {"ready": 2}


def _child(memory: Memory) -> int:
    """Use a memory that was inherited; 0 when all went well."""
    try:
        receipt = memory.store("The saddle was oiled.")
        well = memory.wait(20.0) and memory.receipt(receipt).state == "ready"
        return 0 if well and memory.recall("saddle").hits else 1
    except BaseException:  # noqa: BLE001 - nothing may run on in the child
        return 2


def test_a_home_first_used_without_its_embedder_takes_it_when_it_is_there(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="words") as memory:
        memory.create()
    engine = open_engine(tmp_path, create=False)
    with engine.writing() as writer:  # what a store leaves when the model is not installed
        writer.set_meta("embedder", "hashing")
        writer.set_meta("embedder_identity", "")
    engine.close()

    with Memory.open(tmp_path, wait_s=20.0) as memory:
        receipt = memory.store("The glacier calves in August.")
        assert memory.wait()
        assert memory.receipt(receipt).state == "ready"
        assert not memory.recall("glacier").notes
        identity = memory.stats().identity
    with Memory.open(tmp_path) as memory:
        assert memory.stats().identity == identity
        assert not memory.recall("glacier").notes
