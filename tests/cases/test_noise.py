"""A question about nothing in memory is answered with nothing.

Numbers are those of the public reports (kind NOISE). Not here, since there is no such thing yet:
unasked injection, in which both reports met it. Its threshold exists, apart from that of asking.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ringwood.memory import Memory

OPERATIONS = (
    "Restart the gateway with systemctl after every change of its certificate.",
    "The backup of the ledger database runs at 03:00 and takes eleven minutes.",
    "Port 8443 is closed on the staging firewall since the audit.",
    "Rotate the signing key of the deploy bot every ninety days.",
    "The message queue drops a consumer after thirty seconds of silence.",
    "Kernel updates wait for the maintenance window on Sunday evening.",
    "Disk alerts fire at eighty per cent on the log partition.",
    "The load balancer sends health checks to /ready, never to /live.",
    "Container images are pinned by digest in the production cluster.",
    "日志保留三十天，然后压缩归档。",
)
COOKING = (
    "How long should sourdough rise before baking?",
    "Which spices go into a lentil curry?",
    "Can I substitute butter with olive oil in pastry?",
    "After how many minutes of kneading is bread dough covered, proofed and baked?",
    "红烧肉要炖多久才软烂？",
)
ASKED = (
    ("when does the ledger backup run?", OPERATIONS[1]),
    ("how often is the signing key rotated", OPERATIONS[3]),
    ("日志保留多久", OPERATIONS[9]),
)


def fill(memory: Memory, *, importance: float | None = None) -> None:
    """Store ten notes that are all about running servers."""
    for number, text in enumerate(OPERATIONS):
        memory.store(f"# Operations\n\n{text}", source=f"note {number}", importance=importance)


@pytest.mark.parametrize("question", COOKING)  # 61
def test_ten_notes_on_servers_know_nothing_of_cooking(words: Memory, question: str) -> None:
    fill(words)

    assert words.recall(question).hits == ()
    for asked, answer in ASKED:
        assert words.recall(asked).hits[0].text == answer


@pytest.mark.parametrize("question", COOKING)  # 63
def test_importance_use_and_youth_are_no_evidence(words: Memory, question: str) -> None:
    fill(words, importance=1.0)
    for _ in range(8):
        words.recall(ASKED[0][0])  # counted as used, which ranks higher

    assert words.recall(question).hits == ()
    assert words.recall(ASKED[0][0]).hits[0].text == ASKED[0][1]


def test_what_is_asked_for_and_what_is_injected_have_thresholds_of_their_own(
    words: Memory,
) -> None:  # 63
    fill(words)
    query = "ledger backup pastry"  # two of three words are known
    floor = words.config.recall.floor

    asked = words.recall(query, floor=floor.asked)
    strict = words.recall(query, floor=0.9)

    assert floor.asked < floor.injected
    assert asked.hits
    assert strict.hits == ()
    assert {each.stage for each in strict.dropped} == {"floor"}


def test_the_threshold_is_a_setting_of_the_home(tmp_path: Path) -> None:  # 63
    home = tmp_path / "home"
    with Memory.open(home, embedder="words") as memory:
        fill(memory)
        assert memory.recall("ledger backup pastry").hits
    (home / "config.toml").write_text("[floor]\nasked = 0.95\n", "utf-8")

    with Memory.open(home, embedder="words") as memory:
        assert memory.recall("ledger backup pastry").hits == ()
        assert memory.recall("ledger backup").hits


def test_an_old_fact_that_answers_stands_above_a_new_one_that_does_not(words: Memory) -> None:  # 63
    old = datetime.now(UTC) - timedelta(days=3_000)
    words.store("The vault code is kept by the notary.", importance=0.0, at=old)
    fill(words, importance=1.0)

    assert "notary" in words.recall("who keeps the vault code").hits[0].text


@pytest.mark.slow  # the bundled model takes seconds to start
def test_by_meaning_too_servers_know_nothing_of_cooking(tmp_path: Path) -> None:  # 61, 63
    with Memory.open(tmp_path / "home", embedder="bundled", wait_s=60.0) as memory:
        fill(memory, importance=1.0)
        assert memory.wait()

        assert {question: memory.recall(question).hits for question in COOKING} == dict.fromkeys(
            COOKING, ()
        )
        for asked, answer in ASKED:
            assert memory.recall(asked).hits[0].text == answer
