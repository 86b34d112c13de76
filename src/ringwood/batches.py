"""Cut what is to be done into pieces of which each is one transaction, one query, or one call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")


def in_batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield items in lists of `size`, the last one shorter; nothing of no items.

    Items are taken as they are asked for: a cursor is read a list at a time.
    """
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch
