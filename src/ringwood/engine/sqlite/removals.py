"""What is to be removed from a tier that was away when it was forgotten: a list of ids in hot.

    forgotten while a tier is away: on the list, in the transaction that deletes it in hot
    the tier is there again: left out of every snapshot -> removed there, no trace -> off the list

So a copy that a crash left in that tier, of which hot knows nothing, is read by nobody.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import apsw

from ringwood.batches import in_batches
from ringwood.engine.sqlite import moves
from ringwood.engine.sqlite.compaction import empty_log, optimise_words
from ringwood.engine.sqlite.connection import remaining, transaction
from ringwood.engine.sqlite.tier import TierWriter
from ringwood.types import Tier

_BATCH = 50
"""Documents removed in one transaction."""

_TIERS = "SELECT DISTINCT tier FROM main.removals"
_LISTED = "SELECT document FROM removals WHERE tier = ? ORDER BY document"
_DROP = "DELETE FROM removals WHERE tier = ?"
_IN_HOT = "SELECT EXISTS (SELECT 1 FROM documents WHERE id = ?)"


def tiers_behind(connection: apsw.Connection) -> tuple[Tier, ...]:
    """Name the tiers from which something is to be removed: a look at an empty table, mostly."""
    return tuple(row[0] for row in connection.execute(_TIERS))


def remove_listed(
    hot: apsw.Connection,
    colder: apsw.Connection,
    tier: Tier,
    number_in_hot: Callable[[str], int],
    *,
    timeout_s: float,
) -> int:
    """Remove from a tier that is back what was forgotten meanwhile; return how many copies.

    Cut short, it is done again: the list goes last. The gate is held, so that nobody adds to it.
    """
    deadline = time.monotonic() + timeout_s
    listed = [row[0] for row in hot.execute(_LISTED, (tier,))]
    removed = 0
    for batch in in_batches(listed, _BATCH):
        with transaction(colder, timeout_s=remaining(deadline)):
            removed += _remove(hot, colder, TierWriter(colder, tier, number_in_hot), batch)
    if removed:
        optimise_words(colder, timeout_s=remaining(deadline))
        empty_log(colder)
    with transaction(hot, timeout_s=remaining(deadline)):
        hot.execute(_DROP, (tier,))
    return removed


def _remove(
    hot: apsw.Connection, colder: apsw.Connection, writer: TierWriter, documents: Iterable[int]
) -> int:
    """Remove copies; links to a document of which only a part was forgotten stay."""
    return sum(
        moves.remove_document(colder, document)
        if hot.execute(_IN_HOT, (document,)).get
        else writer.delete_document(document)
        for document in documents
    )
