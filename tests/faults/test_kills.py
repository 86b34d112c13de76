"""Killed at any write, a home holds what it acknowledged: once, whole, findable, and nothing else.

The long part, with two thousand kills, is `scripts/torture kills`.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator

import pytest
from _pytest.mark import ParameterSet
from tests.faults import kills, naive, tracing, workloads
from tests.faults.kills import Bench
from tests.faults.tracing import spread

KILLS = 2
"""Of each workload."""
SPREAD = 60
"""Points over all calls of a workload, from which those are drawn."""
TRIES = 16
"""Kills of a control, at most: the first that harms a text is enough."""


SLOW = {
    *("store with vectors", "reindex", "undo a dream", "export", "restore"),
    *("acknowledged before it is imported", "acknowledged before it is captured"),
    *("acknowledged before it is forgotten", "one transaction over attached files"),
    "every copy taken for a document",
}
"""Workloads and controls that others stand for where time is short."""


def some_slow(names: Iterable[str]) -> list[ParameterSet]:
    return [pytest.param(each, marks=[pytest.mark.slow] * (each in SLOW)) for each in names]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    if reason := tracing.why_not():
        pytest.skip(reason)
    with kills.bench(tmp_path_factory.mktemp("kills")) as opened:
        yield opened


@pytest.mark.parametrize("name", some_slow(workloads.WORKLOADS))
def test_whatever_is_killed_keeps_what_it_acknowledged(
    bench: Bench,
    name: str,
) -> None:  # dur-04, dur-08
    case = kills.case_of(name)
    points = random.Random(name).sample(spread(bench.calls(case), SPREAD, seed=1), KILLS)

    verdicts = bench.sweep(case, points)

    assert {v.point: v.problems for v in verdicts if v.problems} == {}
    assert sum(v.killed for v in verdicts) >= KILLS - 1  # a call may come too late in another run


@pytest.mark.parametrize("name", some_slow(naive.CONTROLS))
def test_the_judge_finds_out_what_is_unprotected(bench: Bench, name: str) -> None:
    case, kind = kills.control_of(name), naive.CONTROLS[name].shown_by
    calls = bench.calls(case)[kind]
    points = spread(Counter({kind: calls}), TRIES, seed=1)
    random.Random(name).shuffle(points)

    assert any(map(kills.is_harmed, (bench.kill(case, point) for point in points)))


def test_a_workload_that_nobody_kills_is_well(bench: Bench) -> None:
    never = tracing.Point("rename", 1_000)

    verdict = bench.kill(kills.case_of("store"), never)

    assert not verdict.killed
    assert verdict.problems == ()


def test_points_are_spread_over_every_kind_of_call() -> None:
    calls = Counter({"pwrite64": 500, "rename": 3, "fsync": 40})

    points = spread(calls, 60, seed=1)

    assert [p.number for p in points if p.call == "rename"] == [1, 2, 3]
    assert {p.call for p in points} == set(calls)
    assert len(points) == len(set(points)) <= 60
    assert max(p.number for p in points if p.call == "pwrite64") > 450
