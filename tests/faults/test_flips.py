"""Single flipped bits: verify finds those in texts, nothing crashes, nothing is deleted."""

from __future__ import annotations

import time
from itertools import islice
from pathlib import Path
from random import Random

import pytest
from tests.faults import flips

from ringwood.memory import Memory


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed home of thirty notes; each test leaves its files as they were."""
    made = tmp_path_factory.mktemp("flips") / "home"
    flips.fill(made, 30)
    return made


def tried(home: Path, bits: list[flips.Flip], *, quick: bool) -> flips.Tally:
    return flips.try_flips(home, flips.HOT, bits, until=time.monotonic() + 300, quick=quick)


@pytest.mark.parametrize("count", [60, pytest.param(300, marks=pytest.mark.slow)])
def test_verify_finds_bits_that_flip_in_texts_where_integrity_check_finds_none(
    home: Path, count: int
) -> None:  # res-05
    bits = list(islice(flips.in_text(home / flips.HOT, Random(1)), count))

    tally = tried(home, bits, quick=True)

    assert tally.trials == count
    assert tally.found >= flips.FLOOR * tally.trials, f"{tally.found} of {tally.trials}"
    assert not tally.stray
    assert tally.control < tally.trials / 10  # the control: what a check without digests sees


@pytest.mark.parametrize("count", [25, pytest.param(300, marks=pytest.mark.slow)])
def test_a_bit_that_flips_anywhere_raises_no_error_but_ours(home: Path, count: int) -> None:
    bits = list(islice(flips.anywhere(home / flips.HOT, Random(2)), count))

    tally = tried(home, bits, quick=False)

    assert tally.trials == count
    assert not tally.stray


def test_without_a_flip_there_is_nothing_to_find(home: Path) -> None:
    with Memory.open(home, embedder="words", wait_s=0.0) as memory:
        assert memory.verify().findings == ()
