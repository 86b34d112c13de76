"""A document that cannot be embedded stands in nobody's way, and is tried ever more seldom."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.processes import eventually

from ringwood.config import set_value
from ringwood.embed.base import FloatRows
from ringwood.embed.hashing import HashingEmbedder
from ringwood.engine.attempts import Attempt
from ringwood.engine.sqlite import open_engine
from ringwood.errors import EmbedderError
from ringwood.memory import Memory


class Picky(HashingEmbedder):
    """Fails at texts with a word in them, and counts the tries; down, it fails at all."""

    def __init__(self, *, down: bool = False) -> None:
        super().__init__()
        self.tries = 0
        self.down = down

    def embed_passages(self, texts: Sequence[str]) -> FloatRows:
        """Fail, or embed."""
        poisoned = any("poison" in text for text in texts)
        self.tries += poisoned
        if poisoned or self.down:
            raise EmbedderError("this text is beyond the model" if poisoned else "it is down")
        return super().embed_passages(texts)


def attempts(home: Path, work: str = "embed") -> tuple[Attempt, ...]:
    engine = open_engine(home, create=False)
    with engine.reading() as reader:
        found = reader.attempts(work)
    engine.close()
    return found


def test_a_poisoned_document_blocks_no_other_and_is_tried_once_per_pause(tmp_path: Path) -> None:
    picky = Picky()
    with Memory.open(tmp_path, embedder=picky, wait_s=0.0) as memory:
        for number in range(5):
            memory.store(f"poison {number}")
        assert not memory.wait(20.0)
        good = [memory.store(f"A note about subject {number}.") for number in range(20)]
        eventually(lambda: all(memory.receipt(each).state == "ready" for each in good))

        states = memory.stats().totals.states
        assert states == {"ready": 20, "failed": 5}
        assert picky.tries == 5, "each once, however often the worker was woken meanwhile"

    assert all(each.failures == 1 for each in attempts(tmp_path))


def test_a_restart_does_not_try_again_what_is_not_due(tmp_path: Path) -> None:
    for _ in range(4):
        picky = Picky()
        with Memory.open(tmp_path, embedder=picky, wait_s=20.0) as memory:
            memory.store("poison")
            memory.store("A note beside it.")

    [attempt] = attempts(tmp_path)
    assert attempt.failures == 1
    assert picky.tries == 0
    assert attempt.error == "this text is beyond the model"


def test_the_pause_grows_with_each_failure_in_a_row(tmp_path: Path) -> None:
    set_value(str(tmp_path), "upkeep.retry_s", "0.2")
    with Memory.open(tmp_path, embedder=Picky(), wait_s=0.0) as memory:
        memory.store("poison")
        eventually(lambda: any(each.failures == 3 for each in attempts(tmp_path)))

        [attempt] = attempts(tmp_path)
        pause = attempt.next_at - attempt.at
        assert timedelta(seconds=0.2 * 2**attempt.failures / 2) == pause


def test_nothing_that_failed_is_tried_again_where_that_is_off(tmp_path: Path) -> None:
    set_value(str(tmp_path), "upkeep.retry_s", "0")
    for _ in range(2):
        picky = Picky()
        with Memory.open(tmp_path, embedder=picky, wait_s=20.0) as memory:
            memory.store("poison")
            assert memory.store("A note.").document
    engine = open_engine(tmp_path, create=False)
    [attempt] = attempts(tmp_path)
    with engine.writing() as writer:
        long_ago = datetime.now(UTC) - timedelta(days=9)
        writer.put_attempts([Attempt("embed", attempt.item, long_ago, long_ago, 1, error="down")])
    engine.close()

    again = Picky()
    with Memory.open(tmp_path, embedder=again, wait_s=20.0) as memory:
        memory.store("Another note.")
        memory.wait()
    assert again.tries == 0

    set_value(str(tmp_path), "upkeep.retry_s", "120")
    with Memory.open(tmp_path, embedder=again, wait_s=20.0) as memory:
        memory.store("A third note.")
        memory.wait()
    assert again.tries == 1, "the control: switched on, it is due"


def test_an_edit_is_tried_at_once_whatever_its_old_text_did(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder=Picky(), wait_s=20.0) as memory:
        memory.store("poison", source="note")
        assert not memory.wait()
        receipt = memory.store("Harmless now.", source="note")
        eventually(lambda: memory.receipt(receipt).state == "ready")
    assert attempts(tmp_path) == ()


def test_an_embedder_that_is_down_is_not_asked_for_every_document(tmp_path: Path) -> None:
    picky = Picky(down=True)
    with Memory.open(tmp_path, embedder=picky, wait_s=0.0) as memory:
        for number in range(30):
            memory.store(f"A note about subject {number}.")
        assert not memory.wait(20.0)
        assert any(each.item == "" and each.error == "it is down" for each in attempts(tmp_path))
        blamed = [each for each in attempts(tmp_path) if each.item and each.failures]
        assert len(blamed) < 30, "most of them were never tried"

        picky.down = False
        memory.store("It is back.")
        eventually(lambda: not any(each.item == "" for each in attempts(tmp_path)))
        assert memory.stats().totals.states.get("pending", 0) == 0


KILLED = """
import os, signal, sys
from ringwood.embed.hashing import HashingEmbedder
from ringwood.memory import Memory

class Deadly(HashingEmbedder):
    def embed_passages(self, texts):
        if any("deadly" in text for text in texts):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().embed_passages(texts)

with Memory.open(sys.argv[1], embedder=Deadly(), wait_s=60.0) as memory:
    for text in sys.argv[2:]:
        memory.store(text)
    memory.recall("anything")
    memory.wait()
print("lived")
"""


def run_deadly(home: Path, *texts: str) -> int:
    """Open a home with an embedder that kills its process at one of the texts."""
    command = [sys.executable, "-c", KILLED, str(home), *texts]
    return subprocess.run(command, capture_output=True, check=False).returncode


def test_a_document_that_kills_its_process_does_not_kill_each_that_opens_the_home(
    tmp_path: Path,
) -> None:
    assert run_deadly(tmp_path, "A note.", "deadly", "Another note.") == -signal.SIGKILL
    ends = [run_deadly(tmp_path) for _ in range(3)]

    assert ends.count(-signal.SIGKILL) == 1, "once more to be sure, then there is a pause"
    assert ends[-1] == 0
    with Memory.open(tmp_path, embedder="hashing", wait_s=0.0) as memory:
        assert memory.stats().totals.states == {"ready": 2, "failed": 1}
    [attempt] = [each for each in attempts(tmp_path) if each.failures]
    assert attempt.failures == 2
    assert attempt.next_at - attempt.at == timedelta(seconds=120)


def test_who_is_killed_at_one_document_casts_no_suspicion_on_the_others(tmp_path: Path) -> None:
    texts = [f"A note about subject {number}." for number in range(10)]
    assert run_deadly(tmp_path, *texts, "deadly") == -signal.SIGKILL

    with Memory.open(tmp_path, embedder=Picky(), wait_s=20.0) as memory:
        memory.recall("anything")
        assert memory.wait()
        assert memory.stats().totals.states == {"ready": 11}
        hot = memory.stats().totals.tiers["hot"]
        assert hot.vectors == hot.nodes == 22, "each embedded once, and none doubled"
    assert attempts(tmp_path) == (), "what went well leaves nothing behind"


def test_a_mirror_that_cannot_be_written_keeps_no_vector_away_and_is_tried_again(
    tmp_path: Path,
) -> None:
    set_value(str(tmp_path), "upkeep.retry_s", "0.2")
    (tmp_path / "mirror").write_text("in the way", "utf-8")
    with Memory.open(tmp_path, embedder="hashing", wait_s=0.0) as memory:
        receipt = memory.store("A note.")
        eventually(lambda: memory.receipt(receipt).state == "ready")
        eventually(lambda: bool(attempts(tmp_path, "mirror")))
        assert memory.stats().unmirrored == 1
        [failing] = memory.stats().failing
        assert (failing.work, failing.items) == ("mirror", 1)

        (tmp_path / "mirror").unlink()
        eventually(lambda: memory.stats().unmirrored == 0)
        eventually(lambda: memory.stats().failing == ())
