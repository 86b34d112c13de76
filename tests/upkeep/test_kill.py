"""A rotation that is killed: every document is there, once, and the next rotation finishes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.upkeep.aged import fill, rotated, text_of, tiers_of
from tests.upkeep.killing import killed

from ringwood.engine.base import Engine, WordQuery
from ringwood.engine.sqlite import open_engine

pytestmark = pytest.mark.slow

AGES = [5 * number for number in range(60)]
TRIALS = 12
ROTATE = [sys.executable, "-m", "tests.upkeep.rotating"]


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A home in which everything is still hot. Copied for each trial."""
    engine = open_engine(tmp_path / "filled", create=True)
    fill(engine, AGES)
    engine.close()
    return tmp_path / "filled"


def lost_or_doubled(engine: Engine) -> list[int]:
    """List the notes that readers do not find whole and exactly once, by number."""
    wrong = []
    with engine.reading() as reader:
        cards = {card.source: card for card in reader.roots("global")}
        for number in range(len(AGES)):
            card = cards.get(f"note {number}")
            found = reader.rank_words(WordQuery([f"g{number}"]), ["global"], limit=9).order
            whole = card is not None and reader.text_of(card.id) == text_of(number)
            if not whole or len(found) != 2:  # the paragraph and its section
                wrong.append(number)
        if len(reader.roots("global")) != len(AGES):
            wrong.append(-1)
    return wrong


def test_a_rotation_that_is_killed_loses_and_doubles_nothing(filled: Path, tmp_path: Path) -> None:
    cut_short = 0
    for home in killed([*ROTATE, "rotate"], filled, tmp_path / "home", times=TRIALS):
        engine = open_engine(home, create=False)
        try:
            assert lost_or_doubled(engine) == []
            with engine.reading() as reader:
                documents = [card.id for card in reader.roots("global")]
            cut_short += "hot" in tiers_of(engine, documents[7:])
            rotated(engine)
            assert lost_or_doubled(engine) == []
            assert not any(engine.copies().values())
            with engine.reading() as reader:
                tiers = reader.totals().tiers
            assert [tiers[tier].documents for tier in tiers] == [7, 30, 23]
        finally:
            engine.close()
    assert cut_short > 0


def test_the_same_test_sees_what_a_naive_order_loses(filled: Path, tmp_path: Path) -> None:
    for home in killed([*ROTATE, "naively"], filled, tmp_path / "home", times=4 * TRIALS):
        engine = open_engine(home, create=False)
        wrong = lost_or_doubled(engine)
        engine.close()
        if wrong:
            return
    pytest.fail("nothing was lost by deleting first: this test cannot fail")
