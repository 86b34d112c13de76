"""One hop of activation."""

from __future__ import annotations

import pytest

from ringwood.recall.spread import SpreadOptions, spread
from ringwood.types import Edge

OPTIONS = SpreadOptions()


def test_a_hit_lifts_its_parent_by_one_damped_hop() -> None:
    reached = spread({2: 0.8}, {2: 1}, [], OPTIONS)

    assert reached[1].propagated == pytest.approx(0.8 * 0.55)
    assert (reached[1].hop, reached[1].via) == ("parent", 2)


def test_a_hit_lifts_its_neighbour_from_either_end_of_the_edge() -> None:
    for edge in (Edge(2, 9, "similar", 0.9), Edge(1, 2, "similar", 0.9)):
        reached = spread({2: 0.8}, {2: None}, [edge], OPTIONS)
        other = edge.target if edge.source == 2 else edge.source

        assert reached[other].propagated == pytest.approx(0.8 * 0.55 * 0.9)
        assert (reached[other].hop, reached[other].via) == ("similar", 2)


def test_the_largest_of_the_ways_counts_and_a_tie_stays_direct() -> None:
    edges = [Edge(1, 2, "similar", 1.0)]

    reached = spread({1: 1.0, 2: 0.3, 3: 0.55}, {3: None}, edges, OPTIONS)
    tied = spread({1: 1.0, 2: 0.55}, {}, edges, OPTIONS)

    assert reached[2].hop == "similar"
    assert reached[2].propagated == pytest.approx(0.55)
    assert tied[2].hop == "direct"


def test_activation_goes_exactly_one_hop() -> None:
    edges = [Edge(1, 2, "similar", 1.0), Edge(2, 3, "similar", 1.0)]

    reached = spread({1: 1.0}, {1: None}, edges, OPTIONS)

    assert set(reached) == {1, 2}


def test_without_damping_nothing_spreads() -> None:
    reached = spread({1: 1.0}, {1: 5}, [Edge(1, 2, "similar", 1.0)], SpreadOptions(0.0))

    assert set(reached) == {1}
