"""What says the same becomes one, nothing of it is lost, and nothing else is touched."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.databases import database_of
from tests.upkeep.merging import NEAR, OTHER, PORT, found, paths

from ringwood.capture.buffer import Exchange
from ringwood.engine.base import Engine
from ringwood.errors import UsageError
from ringwood.memory import Memory
from ringwood.types import Actor, Turn
from ringwood.upkeep.dreaming.duplicates import find_twins
from ringwood.upkeep.dreaming.merge import merge
from ringwood.write.draft import Draft, Intake
from ringwood.write.ingest import ingest

DAY = timedelta(days=1)
NOW = datetime.now(UTC)


def said(number: int, *turns: str, session: str = "s") -> Exchange:
    """Make an exchange of alternating turns."""
    actors: tuple[Actor, ...] = ("person", "assistant") * len(turns)
    return Exchange(
        host="codex",
        session=session,
        sequence=f"{number}",
        space=None,
        started_at=NOW,
        heard_at=NOW,
        turns=tuple(Turn(actor, text) for actor, text in zip(actors, turns, strict=False)),
        names=(),
        messages=len(turns),
        masked=0,
        dropped=0,
        closed=True,
    )


def test_near_and_exact_copies_become_one_and_what_differs_stays(memory: Memory) -> None:
    first = memory.store(PORT, source="a")
    for source, text in (("b", NEAR), ("c", PORT.replace(" ", "  ")), ("d", OTHER)):
        memory.store(text, source=source)

    done = memory.dream()

    assert done.merged == 2
    assert {each.into for each in done.merges} == {first.address}
    assert len(paths(memory)) == 2
    assert [each.similarity is None for each in done.merges] == [False, True]


@pytest.mark.parametrize(
    ("one", "other"),
    [("port 8090", "port 8091"), ("周游世界", "在周末吃夜宵"), ("use tabs", "do not use tabs")],
)
def test_what_differs_in_one_word_is_never_merged(words: Memory, one: str, other: str) -> None:
    words.store(one)
    words.store(other)

    assert words.dream().merged == 0
    assert len(paths(words)) == 2


def test_a_fact_that_is_said_in_chinese_with_and_without_a_full_stop_is_one(memory: Memory) -> None:
    memory.store("我们下周一发布新版本。")
    memory.store("我们下周一发布新版本")

    assert memory.dream().merged == 1
    assert len(paths(memory)) == 1


def test_what_was_merged_away_is_found_by_nothing(memory: Memory) -> None:  # 101
    memory.store(PORT, source="a")
    away = memory.store(NEAR, source="b")
    memory.wait()
    mirrored = Path(memory.home) / "mirror" / "global" / f"{away.path.strip('/')}.md"
    assert mirrored.exists()
    assert away.document in found(memory, "staging server port")

    memory.dream()
    memory.wait()

    assert away.document not in found(memory, "staging server port")
    assert away.path not in paths(memory)
    assert not mirrored.exists()
    assert [str(each.id) for each in memory.recent()] == ["1"]
    assert memory.stats().totals.tiers["hot"].documents == 1
    assert memory.read(away.address).document.id == 1


def test_the_survivor_keeps_counts_importance_stamps_and_addresses(memory: Memory) -> None:
    text = "# Gate\n\nThe gate opens at six.\n\n## Winter\n\nIn winter it opens at eight.\n"
    memory.store(text, source="a", importance=0.4, at=NOW - 5 * DAY)
    other = memory.store(text.upper(), source="b", importance=0.8, at=NOW - 9 * DAY)
    for _ in range(3):
        memory.recall("when does the gate open in winter", floor=0.0)
    memory.wait()
    with Memory.open(memory.home, embedder="hashing") as again:  # so that uses are written
        again.recall("gate", floor=0.0)

    memory.dream()

    [card] = memory.recent()
    assert (card.importance, card.seen) == (0.8, 2)
    assert abs(card.created_at - (NOW - 9 * DAY)) < timedelta(seconds=1)
    assert abs(card.changed_at - (NOW - 5 * DAY)) < timedelta(seconds=1)
    section = memory.read(f"global:{other.path}/winter")
    assert (section.document.id, section.node.title) == (1, "Winter")


def test_the_one_that_is_pinned_stays_however_young(words: Memory) -> None:
    words.store(PORT, source="a")
    pinned = words.store(NEAR, source="b", importance=0.95)

    [merge] = words.dream().merges

    assert merge.into == pinned.address
    assert "more important" in merge.reason


def test_ten_dreams_merge_once(memory: Memory) -> None:
    for source, text in (("a", PORT), ("b", NEAR), ("c", OTHER)):
        memory.store(text, source=source)
    assert memory.dream().merged == 1

    again = [memory.dream() for _ in range(10)]

    assert {(each.merged, each.added, each.removed, each.run) for each in again} == {
        (0, 0, 0, None)
    }
    assert len(memory.dreams()) == 1


@pytest.mark.parametrize("embedder", ["hashing", "words"])
def test_a_dry_run_says_exactly_what_the_run_then_does(tmp_path: Path, embedder: str) -> None:
    with Memory.open(tmp_path / "home", embedder=embedder) as memory:
        for number in range(40):
            memory.store(f"Pump {number} in hall seven leaks oil.", source=f"a{number}")
            memory.store(f"The pump {number} in hall seven leaks oil!", source=f"b{number}")
        memory.wait()

        planned = memory.dream(dry_run=True)

        assert (planned.merged, planned.run) == (40, None)
        assert len(memory.recent(limit=100)) == 80
        done = memory.dream()
        assert replace(planned, dry_run=False, run=done.run) == done


def test_texts_of_another_space_folder_title_or_actor_stay(words: Memory, tmp_path: Path) -> None:
    words.store("The gate opens at six.", path="/north/gate", source="a")
    words.store("The gate opens at six.", path="/south/gate", source="b")
    words.store("It opens at six.", title="North gate", source="c")
    words.store("It opens at six.", title="South gate", source="d")
    words.within(space="other").store("The gate opens at six.")
    (tmp_path / "gate.md").write_text("The gate opens at six.", "utf-8")
    words.import_notes([tmp_path / "gate.md"])

    assert words.dream().merged == 0


def test_exact_copies_of_a_file_are_one_and_edited_copies_are_not(
    words: Memory, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for name, text in (("gate", PORT), ("gate copy", PORT), ("gate (2)", NEAR)):
        (notes / f"{name}.md").write_text(text, "utf-8")
    words.import_notes([notes])

    assert words.dream().merged == 1

    assert words.import_notes([notes]).imported.changed == 0
    assert len(paths(words)) == 2


@pytest.mark.parametrize(
    ("edited", "changed"),
    [("gate", 1), ("gate copy", 2)],
    ids=["the merged one", "the survivor, so that the other one is there no more"],
)
def test_files_of_which_one_changes_are_two_documents_again(
    words: Memory, tmp_path: Path, edited: str, changed: int
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "gate copy.md").write_text(PORT, "utf-8")  # read first: it is the older document
    (notes / "gate.md").write_text(PORT, "utf-8")
    words.import_notes([notes])
    words.dream()
    assert len(paths(words)) == 1

    (notes / f"{edited}.md").write_text(f"{PORT}\n\nIn winter it is 8093.", "utf-8")

    assert words.import_notes([notes]).imported.changed == changed
    assert len(paths(words)) == 2
    assert words.import_notes([notes]).imported.changed == 0


def test_a_note_that_was_merged_is_there_when_it_is_stored_again(words: Memory) -> None:
    words.store(PORT)
    words.store(NEAR)
    words.dream()

    receipt = words.store(NEAR)

    assert (receipt.document, receipt.state) == ("1", "existing")
    assert words.recent()[0].seen == 3


def test_an_exchange_that_was_merged_is_not_taken_in_again(words: Memory) -> None:
    one = said(1, "Which port does staging use?", "It uses 8090.")
    other = said(1, "Which port does staging use?", "it uses 8090", session="t")
    words.store_exchanges([one, other])
    assert words.dream().merged == 1

    taken = words.store_exchanges([one, other])

    assert (taken.documents, taken.existing) == ((), 2)
    longer = said(1, "Which port does staging use?", "it uses 8090", "And prod?", session="t")
    assert len(words.store_exchanges([longer]).documents) == 1
    assert len(words.recent()) == 2


def test_exchanges_that_differ_in_a_word_stay(words: Memory) -> None:
    words.store_exchanges(
        [said(1, "Use the tabs?", "Yes."), said(1, "Use tabs?", "Yes.", session="t")]
    )

    assert words.dream().merged == 0


def test_links_lead_to_the_survivor(words: Memory, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    (notes / "copies").mkdir(parents=True)
    text = PORT * 4
    (notes / "gate.md").write_text(text, "utf-8")
    (notes / "copies" / "gate.md").write_text(text, "utf-8")
    (notes / "plan.md").write_text("See [the gate](copies/gate.md).", "utf-8")
    words.import_notes([notes])
    words.dream()

    linked = words.read("/plan").links_out
    (notes / "new.md").write_text("Also see [the gate](copies/gate.md).", "utf-8")
    words.import_notes([notes])

    assert len(paths(words)) == 3
    assert {words.read(node.path).document.path for node in linked} <= paths(words)
    assert len(linked) == len(words.read("/plan").links_out) == 1
    assert len(words.read("/new").links_out) == 1


def test_documents_in_different_tiers_are_merged_and_stay_where_they_were(memory: Memory) -> None:
    memory.store(PORT, source="a", at=NOW - 100 * DAY)
    memory.store(NEAR, source="b", at=NOW - 400 * DAY)
    memory.store(f"{PORT}!", source="c")
    memory.wait()
    memory.rotate()
    assert [each.documents for each in memory.stats().totals.tiers.values()] == [1, 1, 1]

    assert memory.dream().merged == 2

    assert [each.documents for each in memory.stats().totals.tiers.values()] == [0, 1, 0]
    memory.rotate()  # it was created with the oldest of them
    assert memory.dream().merged == 0


def test_the_same_fact_of_two_times_keeps_both_ends(words: Memory) -> None:
    words.store(PORT, source="january", at=NOW - 200 * DAY)
    words.store(PORT, source="june", at=NOW - 50 * DAY)

    words.dream()

    [card] = words.recent()
    assert (NOW - card.created_at).days == 200
    assert (NOW - card.changed_at).days == 50


def test_two_hundred_facts_about_one_person_all_stay(words: Memory) -> None:
    for number in range(200):
        words.store(f"Ada likes book {number} of the series.", source=f"{number}")

    assert words.dream().merged == 0
    assert len(words.recent(limit=300)) == 200


def test_an_undo_of_nothing_says_so(words: Memory) -> None:
    words.store(PORT)

    with pytest.raises(UsageError, match="no run"):
        words.undo()


@pytest.mark.parametrize("edited", ["a", "b"])
def test_a_document_that_is_edited_meanwhile_is_left_out(engine: Engine, edited: str) -> None:
    def keep(source: str, text: str) -> None:
        draft = Draft(text, "global", "person", source=source)
        ingest(engine, [draft], Intake(NOW, state="ready"))

    keep("a", PORT)
    keep("b", NEAR)
    with engine.reading() as reader:
        [twin] = find_twins(reader, reader.roots("global"), None, frozenset())
    with engine.writing() as writer:
        run = writer.begin_dream(NOW)
    keep(edited, OTHER)

    assert not merge(engine, run, twin, NOW)

    with engine.reading() as reader:
        assert len(reader.roots("global")) == 2
        assert reader.steps() == ()
    keep(edited, NEAR if twin.document.source == edited else PORT)
    assert merge(engine, run, twin, NOW)  # as it was read, it is merged


def test_a_merge_that_waits_for_its_file_is_finished_by_the_next_dream(memory: Memory) -> None:
    memory.store(PORT, source="a")
    away = memory.store(NEAR, source="b")
    memory.wait()
    file = Path(memory.home) / "mirror" / "global" / f"{away.path.strip('/')}.md"
    with database_of(memory) as engine:
        with engine.reading() as reader:
            [twin] = find_twins(reader, reader.roots("global"), None, frozenset())
        with engine.writing() as writer:
            run = writer.begin_dream(NOW)
        assert merge(engine, run, twin, NOW)  # and no more: as if it were killed here
    assert file.exists()

    memory.dream()

    assert not file.exists()
    assert memory.undo(run).restored == 1
    memory.wait()
    assert file.exists()
