"""Take in what was said in DSH's sessions: all of it when asked, and what the child was not told.

Exchanges have the keys that they have when they are captured, so what is known adds nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ringwood.batches import in_batches
from ringwood.capture.consent import is_paused
from ringwood.hosts.dsh.sessions import Tally, read_exchanges
from ringwood.memory import Memory
from ringwood.write.exchanges import TakenIn

BATCH = 200
"""Exchanges stored at a time: enough to share a transaction, few enough to hold in memory."""


@dataclass(frozen=True, slots=True)
class Backfill:
    """What reading sessions came to."""

    sessions: int
    """Files with something said in them."""
    exchanges: int
    """Exchanges in them."""
    taken: TakenIn
    """What became of these."""
    tally: Tally
    """Events read and left out, by reason."""
    unreadable: tuple[tuple[str, str], ...]
    """Files that could not be read, each with its reason."""


def backfill(  # noqa: PLR0913 - what the two callers need of it
    memory: Memory,
    files: Sequence[Path],
    *,
    wanted: Callable[[str], bool] = lambda session: True,
    only_closed: bool = False,
    dry_run: bool = False,
    again: bool = False,
    on_file: Callable[[int, int], None] = lambda done, total: None,
) -> Backfill:
    """Store the exchanges of session files, each in the space of its session's directory.

    Args:
        memory: where to.
        files: session files, the oldest first.
        wanted: says whether a session is wanted, by its id.
        only_closed: leave out a turn that may still be under way.
        dry_run: write nothing.
        again: let forgotten ones back in.
        on_file: told how many of how many files were read.

    Raises:
        StorageError: when the disk refuses; earlier batches are stored.
    """
    tally, unreadable, sessions, exchanges = Tally(), [], 0, 0
    taken = TakenIn()
    for number, file in enumerate(files, start=1):
        before = exchanges
        read = read_exchanges(file, tally, is_paused=partial(is_paused, memory.home), wanted=wanted)
        try:
            whole = (each for each in read if each.closed or not only_closed)
            for batch in in_batches(whole, BATCH):
                taken += memory.store_exchanges(batch, dry_run=dry_run, again=again)
                exchanges += len(batch)
        except OSError as error:
            unreadable.append((str(file), error.strerror or type(error).__name__))
        sessions += exchanges > before
        on_file(number, len(files))
    return Backfill(sessions, exchanges, taken, tally, tuple(unreadable))
