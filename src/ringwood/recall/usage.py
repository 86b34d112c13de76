"""What is written down after an answer: the recall's ledger for `explain`, and the accesses."""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ringwood.engine.base import Engine
from ringwood.errors import StorageError
from ringwood.names import LAST_FORGET
from ringwood.recall.report import to_json
from ringwood.types import TIERS, Recall, Tier

_log = logging.getLogger(__name__)

LOG_KEEP = 1000
"""Recalls that the log keeps."""
WAIT_S = 0.5
"""How long to wait for the write lock: an answer must never wait for its own bookkeeping."""


def pack(recall: Recall) -> bytes:
    """Write a recall for the log: JSON, compressed to about a tenth."""
    return zlib.compress(json.dumps(to_json(recall, why=True), ensure_ascii=False).encode())


def unpack(payload: bytes) -> dict[str, Any]:
    """Read what `pack` wrote: the JSON of the contract."""
    loaded: dict[str, Any] = json.loads(zlib.decompress(payload))
    return loaded


@dataclass(frozen=True, slots=True)
class Use:
    """One answered recall."""

    recall: Recall
    """The answer."""
    at: datetime
    """When. UTC."""
    counted: bool
    """Whether its hits count as used."""
    last_forget: str | None
    """The home's note of its last forgetting, `LAST_FORGET`, when it began."""

    def nodes(self, tier: Tier) -> list[int]:
        """Return the hits in a tier that count as used, by node id."""
        return [int(hit.node) for hit in self.recall.hits if self.counted and hit.tier == tier]

    def documents(self) -> set[int]:
        """Return the ids of all documents that the recall names."""
        hits = {int(hit.document) for hit in self.recall.hits}
        return hits | {int(each.document) for each in self.recall.dropped}


def write_uses(engine: Engine, uses: Sequence[Use]) -> None:
    """Log recalls and count their accesses, in one transaction per tier.

    A recall that began before something was forgotten is not logged: beside its hits stand the
    first words of their neighbours, and in paths those of what was dropped. Accesses in an older
    tier that cannot be written now are not counted: they only break ties.

    Raises:
        StorageError: when the hot tier cannot be written in time. Then nothing was.
    """
    payloads = [pack(use.recall) for use in uses]
    with engine.writing(timeout_s=WAIT_S) as writer, engine.reading() as reader:
        for use, payload in zip(uses, payloads, strict=True):
            recall_id, documents = use.recall.recall_id, use.documents()
            if reader.meta(LAST_FORGET) == use.last_forget:
                writer.log_recall(recall_id, use.at, documents, payload, keep=LOG_KEEP)
            writer.count_access(use.nodes("hot"))
    for tier in TIERS[1:]:
        counted = [nodes for use in uses if (nodes := use.nodes(tier))]
        if not counted:
            continue
        try:
            with engine.writing(tier, timeout_s=WAIT_S) as writer:
                for nodes in counted:
                    writer.count_access(nodes)
        except StorageError as error:
            _log.info("accesses in the %s tier were not counted: %s", tier, error.message)
