"""What was captured becomes one document an exchange, whatever way it comes."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest
from tests.write.saying import say

from ringwood.capture import spool
from ringwood.capture.buffer import CaptureOptions
from ringwood.memory import Memory
from ringwood.write.exchanges import TakenIn

ANSWER = "Because the broker acknowledged a job before it wrote it to the disk."


def test_an_exchange_becomes_one_document_that_says_who_spoke(words: Memory) -> None:
    say(words.home, "person", "Why did we leave the broker?")
    say(words.home, "assistant", ANSWER)
    say(words.home, "end")
    taken = words.take_in()
    assert (len(taken.documents), taken.waiting) == (1, 0)
    [document] = words.recent()
    assert document.source == "codex:s:1"
    assert document.path.startswith("/codex/")
    assert document.path.endswith("/why-did-we-leave-the-broker")
    [hit, *_] = words.recall("Who acknowledged a job before it wrote it?").hits
    assert (hit.actor, hit.text) == ("assistant", ANSWER)


def test_what_may_go_on_waits_in_the_spool(words: Memory) -> None:
    say(words.home, "person", "Why did we leave the broker?")
    taken = words.take_in()
    assert (taken.documents, taken.waiting) == ((), 1)
    assert len(words.take_in(everything=True).documents) == 1
    assert spool.waiting(words.home) == []


def test_what_is_stored_and_may_go_on_is_not_stored_at_every_look(words: Memory) -> None:
    words.config = replace(words.config, capture=CaptureOptions(idle_s=0.0))
    say(words.home, "person", "Why did we leave the broker?")
    say(words.home, "assistant", ANSWER)
    assert len(words.take_in().documents) == 1
    assert words.take_in() == TakenIn(waiting=2)
    say(words.home, "assistant", "And it needed a second machine.")
    assert len(words.take_in().documents) == 1
    say(words.home, "end")
    assert words.take_in().existing == 1
    assert words.take_in() == TakenIn()


def test_an_exchange_told_again_adds_nothing(words: Memory) -> None:
    for _ in range(2):
        say(words.home, "person", "Why did we leave the broker?")
        say(words.home, "assistant", ANSWER)
        say(words.home, "end")
        words.take_in()
    say(words.home, "assistant", ANSWER)
    say(words.home, "end")
    assert words.take_in().existing == 1
    [document] = words.recent()
    assert document.seen == 1


def test_an_exchange_that_goes_on_later_stays_one_document(words: Memory) -> None:
    say(words.home, "person", "Why did we leave the broker?")
    say(words.home, "assistant", ANSWER)
    say(words.home, "end")
    words.take_in()
    say(words.home, "assistant", "And it needed a second machine.")
    say(words.home, "end")
    words.take_in()
    [document] = words.recent()
    [hit, *_] = words.recall("Did it need a second machine?").hits
    assert hit.document == str(document.id)
    assert words.recall("Who acknowledged a job before it wrote it?").hits


def test_an_answer_that_only_quotes_what_was_recalled_adds_nothing(words: Memory) -> None:
    words.store(ANSWER)
    before = words.stats().totals
    for number in range(5):
        session = f"s{number}"
        question = "Who acknowledged a job before it wrote it?"
        assert words.inject(question, session=f"codex:{session}").hits
        say(words.home, "person", question, session=session)
        say(words.home, "assistant", f"> {ANSWER}", session=session)
        say(words.home, "end", session=session)
        words.take_in()
    after = words.stats().totals
    assert after.tiers["hot"].documents - before.tiers["hot"].documents <= 1


def test_what_waits_in_the_spool_is_forgotten_too(words: Memory, tmp_path: Path) -> None:
    say(words.home, "person", "The canary is called Zephyrine.")
    say(words.home, "assistant", "Noted.")
    words.forget(source="codex:s:1")
    assert spool.waiting(words.home) == []
    say(words.home, "person", "The canary is called Zephyrine.")
    say(words.home, "assistant", "Noted.")
    say(words.home, "end")
    assert words.take_in().forgotten == 1
    files = [file for file in Path(words.home).rglob("*") if file.is_file()]
    assert not any(b"Zephyrine" in file.read_bytes() for file in files)


def test_what_another_process_takes_in_just_now_is_forgotten_too(words: Memory) -> None:
    words.store("Nothing of interest.")
    say(words.home, "person", "The canary is called Zephyrine.")
    say(words.home, "end")
    held = Event()

    def hold() -> None:
        with spool.draining(words.home) as ours:
            assert ours
            held.set()
            time.sleep(0.5)

    with ThreadPoolExecutor(1) as other:
        holding = other.submit(hold)
        assert held.wait(10)
        gone = words.forget(space="global")
        holding.result()
    assert gone.documents == 2
    assert (spool.waiting(words.home), words.recent()) == ([], ())


@pytest.mark.parametrize("kind", ["person", "assistant"])
def test_one_side_alone_is_stored_when_it_is_over(words: Memory, kind: str) -> None:
    say(words.home, kind, "Only this was said in the whole exchange.")
    say(words.home, "end")
    assert len(words.take_in().documents) == 1


def test_a_receipt_counts_the_secrets_that_were_masked(words: Memory) -> None:
    say(words.home, "person", f"The token is ghp_{'Zk4x' * 10}, use it.")
    say(words.home, "assistant", "Done.")
    say(words.home, "end")
    assert words.take_in().redacted == 1


def test_a_receipt_counts_the_parts_that_were_left_out(words: Memory) -> None:
    say(words.home, "person", "Why did we leave the broker? <private>not Anna</private>")
    say(words.home, "assistant", ANSWER)
    say(words.home, "end")
    assert words.take_in().left_out == 1


def test_forgetting_says_that_the_spool_holds_what_cannot_be_read(words: Memory) -> None:
    words.store(ANSWER, source="note")
    say(words.home, "person", "Why did we leave the broker?")
    [name] = spool.waiting(words.home)
    (Path(words.home) / "spool" / name).write_bytes(b"{")
    assert "spool" in words.forget(source="note").notes[0]


def test_whoever_opens_the_home_next_catches_up(tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    say(home, "person", "Why did we leave the broker?")
    say(home, "assistant", ANSWER)
    say(home, "end")
    with Memory.open(home, embedder="words") as memory:
        memory.create()
        assert memory.stats().spooled == 3
    with Memory.open(home, embedder="words") as memory:
        assert (memory.stats().spooled, len(memory.recent())) == (0, 1)


def test_the_answer_to_a_private_prompt_is_not_kept(words: Memory) -> None:
    say(words.home, "person", "<private>Is Zephyrine ill?</private>")
    say(words.home, "assistant", "Zephyrine is ill indeed, and everybody knows by now.")
    say(words.home, "end")
    say(words.home, "person", "Why did we leave the broker?", sequence="2")
    say(words.home, "assistant", ANSWER, sequence="2")
    say(words.home, "end", sequence="2")
    assert len(words.take_in().documents) == 1
    assert spool.waiting(words.home) == []
    assert words.recall("Is Zephyrine ill?").hits == ()
    assert words.recall("Who acknowledged a job before it wrote it?").hits


def test_a_prompt_that_is_private_in_part_keeps_its_answer(words: Memory) -> None:
    say(words.home, "person", "Why did we leave the broker? <private>not Anna</private>")
    say(words.home, "assistant", ANSWER)
    say(words.home, "end")
    words.take_in()
    assert words.recall("Who acknowledged a job before it wrote it?").hits


def test_the_root_of_an_exchange_is_no_hit(words: Memory) -> None:
    say(words.home, "person", "Why did we leave the broker in the harbour office?")
    say(words.home, "assistant", ANSWER)
    say(words.home, "end")
    words.take_in()
    answer = words.recall("Why did we leave the broker in the harbour office?")
    assert answer.hits
    assert all(hit.text.strip() for hit in answer.hits)


def test_what_was_answered_before_a_private_prompt_is_kept(words: Memory) -> None:
    say(words.home, "person", "Why did we leave the broker?")
    say(words.home, "assistant", ANSWER)
    say(words.home, "person", "<private>Is Zephyrine ill?</private>")
    say(words.home, "assistant", "Zephyrine is ill indeed, and everybody knows by now.")
    say(words.home, "end")
    words.take_in()
    assert words.recall("Who acknowledged a job before it wrote it?").hits
    assert words.recall("Is Zephyrine ill?").hits == ()
