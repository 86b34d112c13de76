"""What is written down after an answer: the recall's ledger for `explain`, and the accesses."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ringwood.engine.base import Engine
from ringwood.recall.report import to_json
from ringwood.types import TIERS, Recall

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

    def write(self, engine: Engine) -> None:
        """Log the recall and count the accesses.

        Raises:
            BusyError: when the write lock was not to be had in time.
        """
        hits = self.recall.hits
        payload = pack(self.recall)
        documents = {int(hit.document) for hit in hits}
        documents |= {int(each.document) for each in self.recall.dropped}
        with engine.writing(timeout_s=WAIT_S) as writer:
            writer.log_recall(self.recall.recall_id, self.at, documents, payload, keep=LOG_KEEP)
        for tier in TIERS:
            nodes = [int(hit.node) for hit in hits if hit.tier == tier]
            if nodes and self.counted:
                with engine.writing(tier, timeout_s=WAIT_S) as writer:
                    writer.count_access(nodes)
