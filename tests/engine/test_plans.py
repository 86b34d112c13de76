"""No query on a hot path may cost in proportion to the store."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.databases import connection_to

from ringwood.engine.base import Engine
from ringwood.engine.sqlite import (
    attempts,
    coverage,
    home_reading,
    querying,
    ranking,
    tiers,
    totals,
    vector_copy,
    visible,
)

MODULES = (
    attempts,
    coverage,
    home_reading,
    querying,
    ranking,
    tiers,
    totals,
    vector_copy,
    visible,
)
FOR_PEOPLE = {"_STATES", "_ERRORS", "_PER_SPACE", "_HELD", "_COVERAGE", "_KEPT", "_ATTEMPTS"}
FOR_WRITERS = {"_GONE_RANGE"}
FRAGMENTS = {"_CARD", "_NODE", "_ATTEMPT"}
# A scan of one of these is a scan of what is wanted: rows that wait, or ids that were asked for.
BOUNDED = re.compile(
    r"USING INDEX documents_(waiting|unmirrored)|(carray|a) VIRTUAL TABLE|SCAN (all_\w+|e)$"
    r"|CONSTANT ROW|main\.spaces"
)


def queries() -> Iterator[tuple[str, str]]:
    """Yield name and text of every constant that reads."""
    for module in MODULES:
        for name, value in vars(module).items():
            per_tier = tuple(value.values()) if isinstance(value, dict) else value
            texts = per_tier if isinstance(per_tier, tuple) else (per_tier,)
            for text in texts:
                if name.startswith("_") and isinstance(text, str) and text.strip()[:6] == "SELECT":
                    yield name, text


HOT = [(name, text) for name, text in queries() if name not in FOR_PEOPLE | FOR_WRITERS | FRAGMENTS]


def test_the_queries_are_found() -> None:
    assert len(HOT) > 30


@pytest.mark.parametrize("sql", [text for _, text in HOT], ids=[name for name, _ in HOT])
def test_a_query_searches_and_does_not_scan(engine: Engine, home: Path, sql: str) -> None:
    with connection_to(home) as connection:
        numbered = {int(number) for number in re.findall(r"\?(\d)", sql)}
        places = max(numbered, default=sql.count("?"))
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", (None,) * places)]
    assert plan
    for step in plan:
        assert "AUTOMATIC" not in step, plan
        assert not step.startswith("SCAN") or BOUNDED.search(step), plan
