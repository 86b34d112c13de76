"""Floor, diversity and budget: each drops for a reason and leaves the rest as it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.recall.making import candidate

from ringwood.recall.budget import Budget, spend
from ringwood.recall.diversity import DiversityOptions, diversify
from ringwood.recall.floor import FloorOptions, apply_floor, evidence
from ringwood.recall.ledger import Candidate, best_first, standing


def alike(one: int, other: int) -> float | None:
    return 0.95 if {one, other} == {1, 2} else 0.1


def apart(one: int, other: int) -> float | None:
    return None


def test_the_floor_judges_evidence_and_not_the_score() -> None:
    strong, weak = candidate(1, 0.1, evidence=0.5), candidate(2, 0.9, evidence=0.2)

    kept = standing(apply_floor([strong, weak], 0.3))

    assert [each.node.id for each in kept] == [1]


def test_words_alone_are_judged_by_their_share() -> None:
    assert evidence(0.4, None, 0.15) == 0.4
    assert evidence(0.1, -1.0, 0.15) == 0.1


def test_a_cosine_counts_from_where_it_begins_to_mean_something() -> None:
    assert evidence(0.0, 0.4, 0.4) == 0.0
    assert evidence(0.0, 0.7, 0.4) == pytest.approx(0.5)
    assert evidence(0.0, 1.0, 0.4) == 1.0
    assert evidence(0.6, 0.7, 0.4) == 0.6


def test_a_small_space_asks_for_more_likeness_within_a_script_than_across() -> None:
    options = FloorOptions()

    within, across = (options.zero(settled=False, across=each) for each in (False, True))

    assert within > across > options.zero(settled=True, across=False)


def test_in_a_space_with_means_of_its_own_scripts_make_no_difference() -> None:
    options = FloorOptions()

    assert options.zero(settled=True, across=True) == options.zero(settled=True, across=False)


def test_the_worse_of_two_near_duplicates_is_dropped() -> None:
    walked = diversify([candidate(1, 0.9), candidate(2, 0.8)], alike, DiversityOptions())

    assert [each.stage for each in walked] == [None, "diversity"]
    assert "0.950" in walked[1].reason


def test_of_a_section_and_its_own_paragraph_the_better_stays_in_either_order() -> None:
    section = candidate(5, 0.5, kind="section", text="Title\ntext 6\ntext 7")
    better, worse = candidate(6, 0.9, parent=5), candidate(7, 0.1, parent=5)

    above = diversify(best_first([section, worse]), apart, DiversityOptions())
    below = diversify(best_first([section, better]), apart, DiversityOptions())

    assert [each.node.id for each in standing(above)] == [5]
    assert [each.node.id for each in standing(below)] == [6]


def test_code_that_no_section_text_holds_is_returned_beside_its_section() -> None:
    section = candidate(5, 0.9, kind="section", text="Title\na paragraph")
    code = candidate(6, 0.5, kind="code", parent=5, text="x = 1")

    assert len(standing(diversify([section, code], apart, DiversityOptions()))) == 2


def test_a_bare_title_is_not_returned_beside_what_stands_below_it() -> None:
    below = candidate(6, 0.9, path="/d/a/b")
    title = candidate(5, 0.5, kind="section", path="/d/a", text="n5")
    said = candidate(7, 0.4, kind="section", path="/d/a", text="n7\nand words of its own")
    other = candidate(8, 0.3, kind="section", path="/d/a-", text="n8")

    walked = diversify([below, title, said, other], apart, DiversityOptions())

    assert [each.node.id for each in standing(walked)] == [6, 7, 8]


def test_a_subsection_is_no_paragraph_of_its_section() -> None:
    section = candidate(5, 0.9, kind="section")
    below = candidate(6, 0.5, kind="section", parent=5)

    assert len(standing(diversify([section, below], apart, DiversityOptions()))) == 2


def test_the_same_text_is_returned_once_without_any_vector() -> None:
    twins = [candidate(1, 0.9, text="same"), candidate(3, 0.8, text="same")]

    assert len(standing(diversify(twins, apart, DiversityOptions()))) == 1


def test_what_does_not_fit_leaves_room_for_smaller_ones() -> None:
    costs = {1: 50, 2: 80, 3: 20}

    walked = spend(
        [candidate(i, 1.0 - i / 10) for i in costs],
        20,
        lambda each, number: costs[each.node.id],
        Budget(max_chars=100),
    )

    assert [each.node.id for each in standing(walked)] == [1, 3]
    assert "needs 80 characters, 30 are left" in walked[1].reason


@given(
    st.lists(st.integers(1, 900), max_size=40),
    st.integers(0, 10),
    st.integers(0, 3000),
    st.integers(0, 200),
)
def test_no_bound_of_the_budget_is_ever_passed(
    costs: list[int], max_nodes: int, max_chars: int, overhead: int
) -> None:
    candidates = [candidate(i, 1.0) for i in range(len(costs))]

    def cost(each: Candidate, number: int) -> int:
        return costs[each.node.id]

    walked = spend(candidates, overhead, cost, Budget(max_nodes, max_chars))

    kept = standing(walked)
    assert len(walked) == len(candidates)
    assert len(kept) <= max_nodes
    assert not kept or overhead + sum(cost(each, 1) for each in kept) <= max_chars
    assert all(each.reason for each in walked if each.stage is not None)
