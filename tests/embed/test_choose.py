"""Which embedder a home uses: what it was filled with, or words and the reason."""

from __future__ import annotations

import pytest

from ringwood.embed.choose import Remembered, choose
from ringwood.embed.hashing import HashingEmbedder
from ringwood.embed.meaning import Meaning
from ringwood.errors import UsageError

OWN = Remembered("hashing", Meaning.of(HashingEmbedder()).identity)


def test_an_empty_home_takes_what_is_asked_for() -> None:
    choice = choose("hashing", None, calibrated=True)

    assert choice.remembered == OWN
    assert choice.meaning is not None
    assert choice.state == "pending"
    assert not choice.notes


def test_words_are_no_embedder_and_nothing_is_to_come() -> None:
    choice = choose("words", None, calibrated=True)

    assert choice.remembered == Remembered("words", "")
    assert choice.meaning is None
    assert choice.state == "ready"


def test_a_home_is_opened_with_what_it_was_filled_with() -> None:
    assert choose(None, OWN, calibrated=True).meaning is not None


@pytest.mark.parametrize("asked", ["words", "hashing:64"])
def test_another_embedder_is_refused_and_the_note_says_which(asked: str) -> None:
    choice = choose(asked, OWN, calibrated=True)

    assert choice.meaning is None
    assert choice.remembered == OWN
    assert choice.state == "pending", "its vectors come from whoever has the embedder"
    assert "'hashing'" in choice.notes[0]
    assert choice.notes[0].count("hashing'") == 1, "never: 'x', not 'x'"


def test_an_embedder_that_was_missing_at_first_is_taken_once_it_is_there() -> None:
    choice = choose(None, Remembered("hashing", ""), calibrated=True)

    assert choice.remembered == OWN
    assert choice.meaning is not None


def test_a_home_of_an_embedder_that_only_its_program_has_is_read_by_words() -> None:
    choice = choose(None, Remembered("mine", "mine/1"), calibrated=True)

    assert choice.meaning is None
    assert "mine" in choice.notes[0]


def test_a_name_that_nobody_knows_is_an_error_when_it_is_asked_for() -> None:
    with pytest.raises(UsageError, match="nonsense"):
        choose("nonsense", OWN, calibrated=True)


def test_an_embedder_that_was_given_is_its_givers_to_close() -> None:
    assert choose(HashingEmbedder(), None, calibrated=True).owned is None
    assert choose("hashing", None, calibrated=True).owned is not None
