"""A short life, and what is measured of one; the long part is `scripts/torture soak`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.faults.soak import GROWTH, LOG_LIMIT, WARM_UP, Sample, Soak, soak

pytestmark = pytest.mark.skipif(
    "not __import__('pathlib').Path('/proc/self/smaps_rollup').exists()", reason="needs Linux"
)

SHORT = 1 / 6
"""Minutes: too short for memory to settle, long enough for files and threads."""
LONGER = 2 / 3
"""Minutes: long enough for a busy machine to take several samples and rounds."""
FEW = 12
"""Documents."""
EVERYTHING = 41
"""Rounds after which every kind of work was done, the compaction last: all files are open."""


def test_a_short_life_leaves_no_file_open_and_no_log_large(tmp_path: Path) -> None:
    lived = soak(tmp_path / "home", minutes=SHORT, documents=FEW, warm_up=EVERYTHING)

    assert lived.samples[-1].rounds > EVERYTHING
    assert lived.more_descriptors <= 0, lived.told()
    assert lived.more_threads <= 0, lived.told()
    assert lived.log <= LOG_LIMIT, lived.told()
    assert not lived.refused


@pytest.mark.slow
def test_a_planted_leak_is_found(tmp_path: Path) -> None:
    lived = soak(tmp_path / "home", minutes=LONGER, documents=FEW, warm_up=10, leaks=True)

    assert lived.more_descriptors > 0, lived.told()
    assert lived.growth > GROWTH, lived.told()


STEADY = Sample(
    at_s=0, rounds=WARM_UP, resident=100, descriptors=9, threads=3, log=1, documents=50, size=7
)


def life(*samples: Sample) -> Soak:
    """A life of sixty samples that goes from the first to the last of these."""
    length = 60 // len(samples)
    return Soak(
        tuple(
            replace(sample, at_s=float(1 + number))
            for number, sample in enumerate(each for each in samples for _ in range(length))
        ),
        refused=0,
    )


def test_a_life_without_growth_holds() -> None:
    assert life(STEADY, replace(STEADY, resident=104, documents=52, size=9)).holds()


@pytest.mark.parametrize(
    "later",
    [
        replace(STEADY, resident=106),
        replace(STEADY, documents=53),
        replace(STEADY, descriptors=10),
        replace(STEADY, threads=4),
        replace(STEADY, log=LOG_LIMIT + 1),
    ],
)
def test_each_kind_of_growth_is_found(later: Sample) -> None:
    assert not life(STEADY, later).holds()


def test_what_is_taken_up_while_it_warms_up_is_no_growth() -> None:
    cold = replace(STEADY, rounds=WARM_UP - 1, resident=50, descriptors=4, threads=1, documents=9)
    assert life(cold, *[STEADY] * 9).holds()


def test_a_command_that_was_refused_beside_it_counts() -> None:
    assert not replace(life(STEADY), refused=1).holds()
