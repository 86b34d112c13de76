"""Several processes store at once; the long part is `scripts/torture crowd`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.faults.crowd import Crowd, crowd

pytestmark = pytest.mark.skipif("sys.platform == 'win32'", reason="takes turns by lockf")


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> Crowd:
    """Four processes that store sixty texts each, and one that recalls."""
    return crowd(tmp_path_factory.mktemp("gated"), processes=4, stores=60, readers=1)


def test_four_processes_store_at_once_and_all_is_there_once(gated: Crowd) -> None:  # con-01
    assert gated.is_exact, gated.told()
    assert sum(len(asked.waits) for asked in gated.asked) > 1


def test_without_the_gate_one_store_waits_far_longer_than_with_it(
    gated: Crowd, tmp_path: Path
) -> None:
    """The control: what is measured is the gate, and not a machine with time for everybody."""
    ungated = crowd(tmp_path / "home", processes=4, stores=60, readers=1, gated=False)
    assert gated.longest < ungated.longest, (gated.told(), ungated.told())


def test_a_lost_a_doubled_a_refused_and_a_wrong_answer_are_seen(gated: Crowd) -> None:
    took, asked = gated.took[0], gated.asked[0]
    for spoiled in (
        replace(gated, kept=gated.kept - 1),
        replace(gated, documents=gated.documents + 1),
        replace(gated, damage="row 3 missing from index"),
        replace(gated, took=(replace(took, errors=["busy"]), *gated.took[1:])),
        replace(gated, asked=(replace(asked, wrong=["nothing"]),)),
    ):
        assert not spoiled.is_exact


def test_one_process_that_is_starved_is_no_fair_turn(gated: Crowd) -> None:
    slow = replace(gated.took[0], seconds=gated.took[0].seconds * 2)
    stuck = replace(gated.took[0], waits=[*gated.took[0].waits, 99.0])
    assert not replace(gated, took=(slow, *gated.took[1:])).is_fair
    assert not replace(gated, took=(stuck, *gated.took[1:])).is_fair
