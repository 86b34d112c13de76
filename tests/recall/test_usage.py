"""What is written down after an answer, and what is not."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from tests.databases import database_of

from ringwood.errors import AddressError
from ringwood.memory import Memory
from ringwood.names import LAST_FORGET
from ringwood.recall.report import to_json
from ringwood.recall.usage import Use, write_uses

NOTE = "# Staging\n\nThe database listens on port 8091.\n\nThe bastion host is called heron."


def test_a_recall_that_another_process_writes_down_late_shows_nothing_forgotten(
    words: Memory,
) -> None:
    words.store(NOTE)
    asked = words.recall("on which port listens the database")
    [shown] = words.recall("what is the bastion host called").hits
    beside = json.dumps(to_json(asked, why=True))
    assert shown.node not in {hit.node for hit in asked.hits}
    assert "heron" in beside  # in a path, or as a neighbour's first words

    late = Use(asked, datetime.now(UTC), counted=True, last_forget=last_forget(words))
    words.forget(shown.address)
    with database_of(words) as engine:
        write_uses(engine, [late])

    with pytest.raises(AddressError):
        words.explain(asked.recall_id)
    again = words.recall("on which port listens the database")
    words.wait(5.0)
    assert "8091" in words.explain(again.recall_id)["hits"][0]["text"]


def last_forget(memory: Memory) -> str | None:
    """Return the home's note of its last forgetting."""
    with database_of(memory) as engine, engine.reading() as reader:
        return reader.meta(LAST_FORGET)
