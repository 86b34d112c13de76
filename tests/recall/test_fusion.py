"""Fusing two rankings into a base score."""

from __future__ import annotations

from dataclasses import replace
from math import fsum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringwood.recall.fusion import (
    Weights,
    base_terms,
    in_place_of_words,
    reciprocal_ranks,
    relative,
)
from ringwood.types import Signals

MEASURED = Signals(cosine=0.5, lexical=0.8, rrf=0.4)

RANKINGS = st.lists(st.lists(st.integers(0, 50), unique=True, max_size=30), min_size=2, max_size=2)


def test_a_node_found_by_both_rankings_beats_a_node_found_by_one() -> None:
    fused = reciprocal_ranks([[1, 2], [3, 2]])

    assert fused[2] > fused[1] == fused[3]


def test_being_first_in_both_rankings_is_one_and_in_the_only_one_a_half() -> None:
    assert reciprocal_ranks([[7], [7]])[7] == pytest.approx(1.0)
    assert reciprocal_ranks([[7], []])[7] == pytest.approx(0.5)


@given(RANKINGS)
def test_fused_ranks_lie_between_nothing_and_one(rankings: list[list[int]]) -> None:
    fused = reciprocal_ranks(rankings)

    assert set(fused) == {each for order in rankings for each in order}
    assert all(0.0 < value <= 1.0 + 1e-12 for value in fused.values())


def test_the_best_relative_score_is_one_and_the_best_of_nothing_is_nothing() -> None:
    assert relative({1: 4.0, 2: 1.0}) == {1: 1.0, 2: 0.25}
    assert relative({1: 0.0, 2: 0.0}) == {1: 0.0, 2: 0.0}
    assert relative({}) == {}


def test_the_base_is_the_published_formula() -> None:
    terms = base_terms(MEASURED, tier="warm", weights=Weights.seed())

    assert fsum(term.value for term in terms) == pytest.approx(
        (0.55 * 0.5 + 0.20 * 0.8 + 0.25 * 0.4) * 0.90
    )


def test_the_tier_weight_scales_every_term_and_nothing_else() -> None:
    hot = base_terms(MEASURED, tier="hot", weights=Weights())
    cold = base_terms(MEASURED, tier="cold", weights=Weights())

    for one, other in zip(hot, cold, strict=True):
        assert other.value == pytest.approx(one.value * 0.78)


@pytest.mark.parametrize(("cosine", "counted"), [(None, 0.0), (-0.4, 0.0), (1.7, 0.55)])
def test_a_missing_or_impossible_cosine_is_clamped(cosine: float | None, counted: float) -> None:
    terms = base_terms(Signals(cosine=cosine), tier="hot", weights=Weights())

    assert terms[0].value == counted


def test_a_node_of_another_script_keeps_its_place_by_meaning_in_both_rankings() -> None:
    weights = Weights()
    signals = Signals(cosine=0.6, rrf=0.4)

    lent = in_place_of_words(signals, 0.4, weights)
    total = fsum(
        t.value for t in base_terms(replace(signals, across=lent), tier="hot", weights=weights)
    )

    assert total == pytest.approx(0.55 * 0.6 + 0.20 * 0.5 * 0.6 + 0.25 * 0.8)


def test_words_that_two_scripts_share_count_once() -> None:
    signals = Signals(cosine=0.6, lexical=1.0, rrf=0.9)

    assert in_place_of_words(signals, 0.45, Weights()) == 0.0


def test_the_published_formula_lends_nothing_in_place_of_words() -> None:
    assert in_place_of_words(Signals(cosine=0.6, rrf=0.4), 0.4, Weights.seed()) == 0.0
