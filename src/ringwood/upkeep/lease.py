"""One process of a home at a time does a piece of upkeep; the others find it taken and go on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ringwood.lease import Lease


@contextmanager
def holding(home: str | Path, name: str) -> Iterator[bool]:
    """Hold the right to do a piece of upkeep while the body runs; yield False when it is taken.

    Never waits. The kernel frees it when its holder dies. Two threads of one process exclude each
    other as two processes do, and it cannot be taken twice.

    Args:
        home: a home that is there.
        name: of what is to be done: `rotate`, `dream`, `schedule`.

    Raises:
        ReadOnlyError: when this user may only read the home.
        StorageError: when the disk refuses.
    """
    lease = lease_of(home, name)
    held = lease.try_acquire()
    try:
        yield held
    finally:
        if held:
            lease.release()


def holder_of(home: str | Path, name: str) -> int | None:
    """Return the id of the process that does a piece of upkeep now; None where nobody does."""
    return lease_of(home, name).holder()


def lease_of(home: str | Path, name: str) -> Lease:
    """Return a new contender for a piece of upkeep; nothing is opened."""
    return Lease(Path(home) / f"{name}.lock")
