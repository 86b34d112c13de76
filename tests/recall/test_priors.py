"""What is known before the query is read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import exp

import pytest

from ringwood.recall.priors import PriorOptions, prior_terms, recency, use

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
OPTIONS = PriorOptions()


def test_recency_is_one_now_and_falls_with_a_time_constant_of_45_days() -> None:
    assert recency(NOW, NOW, OPTIONS) == 1.0
    assert recency(NOW - timedelta(days=45), NOW, OPTIONS) == pytest.approx(exp(-1))


def test_a_stamp_in_the_future_counts_as_now() -> None:
    assert recency(NOW + timedelta(days=400), NOW, OPTIONS) == 1.0


def test_use_is_nothing_at_first_and_full_after_seven_accesses() -> None:
    assert use(0) == 0.0
    assert use(7) == pytest.approx(1.0)
    assert use(10_000) == 1.0
    assert use(-3) == 0.0


def test_all_priors_together_stay_below_a_seventh() -> None:
    assert sum(term.value for term in prior_terms(1.0, 1.0, 1.0, OPTIONS)) == pytest.approx(0.14)
