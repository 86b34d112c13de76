"""Rotation: every document in the tier of its age, once, whatever happens meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.engine.moving import FILES, move_by_hand
from tests.upkeep.aged import NOW, fill, rotated, text_of, tiers_of

from ringwood.engine.base import Engine, TierOptions
from ringwood.memory import Memory
from ringwood.recall.budget import Budget
from ringwood.types import Hit, Signals
from ringwood.write.draft import Draft, Intake
from ringwood.write.ingest import ingest
from ringwood.write.nodes import terms_of

DAY = timedelta(days=1)
AGES = [0, 29, 31, 100, 179, 181, 400]
DUE = ["hot", "hot", "warm", "warm", "warm", "cold", "cold"]


def test_documents_go_straight_to_the_tier_of_their_age(engine: Engine) -> None:
    documents = fill(engine, AGES)

    done = rotated(engine)

    assert tiers_of(engine, documents) == DUE
    assert done.moved == {"hot": 0, "warm": 3, "cold": 2}
    assert (done.waiting, done.copies, done.notes, done.dry_run) == (0, 0, (), False)


def test_a_second_rotation_moves_nothing(engine: Engine) -> None:
    documents = fill(engine, AGES)
    rotated(engine)

    again = rotated(engine)

    assert again.moved == {"hot": 0, "warm": 0, "cold": 0}
    assert tiers_of(engine, documents) == DUE
    later = rotated(engine, NOW + 2 * DAY)  # the control: two of them are older now
    assert later.moved == {"hot": 0, "warm": 1, "cold": 1}


def test_a_dry_run_says_what_is_due_and_writes_nothing(engine: Engine) -> None:
    documents = fill(engine, AGES)

    planned = rotated(engine, dry_run=True)

    assert planned.moved == {"hot": 0, "warm": 3, "cold": 2}
    assert planned.dry_run
    assert set(tiers_of(engine, documents)) == {"hot"}
    with engine.reading() as reader:
        assert reader.meta("rotated_at") is None
    assert rotated(engine).moved == planned.moved


def test_every_batch_is_counted_as_it_is_done(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ringwood.upkeep.aging.rotate.BATCH_DOCUMENTS", 2)
    fill(engine, [40, 41, 42, 43, 44])
    told: list[tuple[int, int]] = []

    rotated(engine, on_document=lambda done, total: told.append((done, total)))

    assert told == [(2, 5), (4, 5), (5, 5)]


def test_a_long_text_ends_a_batch(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringwood.upkeep.aging.rotate.BATCH_CHARS", 2 * len(text_of(0)))
    fill(engine, [40, 41, 42, 43])
    told: list[int] = []

    rotated(engine, on_document=lambda done, total: told.append(done))

    assert told == [2, 4]


def test_an_interrupt_loses_nothing_and_the_next_rotation_goes_on(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ringwood.upkeep.aging.rotate.BATCH_DOCUMENTS", 1)
    documents = fill(engine, AGES)

    def interrupt(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rotated(engine, on_document=interrupt)

    assert tiers_of(engine, documents) != DUE
    assert None not in tiers_of(engine, documents)
    rotated(engine)
    assert tiers_of(engine, documents) == DUE


def test_a_tier_that_is_not_mounted_waits(engine: Engine, home: Path) -> None:
    documents = fill(engine, AGES)
    (home / FILES["cold"]).rename(home / "unmounted")

    done = rotated(engine)

    assert done.moved == {"hot": 0, "warm": 3, "cold": 0}
    assert done.waiting == 2
    assert done.missing_tiers == ("cold",)
    assert "cold" in done.notes[0]
    assert None not in tiers_of(engine, documents)
    (home / "unmounted").rename(home / FILES["cold"])
    rotated(engine)
    assert tiers_of(engine, documents) == DUE


def test_a_document_that_cannot_move_is_reported_and_the_others_move(engine: Engine) -> None:
    # As when a note was stored again while the tier with the first of it was not mounted.
    again, other = fill(engine, [100, 90])
    with engine.reading() as reader:
        card = reader.documents([again])[again]
    with engine.writing("warm") as writer:
        writer.put_document(replace(card, id=99, path="/first"), text_of(0), [])

    done = rotated(engine)

    assert done.moved == {"hot": 0, "warm": 1, "cold": 0}
    assert done.waiting == 1
    assert "path or source key" in done.notes[0]
    assert tiers_of(engine, [again, other]) == ["hot", "warm"]


def test_what_a_crash_left_is_finished_with_the_text_of_the_hotter_copy(
    engine: Engine, home: Path
) -> None:
    moved, stayed = fill(engine, [100, 5])
    for document in (moved, stayed):
        move_by_hand(home, document, "warm", keep=True)
    draft = Draft(
        "# Pump\n\nmended", "global", "person", source="note 0", created_at=NOW - 100 * DAY
    )
    ingest(engine, [draft], Intake(NOW, "ready"))
    assert {tier: len(each) for tier, each in engine.copies().items()} == {"warm": 2, "cold": 0}

    done = rotated(engine)

    assert done.copies == 2
    assert engine.copies() == {"warm": (), "cold": ()}
    assert tiers_of(engine, [moved, stayed]) == ["warm", "hot"]
    with engine.reading() as reader:
        assert reader.text_of(moved) == "# Pump\n\nmended"
        assert reader.totals().tiers["warm"].documents == 1


def test_other_ages_bring_documents_up_and_the_older_copy_stays_for_a_minute(
    engine: Engine,
) -> None:
    documents = fill(engine, AGES)
    rotated(engine)
    young = TierOptions(hot_days=300, warm_days=350)

    up = rotated(engine, options=young)

    assert up.moved == {"hot": 4, "warm": 0, "cold": 0}
    assert tiers_of(engine, documents) == ["hot"] * 6 + ["cold"]
    soon = rotated(engine, NOW + timedelta(seconds=59), options=young)
    assert (soon.copies, len(engine.copies()["warm"])) == (0, 3)
    later = rotated(engine, NOW + timedelta(seconds=61), options=young)
    assert (later.copies, engine.copies()) == (4, {"warm": (), "cold": ()})
    assert tiers_of(engine, documents) == ["hot"] * 6 + ["cold"]


def test_a_clock_that_jumps_moves_nothing_in_bulk_and_says_why(engine: Engine) -> None:
    documents = fill(engine, [i / 10 for i in range(60)])
    rotated(engine)
    jumped = NOW + 40 * DAY

    done = rotated(engine, jumped)

    assert done.moved == {"hot": 0, "warm": 0, "cold": 0}
    assert done.waiting == 60
    assert "60 of 60 hot documents" in done.notes[0]
    assert set(tiers_of(engine, documents)) == {"hot"}
    assert rotated(engine, jumped + timedelta(minutes=5)).notes  # as the timer's next start
    assert not rotated(engine, NOW + DAY).notes  # the clock was set right again
    assert set(tiers_of(engine, documents)) == {"hot"}


def test_a_clock_that_goes_on_for_an_hour_is_right(engine: Engine) -> None:
    documents = fill(engine, [i / 10 for i in range(60)])
    rotated(engine)
    rotated(engine, NOW + 40 * DAY)

    done = rotated(engine, NOW + 40 * DAY + timedelta(hours=1))

    assert done.moved["warm"] == 60
    assert set(tiers_of(engine, documents)) == {"warm"}


def test_a_dry_run_doubts_and_does_not_make_the_clock_believed(engine: Engine) -> None:
    fill(engine, [i / 10 for i in range(60)])
    rotated(engine)

    assert rotated(engine, NOW + 40 * DAY, dry_run=True).notes
    assert rotated(engine, NOW + 40 * DAY + timedelta(hours=1)).notes


def test_notes_of_years_that_were_just_imported_move_at_once(engine: Engine) -> None:
    documents = fill(engine, [200 + i for i in range(60)])

    assert rotated(engine, NOW + timedelta(minutes=1)).moved["cold"] == 60
    assert set(tiers_of(engine, documents)) == {"cold"}


def test_a_clock_that_went_back_moves_nothing(engine: Engine) -> None:
    fill(engine, AGES)

    done = rotated(engine, NOW - 2 * DAY)

    assert done.moved == {"hot": 0, "warm": 0, "cold": 0}
    assert "in use on 2026-06-01" in done.notes[0]


def test_cold_vectors_are_dropped_where_that_is_set(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[tiers]\ndrop_cold_vectors = true\n")
    with Memory.open(tmp_path, embedder="hashing") as memory:
        for age in (100, 400):
            memory.store(text_of(age), at=datetime.now(UTC) - age * DAY)
        memory.wait()

        memory.rotate()

        tiers = memory.stats().totals.tiers
        assert tiers["warm"].vectors == tiers["warm"].nodes > 0
        assert tiers["cold"].vectors == 0 < tiers["cold"].nodes
        assert memory.missing_vectors() == 0
        assert "cold" in {hit.tier for hit in memory.recall("g400").hits}  # by its words


QUERIES = [
    "which pump leaks",
    "gasket g3",
    "更换第5号垫片",
    "port 8007",
    "the valve in hall seven near the pump",
    "repair",
    "replace 垫片 v9",
    "leaks near v2 or v4",
]
PRIORS = {"importance", "recency", "access"}
WEIGHTS = {"hot": 1.0, "warm": 0.9, "cold": 0.78}


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[tuple[Memory, Callable[[str], dict[str, Hit]]]]:
    """A memory of all ages, and how to ask it for everything that it would score."""
    (tmp_path / "config.toml").write_text(
        "[diversity]\nthreshold = 2.0\n[link]\nthreshold = 0.5\n"  # drops none; links many
    )
    wide = Budget(max_nodes=200, max_chars=1_000_000)
    with Memory.open(tmp_path, embedder="hashing") as memory:
        for number in range(12):
            memory.store(text_of(number), at=datetime.now(UTC) - 30 * number * DAY)
        memory.wait()

        def ask(query: str) -> dict[str, Hit]:
            found = memory.recall(query, budget=wide, floor=0.0, counted=False)
            return {hit.node: hit for hit in found.hits}

        yield memory, ask


def test_recall_before_and_after_differs_by_the_tier_weight_alone(
    asked: tuple[Memory, Callable[[str], dict[str, Hit]]],
) -> None:
    memory, ask = asked
    before = {query: ask(query) for query in QUERIES}
    memory.rotate()
    after = {query: ask(query) for query in QUERIES}

    tiers = {hit.tier for query in QUERIES for hit in after[query].values()}
    assert tiers == {"hot", "warm", "cold"}
    compared = 0
    for query in QUERIES:
        assert before[query].keys() == after[query].keys()
        for node, was in before[query].items():
            now = after[query][node]
            assert was.tier == "hot"
            assert now.signals.tier_weight == WEIGHTS[now.tier]
            if was.signals.hop == now.signals.hop == "direct":
                compared += 1
                # To the last bit; ages have grown by the moment between the two.
                assert _of_no_tier(was.signals) == _of_no_tier(now.signals)
                assert now.signals.base == pytest.approx(
                    was.signals.base * WEIGHTS[now.tier], abs=1e-12
                )
                assert now.signals.recency == pytest.approx(was.signals.recency, abs=1e-6)
                moved = sum(term.value for term in now.terms if term.name in PRIORS)
                stood = sum(term.value for term in was.terms if term.name in PRIORS)
                assert moved == pytest.approx(stood, abs=1e-6)
    assert compared > 100


def _of_no_tier(signals: Signals) -> Signals:
    """Leave out what the tier weighs, and the time."""
    return replace(signals, tier_weight=1.0, base=0.0, recency=0.0)


def test_words_are_prepared_for_a_move_as_they_were_for_the_store(engine: Engine) -> None:
    fill(engine, AGES)
    said = "Person:\n\nWhich port?\n\nAssistant:\n\n`8090`, as ever."
    ingest(
        engine,
        [Draft(said, "global", "assistant", source="said", exchange=True)],
        Intake(NOW, "ready"),
    )
    with engine.reading() as reader:
        for card in reader.roots("global"):
            nodes = reader.nodes_of(card.id)
            lengths = {node.id: node.length for node in nodes}
            assert {node: len(terms) for node, terms in terms_of(nodes).items()} == lengths
    tier = rotated(engine).moved
    assert tier["cold"] == 2


def test_what_is_forgotten_after_a_rotation_is_gone_from_every_tier(memory: Memory) -> None:
    receipt = memory.store(text_of(7), at=datetime.now(UTC) - 400 * DAY)
    memory.wait()
    memory.rotate()

    memory.forget(receipt.address)

    tiers = memory.stats().totals.tiers
    assert [tiers[tier].nodes for tier in ("hot", "warm", "cold")] == [0, 0, 0]
    assert not memory.recall("gasket g7", floor=0.0).hits


def test_an_edit_of_an_old_note_is_hot_until_the_next_rotation(memory: Memory) -> None:
    at = datetime.now(UTC) - 400 * DAY
    memory.store(text_of(7), source="key", at=at)
    memory.rotate()
    memory.store(text_of(7) + "\nMended.", source="key", at=at)
    memory.wait()
    assert memory.recall("mended").hits[0].tier == "hot"

    assert memory.rotate().moved["cold"] == 1

    assert memory.recall("mended").hits[0].tier == "cold"
    assert memory.stats().totals.tiers["hot"].documents == 0
