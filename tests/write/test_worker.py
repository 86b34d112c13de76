"""What follows a store: it always comes to an end, and outlives whatever an embedder does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Event
from time import monotonic, sleep

import pytest

from ringwood.config import set_value
from ringwood.embed.base import FloatRows
from ringwood.embed.hashing import HashingEmbedder
from ringwood.engine.sqlite import open_engine
from ringwood.lease import Lease
from ringwood.memory import Memory


class Unruly(HashingEmbedder):
    """Breaks the protocol as often as told, with an error that no embedder may raise."""

    def __init__(self, breaks: int) -> None:
        super().__init__()
        self.breaks = breaks

    def embed_passages(self, texts: Sequence[str]) -> FloatRows:
        """Break, or embed."""
        if self.breaks:
            self.breaks -= 1
            raise LookupError("a secret text")
        return super().embed_passages(texts)


class Slow(HashingEmbedder):
    """Embeds one batch and then waits to be told to go on."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.go_on = Event(), Event()

    def embed_passages(self, texts: Sequence[str]) -> FloatRows:
        """Embed when told."""
        self.begun.set()
        self.go_on.wait(30.0)
        return super().embed_passages(texts)


def test_an_error_that_no_embedder_may_raise_is_told_and_tried_again(tmp_path: Path) -> None:
    set_value(str(tmp_path), "upkeep.retry_s", "0.1")
    with Memory.open(tmp_path, embedder=Unruly(breaks=1)) as memory:
        receipt = memory.store("First.")
        began = monotonic()
        assert not memory.wait(20.0)
        assert monotonic() - began < 10.0, "told at once, not when time runs out"
        assert any("LookupError" in note for note in memory.stats().notes)
        assert not any("secret" in note for note in memory.stats().notes)

        end = monotonic() + 20.0
        while memory.receipt(receipt).state != "ready" and monotonic() < end:
            sleep(0.05)
        assert memory.receipt(receipt).state == "ready"


def test_waiting_ends_in_time_while_another_process_or_memory_is_at_it(tmp_path: Path) -> None:
    elsewhere = Lease(tmp_path / "embedding.lock")
    with Memory.open(tmp_path, embedder="hashing", wait_s=0.0) as memory:
        memory.create()
        assert elsewhere.try_acquire()
        receipt = memory.store("Waits for its vectors.")
        assert not memory.wait(0.3)

        elsewhere.release()
        assert memory.wait(20.0)
        assert memory.receipt(receipt).state == "ready"


@pytest.mark.slow
def test_closing_does_not_wait_for_an_embedder_that_hangs(tmp_path: Path) -> None:
    slow = Slow()
    memory = Memory.open(tmp_path, embedder=slow, wait_s=0.0)
    memory.store("Never embedded here.")
    assert slow.begun.wait(20.0)

    began = monotonic()
    memory.close()
    assert monotonic() - began < 10.0
    slow.go_on.set()

    with Memory.open(tmp_path, embedder="hashing", wait_s=20.0) as again:
        again.recall("anything")
        assert again.wait()
        assert again.stats().totals.states == {"ready": 1}


def test_two_memories_of_one_home_in_one_process_share_the_work(tmp_path: Path) -> None:
    with (
        Memory.open(tmp_path, "one", "hashing", wait_s=20.0) as one,
        Memory.open(tmp_path, "two", "hashing", wait_s=20.0) as two,
    ):
        for number in range(10):
            one.store(f"A note about subject {number}.")
            two.store(f"A remark on matter {number}.")
        assert one.wait()
        assert two.wait()

        totals = one.stats().totals
        assert totals.states == {"ready": 20}
        assert sum(tier.vectors for tier in totals.tiers.values()) == sum(
            tier.nodes for tier in totals.tiers.values()
        )


def test_no_edge_leads_to_what_was_forgotten_while_it_was_compared(tmp_path: Path) -> None:
    elsewhere = Lease(tmp_path / "embedding.lock")
    with Memory.open(tmp_path, embedder="hashing", wait_s=20.0) as memory:
        first = memory.store("The gateway ships in May, the certificate is late.")
        assert memory.wait()
        assert elsewhere.try_acquire()
        memory.store("In May the gateway ships; the certificate is late.")
        engine = open_engine(tmp_path, create=False)
        with engine.writing() as writer:
            elsewhere.release()
            sleep(1.0)  # the worker has compared the two by now, and waits for the lock
            writer.delete_document(int(first.document))
        engine.close()
        assert memory.wait()

        totals = memory.stats().totals.tiers["hot"]
        assert (totals.documents, totals.edges) == (1, 0)
