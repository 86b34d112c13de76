"""What is handed over leads back to a source, and what lost its source is not handed over.

Ids are those of the acceptance list. What exists today of a reindex is: close, open again, import
again, embed again.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import pytest
from tests.cases.commands import Command
from tests.cases.oracle import contents

from ringwood.errors import AddressError
from ringwood.memory import Memory
from ringwood.recall.budget import Budget
from ringwood.recall.frame import render
from ringwood.types import Hit

HANDBOOK = """---
title: Harbour handbook
date: 2026-05-04
---

## Lights

The *northern* lantern burns at `zq7741` hertz.

- Trim the wick of the lantern at dusk.
- Log the vrokk reading.

## Ropes

> A rope that smells of tar is sound.

| rope  | load |
|-------|------|
| quolm | 9 t  |

```
check_rope --kind quolm
```
"""
NONCE = "0123456789abcdef"
QUERIES = ("northern lantern zq7741", "vrokk reading", "quolm load", "rope that smells of tar")


def totals(memory: Memory) -> tuple[int, int, int, int]:
    """Count documents, nodes, vectors and edges."""
    tiers = memory.stats().totals.tiers.values()
    return (
        sum(tier.documents for tier in tiers),
        sum(tier.nodes for tier in tiers),
        sum(tier.vectors for tier in tiers),
        sum(tier.edges for tier in tiers),
    )


def bytes_of(home: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(home.rglob("*")) if file.is_file())


def told(hits: Sequence[Hit]) -> list[tuple[str, str, datetime, float]]:
    """Say what an answer comes to."""
    return [(hit.address, hit.text, hit.created_at, round(hit.score, 5)) for hit in hits]


@pytest.mark.parametrize("query", QUERIES)
def test_every_hit_leads_back_to_a_span_of_what_was_stored(
    memory: Memory, query: str
) -> None:  # evidence.claim_resolves_to_source
    memory.store(HANDBOOK)
    memory.wait()

    answer = memory.recall(query)

    assert answer.hits
    block = render(answer.hits, NONCE)
    for hit in answer.hits:
        view = memory.read(hit.address)
        assert (str(view.node.id), str(view.document.id)) == (hit.node, hit.document)
        assert HANDBOOK[slice(*view.node.span)] == view.source
        assert view.document.actor == "person"
        said = hit.text.removeprefix(view.node.title)
        assert all(word in view.source for word in said.split())
        assert hit.address in block
        references = [*hit.siblings, *([hit.section] if hit.section else [])]
        assert references or view.parent is None
        assert all(memory.read(each.address).source for each in references)


def test_with_the_source_goes_all_that_was_derived_from_it(
    tmp_path: Path,
) -> None:  # evidence.source_delete_reaches_derived
    home = tmp_path / "home"
    with (
        Memory.open(home, space="here", embedder="hashing") as here,
        Memory.open(home, space="elsewhere", embedder="hashing") as elsewhere,
    ):
        for text, key in (
            ("The xylo gauge of the harbour reads nine.", "gone"),
            ("The xylo gauge of the harbour read nine.", "gone"),  # an earlier version beside it
            ("The gauge of the harbour reads ten.", "sibling"),
            ("The gauge of the harbour reads ten now.", "second sibling"),
        ):
            here.store(text, source=key)
            here.wait()
        elsewhere.store("The gauge elsewhere.")
        elsewhere.wait()
        apart = elsewhere.recall("gauge elsewhere").recall_id
        logged = here.recall("xylo gauge", floor=0.0).recall_id
        assert here.explain(logged)["hits"]
        before = totals(here)

        report = here.forget(source="gone")
        assert here.wait()

        assert (report.documents, report.files) == (1, 1)
        assert min(report.nodes, report.vectors, report.edges) > 0
        after = totals(here)
        removed = (report.documents, report.nodes, report.vectors, report.edges)
        assert tuple(map(sum, zip(after, removed, strict=True))) == before
        assert after[3] > 0  # the siblings are still linked
        answer = here.recall("xylo gauge", floor=0.0)
        assert {"xylo" in hit.text for hit in answer.hits} == {False}
        assert len(list((home / "mirror" / "here").rglob("*.md"))) == 2
        with pytest.raises(AddressError, match="The log holds no recall"):
            here.explain(logged)
        assert here.explain(answer.recall_id)["hits"]
        assert elsewhere.explain(apart)["hits"]
    left = bytes_of(home)
    assert b"xylo gauge" not in left
    assert b"reads ten now" in left


def test_what_is_retained_is_enough_to_build_all_the_rest_again(
    memory: Memory, tmp_path: Path
) -> None:  # evidence.rebuild_from_retained
    memory.store(HANDBOOK, importance=0.8)
    memory.store("# Winter\n\nThe vrokk sleeps.\n\nQuolm freezes at -9.", source="winter")
    memory.wait()
    answers = [memory.recall(query, counted=False).hits for query in QUERIES]
    assert all(answers)

    with Memory.open(tmp_path / "again", embedder="hashing") as again:
        for card in reversed(memory.recent()):
            kept = memory.read(card.path)
            assert kept.node.span[0] == 0
            again.store(
                kept.source,
                title=card.title,
                path=card.path,
                source=card.source,
                importance=card.importance,
                at=card.created_at,
            )
            again.wait()
        rebuilt = [again.recall(query, counted=False).hits for query in QUERIES]

    assert list(map(told, rebuilt)) == list(map(told, answers))


LAB = "# Lab\n\n## Fish\n\nThe zebrafish drink xylographic tea.\n\n## Bread\n\nThe rye rests.\n"


def test_what_was_forgotten_stays_away_after_all_work_is_done_again(
    tmp_path: Path,
) -> None:  # deletion.absent_after_reindex_and_restart
    home, notes = tmp_path / "home", tmp_path / "notes"
    notes.mkdir()
    note, other = notes / "lab.md", notes / "other.md"
    note.write_text(LAB, "utf-8")
    other.write_text("Other zebrafish of the batch rest too.", "utf-8")
    with Memory.open(home, embedder="hashing") as memory:
        memory.import_notes([notes])
        memory.wait()
        memory.recall("xylographic tea of the zebrafish")
        memory.forget("/lab/fish")
    for text in (LAB, LAB + "\nA line more.\n", LAB.replace("\n", "\r\n")):
        note.write_text(text, "utf-8", newline="")
        with Memory.open(home, embedder="hashing") as memory:
            memory.import_notes([notes])
            assert memory.wait()

    with Memory.open(home, embedder="hashing") as memory:
        for query in ("xylographic", "xylographic tea of the zebrafish", "what do zebrafish drink"):
            answer = memory.recall(query, floor=0.0)
            assert not any("xylographic" in hit.text for hit in answer.hits)
            assert not any("fish" in each.address for each in answer.dropped)
        past = memory.recall("xylographic tea", floor=0.0, as_of=memory.recent()[0].created_at)
        assert not any("xylographic" in hit.text for hit in past.hits)
        assert not any("xylographic" in line.node.text for line in memory.tree(depth=9))
        with pytest.raises(AddressError):
            memory.read("/lab/fish")
        # The siblings, in the same file and in the same batch.
        assert memory.recall("the rye rests").hits[0].text == "The rye rests."
        assert "Other zebrafish" in memory.recall("other zebrafish").hits[0].text
        assert memory.read("/lab/bread").source.startswith("## Bread")
        assert memory.missing_vectors() == 0
    left = bytes_of(home)
    assert b"xylographic" not in left
    assert b"The rye rests" in left


def test_no_more_than_k_are_handed_over_and_k_where_there_are_so_many(
    words: Memory,
) -> None:  # retrieval.k_is_an_upper_bound
    for number in range(20):
        words.store(f"# Pump {number}\n\nThe pump was serviced on day {number}.")

    for k in (1, 3, 6, 40):
        budget = Budget(max_nodes=k, max_chars=100_000)
        hits = words.recall("pump serviced", budget=budget, floor=0.0).hits
        inside = contents(render(hits, NONCE), NONCE)
        assert len(hits) == min(k, 20)
        assert len(re.findall(r"^\[\d+\] ", inside, re.MULTILINE)) == len(hits)


def test_the_block_is_no_longer_than_the_budget(
    command: Command, words: Memory
) -> None:  # retrieval.k_is_an_upper_bound
    for number in range(12):
        words.store(f"# Pump {number} &lt; {number + 1}\n\n{f'Pump < {number}. ' * 40}")

    for max_chars, max_node_chars in itertools.product((1, 200, 500, 1_500, 4_000), (20, 900)):
        budget = Budget(max_chars=max_chars, max_node_chars=max_node_chars)
        hits = words.recall("pump", budget=budget, floor=0.0).hits
        bounds = ("--max-chars", str(max_chars), "--max-node-chars", str(max_node_chars))
        printed = command("recall", "pump", "--floor", "0", "--format", "frame", *bounds).out

        assert len(render(hits, NONCE)) <= max_chars
        assert all(len(hit.text) <= max_node_chars for hit in hits)
        assert len(printed.removesuffix("\n")) <= max_chars
        assert bool(hits) == bool(printed.strip())
        assert hits or max_chars < 1_500
