"""Work is cut into pieces without losing, doubling or holding any of it."""

from __future__ import annotations

from itertools import chain, count, islice

import pytest

from ringwood.batches import in_batches


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("items", [0, 1, 6, 7, 8])
def test_the_batches_joined_are_the_items(size: int, items: int) -> None:
    batches = list(in_batches(range(items), size))

    assert list(chain.from_iterable(batches)) == list(range(items))
    assert all(len(batch) == size for batch in batches[:-1])
    assert all(0 < len(batch) <= size for batch in batches[-1:])


def test_items_are_taken_as_they_are_asked_for() -> None:
    endless = count()

    assert list(islice(in_batches(endless, 3), 2)) == [[0, 1, 2], [3, 4, 5]]
    assert next(endless) == 6
