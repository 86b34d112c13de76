"""Memory never remembers itself: what was recalled is not kept as something new.

Numbers are those of the public reports (kind SELF); `inj-18` is of the list of attacks.
"""

from __future__ import annotations

import secrets
from time import process_time

import pytest
from tests.cases.speaking import converse, say

from ringwood.capture import spool
from ringwood.memory import Memory
from ringwood.names import POLICY
from ringwood.recall.frame import render

FACTS = (
    "The greenhouse vents open at twenty-six degrees and close again at twenty-two.",
    "Tomato seedlings move to the south bench in the second week of April.",
    "灌溉阀门每天早上六点打开，持续十二分钟，周日除外。",
)
QUESTIONS = ("When do the greenhouse vents open?", "When do seedlings move?", "灌溉阀门几点打开？")


def fill(memory: Memory) -> None:
    for fact in FACTS:
        memory.store(fact)


def asked(memory: Memory, question: str) -> tuple[str, str]:
    """Recall as a host does before a turn; return the block and the text of the best hit."""
    hits = memory.recall(question).hits
    assert hits
    return render(hits, secrets.token_hex(8)), hits[0].text


def held(memory: Memory) -> list[str]:
    """Return the texts of every document."""
    return sorted(memory.read(each.path).source for each in memory.recent(limit=1_000))


def copies(memory: Memory) -> int:
    """Count how often a fact stands in the memory."""
    return sum(text.count(fact) for text in held(memory) for fact in FACTS)


@pytest.mark.parametrize("question", QUESTIONS)  # 51
def test_a_prompt_that_comes_with_our_block_is_kept_without_it(
    words: Memory, question: str
) -> None:
    fill(words)
    block, fact = asked(words, question)
    assert fact in FACTS

    converse(words.home, f"{block}\n\nShall I repaint the south bench?", "Yes, in white.")
    assert len(words.take_in().documents) == 1

    assert copies(words) == len(FACTS)
    assert words.recall("repaint the south bench").hits
    assert not any("memory-recall" in text or POLICY in text for text in held(words))


def test_without_the_mark_of_our_block_the_prompt_would_be_kept_whole(words: Memory) -> None:  # 51
    fill(words)
    block, _ = asked(words, QUESTIONS[0])
    entries = "\n".join(block.split("\n")[3:-2])  # titles and texts, no tag, policy, head or end

    converse(words.home, f"I read this: {entries}", "Fine, I see.")
    words.take_in()

    assert copies(words) > len(FACTS)


def test_a_message_that_is_only_our_block_is_not_kept(words: Memory) -> None:  # 51
    fill(words)
    block, _ = asked(words, QUESTIONS[0])

    assert say(words.home, "person", block) is None
    assert say(words.home, "assistant", "> " + block.replace("\n", "\n> ")) is None
    assert spool.waiting(words.home) == []


def test_a_frame_a_hundred_deep_is_dropped_in_no_time_and_leaves_nothing(  # 53
    words: Memory,
) -> None:
    fill(words)
    block, _ = asked(words, QUESTIONS[0])
    for _ in range(100):
        nonce = secrets.token_hex(8)
        head = f'<memory-recall nonce="{nonce}">\n{POLICY} It ends after the line "end {nonce}".'
        entry = f"[1] 2026-04-01 person global:/a\n{'filler ' * 900}\n{block}"
        block = f"{head}\n{entry}\nend {nonce}\n</memory-recall>"
    assert len(block) > 600_000

    begun = process_time()
    converse(words.home, f"Before. {block} After.", "Understood, thanks.")
    spent = process_time() - begun
    words.take_in()

    begun = process_time()
    say(words.home, "person", "A plain message of the same length. " * (len(block) // 36))
    plain = process_time() - begun
    assert spent < 20 * plain + 0.5
    [kept] = [text for text in held(words) if "Before." in text]
    assert len(kept) < 200
    assert "After." in kept


def test_an_answer_that_quotes_what_was_recalled_is_kept_without_the_quotation(  # 55
    words: Memory,
) -> None:
    fill(words)
    _, fact = asked(words, QUESTIONS[0])

    answer = f"My notes say:\n\n> {fact}\n\nI have set the motor to match, at half speed."
    converse(words.home, QUESTIONS[0], answer)
    words.take_in()

    assert copies(words) == len(FACTS)
    [hit, *_] = words.recall("at what speed runs the motor").hits
    assert "half speed" in hit.text


def test_a_quotation_of_what_nobody_recalled_is_kept(words: Memory) -> None:  # 55
    fill(words)

    converse(words.home, "What about vents?", f"They say: {FACTS[0]}")
    words.take_in()

    assert copies(words) == len(FACTS) + 1


def repeat(memory: Memory, sessions: range) -> int:
    """Hold sessions in which prompt and answer bring back what was recalled; count documents."""
    for number in sessions:
        question = QUESTIONS[number % len(QUESTIONS)]
        block, fact = asked(memory, question)
        answer = (fact, f"> {fact}", f"**{fact}**\n\n{block}", f"- {fact}\n- {fact}")[number % 4]
        converse(memory.home, f"{question}\n\n{block}", answer, session=f"s{number}")
        if number % 3 == 2 or number == sessions[-1]:
            memory.take_in()
    return len(held(memory))


@pytest.mark.parametrize("sessions", [24, pytest.param(1_000, marks=pytest.mark.slow)])
def test_sessions_that_repeat_what_they_recall_leave_the_store_no_larger(  # inj-18
    words: Memory, sessions: int
) -> None:
    fill(words)
    first = repeat(words, range(len(QUESTIONS)))
    assert first == len(FACTS) + len(QUESTIONS)

    assert repeat(words, range(len(QUESTIONS), sessions)) == first
    assert copies(words) == len(FACTS)
