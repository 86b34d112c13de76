"""Finding documents without a ranking, and the small tables of the home."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.engine.making import EMBEDDER, NOON, document, embed, nodes_of, store, unit

from ringwood.engine.base import Engine

HOSTILE = ["/a_b/%", "100%", "[x]", "'", '";--', "\\", "*", "?", "", "/a_b", "é"]
HOSTILE += ["\ud7ff", "\U0010ffff"]  # next to what is no character


@pytest.mark.parametrize("prefix", HOSTILE)
def test_a_prefix_is_literal(engine: Engine, prefix: str) -> None:
    sources = [*HOSTILE, "/a_b/x", "/aXb/x", "/a_b/%/x", "1000", "x", "[x]y", "\U0010ffffz"]
    sources = [source for source in dict.fromkeys(sources) if source]
    for source in sources:
        store(engine, source, source=source)
    with engine.reading() as reader:
        assert set(reader.sources("global", prefix)) == {s for s in sources if s.startswith(prefix)}


@pytest.mark.parametrize("path", HOSTILE)
def test_a_path_is_looked_up_exactly(engine: Engine, path: str) -> None:
    ids = {p: store(engine, "x", path=p)[1][0].id for p in [*HOSTILE, "/aXb/%", "/a_b/%%"]}
    with engine.reading() as reader:
        assert reader.resolve("global", path) == ids[path]
        assert reader.resolve("global", f"{path}/nothing") is None


def test_what_no_file_can_hold_finds_nothing_and_harms_nothing(engine: Engine) -> None:
    store(engine, "x")
    with engine.reading() as reader:
        assert reader.resolve("global", "\ud800") is None
        assert reader.resolve("\ud800", "/note-1") is None
        assert reader.sources("global", "\udfff") == {}
        assert reader.document(2**63) is None
        assert reader.documents([-1, 0, 2**70, 1]).keys() == {1}
        assert reader.nodes([2**63]) == {}
        assert reader.nodes_of(2**63) == ()
        assert reader.vectors_by_digest(EMBEDDER, []) == {}
        assert reader.tombstoned("global", ["\ud800"]) == set()
        assert reader.space_of_key("\ud800") is None
        with pytest.raises(KeyError):
            reader.text_of(2**63)


def test_sources_and_texts_are_found_in_their_space_alone(engine: Engine) -> None:
    mine, _ = store(engine, "same", source="key", space="a", path="/1")
    other, _ = store(engine, "same", source="key", space="A", path="/1")
    later, _ = store(engine, "same", space="a", path="/2")
    with engine.reading() as reader:
        assert reader.document_by_source("a", "key") == mine
        assert reader.document_by_source("A", "key") == other
        assert reader.document_by_source("b", "key") is None
        assert reader.document_by_hash("a", mine.sha256) == mine
        assert reader.document_by_hash("a", "0") is None
        assert [d.id for d in reader.roots("a")] == [mine.id, later.id]


def test_recent_documents_come_newest_first(engine: Engine) -> None:
    stamps = [3, 1, 2, 2]
    cards = [
        store(engine, f"{i}", created_at=NOON + timedelta(days=day), space="ab"[i % 2])[0]
        for i, day in enumerate(stamps)
    ]
    with engine.reading() as reader:
        both = [d.id for d in reader.recent_documents(["a", "b", "a", "nobody"])]
        assert both == [cards[i].id for i in (0, 3, 2, 1)]
        since = reader.recent_documents(["a", "b"], since=NOON + timedelta(days=2), limit=2)
        assert [d.id for d in since] == [cards[0].id, cards[3].id]
        assert reader.recent_documents(["a"], since=NOON + timedelta(days=9)) == ()
        assert reader.recent_documents([], limit=5) == ()


def test_recent_nodes_leave_out_those_without_words(engine: Engine) -> None:
    _, first = store(engine, "one\ntwo")
    _, second = store(engine, "three")
    store(engine, "four", space="other")
    with engine.reading() as reader:
        assert reader.recent_nodes("global", 2) == (second[1].id, first[2].id)
        assert reader.recent_nodes("global", 99) == (second[1].id, first[2].id, first[1].id)


def test_failed_documents_wait_behind_pending_ones(engine: Engine) -> None:
    failed, _ = store(engine, "1")
    late, _ = store(engine, "2", stored_at=NOON + timedelta(days=1))
    early, _ = store(engine, "3", stored_at=NOON)
    done, nodes = store(engine, "4")
    embed(engine, done, {nodes[1].id: unit(1, 0, 0, 0)})
    with engine.writing() as writer:
        writer.set_state(failed.id, "failed", "embedder down")
    with engine.reading() as reader:
        assert [d.id for d in reader.pending(9)] == [early.id, late.id, failed.id]
        assert [d.id for d in reader.pending(1)] == [early.id]
        totals = reader.totals()
    assert totals.states == {"pending": 2, "failed": 1, "ready": 1}
    assert totals.errors == ("embedder down",)


def test_a_mirror_falls_behind_when_the_text_changes(engine: Engine) -> None:
    card, nodes = store(engine, "one")
    with engine.writing() as writer:
        writer.set_mirrored(card.id, card.sha256, "global/note.md")
    with engine.reading() as reader:
        assert reader.unmirrored(9) == ()
    with engine.writing() as writer:
        changed = document(card.id, "two")
        writer.put_document(changed, "two", nodes_of(changed, "two", nodes[0].id))
    with engine.reading() as reader:
        assert reader.unmirrored(9) == (changed,)
        assert reader.mirrored_path(card.id) == "global/note.md"
        assert reader.mirrored_path(99) is None


def test_an_identical_text_counts_up(engine: Engine) -> None:
    card, _ = store(engine, "one")
    with engine.writing() as writer:
        writer.count_again(card.id)
    with engine.reading() as reader:
        again = reader.document(card.id)
    assert again is not None
    assert again.seen == 2


def test_tombstones_belong_to_a_space_and_can_be_lifted(engine: Engine) -> None:
    with engine.writing() as writer:
        writer.add_tombstones("a", ["h1", "h2"], NOON)
        writer.add_tombstones("a", ["h1"], NOON)
    with engine.reading() as reader:
        assert reader.tombstoned("a", ["h1", "h2", "h3"]) == {"h1", "h2"}
        assert reader.tombstoned("b", ["h1"]) == set()
        assert reader.tombstoned("a", []) == set()
    with engine.writing() as writer:
        writer.lift_tombstones("a", ["h1", "h9"])
    with engine.reading() as reader:
        assert reader.tombstoned("a", ["h1", "h2"]) == {"h2"}


def test_the_recall_log_keeps_the_newest_and_forgets_documents(engine: Engine) -> None:
    with engine.writing() as writer:
        for i in range(5):
            writer.log_recall(f"r{i}", NOON, [i, 100], b"payload %d" % i, keep=3)
    with engine.reading() as reader:
        assert [reader.recall_log(f"r{i}") for i in range(5)] == [
            None,
            None,
            b"payload 2",
            b"payload 3",
            b"payload 4",
        ]
    with engine.writing() as writer:
        writer.purge_log([3, 77])
    with engine.reading() as reader:
        assert reader.recall_log("r3") is None
        assert reader.recall_log("r4") == b"payload 4"


def test_a_space_is_named_once_per_key(engine: Engine) -> None:
    store(engine, "x", space="app")  # written to before anybody registered it
    with engine.writing() as writer:
        names = [writer.register_space(key, "app") for key in ("/a/.git", "/b/.git", "/a/.git")]
        assert names == ["app", "app~2", "app"]
        assert writer.register_space("/c/.git", "app") == "app~3"
    with engine.reading() as reader:
        assert reader.spaces() == {"app": "/a/.git", "app~2": "/b/.git", "app~3": "/c/.git"}
        assert reader.space_of_key("/b/.git") == "app~2"
        assert reader.space_of_key("/d/.git") is None


def test_settings_do_not_touch_the_engines_own(engine: Engine) -> None:
    with engine.writing() as writer:
        writer.set_meta("generation", "mine")
        writer.set_meta("k", "1")
        writer.set_meta("k", "2")
    with engine.reading() as reader:
        assert (reader.meta("generation"), reader.meta("k"), reader.meta("x")) == (
            "mine",
            "2",
            None,
        )
        assert reader.meta("tiers") is None
    card, nodes = store(engine, "x")
    assert embed(engine, card, {nodes[1].id: unit(1, 0, 0, 0)})


def test_what_belongs_to_the_home_is_written_in_hot_alone(engine: Engine) -> None:
    with engine.writing("warm") as writer, pytest.raises(ValueError, match="hot"):
        writer.set_meta("k", "v")


def test_totals_are_read_back(engine: Engine) -> None:
    card, nodes = store(engine, "one\ntwo", space="a")
    store(engine, "three")
    embed(engine, card, {nodes[1].id: unit(1, 0, 0, 0)})
    with engine.reading() as reader:
        totals = reader.totals()
    hot = totals.tiers["hot"]
    assert (hot.documents, hot.nodes, hot.vectors, hot.edges) == (2, 5, 1, 0)
    assert hot.bytes > hot.wal_bytes > 0
    assert set(totals.tiers) == {"hot", "warm", "cold"}
    assert totals.spaces == {"a": 1, "global": 1}
