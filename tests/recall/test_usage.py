"""What is written down after an answer, and what is not."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ringwood.errors import AddressError
from ringwood.memory import Memory
from ringwood.recall.usage import Use, write_uses

NOTE = "# Staging\n\nThe database listens on port 8091.\n\nThe bastion host is called heron."


def test_a_recall_that_another_process_writes_down_late_shows_nothing_forgotten(
    words: Memory,
) -> None:
    words.store(NOTE)
    port = words.recall("on which port listens the database")
    heron = words.recall("what is the bastion host called")
    [shown] = [hit for hit in heron.hits if "heron" in hit.text]
    late = [Use(answer, datetime.now(UTC), counted=True) for answer in (port, heron)]

    words.forget(shown.address)
    write_uses(words._opened.engine(), late)

    assert "8091" in words.explain(port.recall_id)["hits"][0]["text"]
    with pytest.raises(AddressError):
        words.explain(heron.recall_id)
