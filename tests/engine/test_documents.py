"""Documents and their nodes: in, out again, replaced, gone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.engine.making import (
    EMBEDDER,
    NOON,
    document,
    embed,
    found,
    nodes_of,
    question,
    store,
    unit,
)

from ringwood.engine.base import Engine, NodeWrite, WordQuery
from ringwood.types import Edge, Node

TEXTS = {
    "plain": "one line\nanother line",
    "empty": "",
    "emoji": "👩‍👩‍👧 family 🎉\n🇨🇭 flag",
    "han": "光遗传学的想法\n生物显示器",
    "combining": "e\u0301tude\nn\u0303",
    "nul": "a\0b\nc\0",
    "quotes": '\'; DROP TABLE nodes; --\n"%_*[x]"',
}


def rewrite(
    engine: Engine, number: int, text: str, writes: list[NodeWrite], **changes: object
) -> None:
    with engine.writing() as writer:
        writer.put_document(document(number, text, **changes), text, writes)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_a_document_comes_back_as_it_went_in(engine: Engine, text: str) -> None:
    card, nodes = store(engine, text, source="/a/file.md", error="why", seen=3, importance=0.7)
    with engine.reading() as reader:
        assert reader.document(card.id) == card
        assert reader.text_of(card.id) == text
        assert reader.nodes_of(card.id) == nodes
        assert reader.nodes(node.id for node in nodes) == {node.id: node for node in nodes}


def test_a_text_that_is_not_its_source_is_kept_apart(engine: Engine) -> None:
    text = "- a *starred* item"
    card = document(1, text)
    [root, leaf] = nodes_of(card, text, 1)
    leaf = replace(leaf, node=replace(leaf.node, text="a starred item"))
    rewrite(engine, 1, text, [root, leaf])
    with engine.reading() as reader:
        assert reader.nodes([2])[2].text == "a starred item"


def test_stamps_keep_their_microseconds(engine: Engine) -> None:
    moment = NOON.replace(year=1969, microsecond=123457)
    card, _ = store(engine, "x", created_at=moment)
    with engine.reading() as reader:
        assert reader.documents([card.id])[card.id].created_at == moment


def test_a_naive_stamp_is_refused(engine: Engine) -> None:
    with pytest.raises(TypeError):
        store(engine, "x", created_at=NOON.replace(tzinfo=None))
    with engine.reading() as reader:
        assert reader.roots("global") == ()


def test_ids_are_reserved_in_runs_and_never_twice(engine: Engine) -> None:
    with engine.writing() as writer:
        assert writer.reserve_ids(2, 10) == (1, 1)
        assert writer.reserve_ids(1, 1) == (3, 11)
    with engine.writing() as writer:
        assert writer.reserve_ids(0, 5) == (4, 12)


def test_an_exception_undoes_everything(engine: Engine) -> None:
    def write_and_stop() -> None:
        with engine.writing() as writer:
            writer.put_document(document(1, "x"), "x", nodes_of(document(1, "x"), "x", 1))
            writer.set_meta("key", "value")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        write_and_stop()
    with engine.reading() as reader:
        assert reader.document(1) is None
        assert reader.meta("key") is None


def test_storing_the_same_document_twice_changes_nothing(engine: Engine) -> None:
    card, nodes = store(engine, "one line\nanother")
    embed(engine, card, {nodes[1].id: unit(1, 0, 0, 0)})
    writes = nodes_of(card, "one line\nanother", nodes[0].id)
    with engine.reading() as reader:
        before = reader.rank_words(WordQuery(["one"]), ["global"], limit=5)
    rewrite(engine, card.id, "one line\nanother", writes)
    with engine.reading() as reader:
        assert reader.nodes_of(card.id) == nodes
        assert reader.rank_words(WordQuery(["one"]), ["global"], limit=5) == before
        assert reader.counts(reader.node_ids([card.id]), EMBEDDER) == (3, 1, 0)
        assert reader.text_at(card.id, NOON - timedelta(days=1)) == "one line\nanother"
        assert reader.totals().tiers["hot"].nodes == 3


def test_a_node_that_stays_keeps_access_vector_and_edges(engine: Engine) -> None:
    card, nodes = store(engine, "kept\nchanged\ngone")
    [_, kept, changed, gone] = [node.id for node in nodes]
    embed(engine, card, {i: unit(1, 0, 0, i) for i in (kept, changed, gone)})
    other, others = store(engine, "elsewhere")
    edges = [Edge(i, others[1].id, "similar", 0.8) for i in (kept, changed, gone)]
    with engine.writing() as writer:
        writer.put_vectors(other.id, other.sha256, EMBEDDER, {}, {}, edges)
        writer.count_access([kept, changed, changed, gone, 999])
    text = "kept\nother now"
    rewrite(engine, card.id, text, nodes_of(card, text, nodes[0].id))
    with engine.reading() as reader:
        now = reader.nodes_of(card.id)
        assert [node.access for node in now] == [0, 1, 1]
        assert set(reader.vectors(EMBEDDER, [kept, changed, gone])) == {kept}
        assert reader.edges([kept, changed, gone]) == (edges[0],)


def test_access_counts_up_once_per_call_and_node(engine: Engine) -> None:
    _, nodes = store(engine, "a")
    for _ in range(3):
        with engine.writing() as writer:
            writer.count_access([nodes[1].id, nodes[1].id])
    with engine.reading() as reader:
        assert reader.nodes([nodes[1].id])[nodes[1].id].access == 3


def test_words_of_a_replaced_text_find_nothing(engine: Engine) -> None:
    card, nodes = store(engine, "alpha beta")
    rewrite(engine, card.id, "beta gamma", nodes_of(card, "beta gamma", nodes[0].id))
    assert found(engine, "alpha") == ()
    assert found(engine, "gamma") == (nodes[1].id,)
    with engine.reading() as reader:  # the frequency of a word that is gone is 0 again
        assert (
            reader.rank_words(WordQuery(["alpha", "beta"]), ["global"], limit=5).scores[2].share < 1
        )


def test_a_replaced_text_stays_readable_as_of_then(engine: Engine) -> None:
    for day, text in enumerate(["first", "second", "third"]):
        card = document(1, text, changed_at=NOON + timedelta(days=day))
        with engine.writing() as writer:
            writer.put_document(card, text, nodes_of(card, text, 1))
    with engine.reading() as reader:
        seen = [reader.text_at(1, NOON + timedelta(days=d)) for d in (-1, 0, 0.5, 1, 1.5, 2, 9)]
    assert seen == ["first", "first", "first", "second", "second", "third", "third"]
    with engine.writing() as writer:
        writer.drop_history(1)
    with engine.reading() as reader:
        assert reader.text_at(1, NOON) == "third"


def test_an_old_path_says_which_node_was_there(engine: Engine) -> None:
    card, nodes = store(engine, "one\ntwo\nthree")
    moved = [
        replace(write, node=replace(write.node, path=f"/new/{write.node.order}"))
        for write in nodes_of(card, "one\ntwo", nodes[0].id)
    ]
    later = NOON + timedelta(days=3)
    rewrite(engine, card.id, "one\ntwo", moved, changed_at=later, path="/new/0")
    with engine.reading() as reader:
        former = reader.former("global", f"{card.path}/1")
        assert former is not None
        assert (former.node, former.document, former.until) == (nodes[1].id, card.id, later)
        gone = reader.former("global", f"{card.path}/3")
        assert gone is not None
        assert reader.nodes([gone.node]) == {}
        assert reader.resolve("global", f"{card.path}/1") is None
        assert reader.former("global", "/new/1") is None


def test_a_path_that_is_taken_again_is_nobodys_old_one(engine: Engine) -> None:
    card, nodes = store(engine, "one\ntwo")
    rewrite(engine, card.id, "one", nodes_of(card, "one", nodes[0].id))
    rewrite(engine, card.id, "one\nnew", nodes_of(card, "one\nnew", nodes[0].id))
    with engine.reading() as reader:
        assert reader.former("global", f"{card.path}/2") is None
        assert reader.resolve("global", f"{card.path}/2") == nodes[2].id


def test_paths_may_be_swapped_within_a_document(engine: Engine) -> None:
    card, nodes = store(engine, "one\ntwo")
    [root, first, second] = nodes_of(card, "one\ntwo", nodes[0].id)
    swapped = [
        root,
        replace(first, node=replace(first.node, path=second.node.path)),
        replace(second, node=replace(second.node, path=first.node.path)),
    ]
    rewrite(engine, card.id, "one\ntwo", swapped)
    with engine.reading() as reader:
        assert reader.resolve("global", first.node.path) == second.node.id
        assert reader.former("global", first.node.path) is None


def test_deleting_leaves_nothing_behind(engine: Engine) -> None:
    card, nodes = store(engine, "alpha\nbeta", source="key")
    embed(engine, card, {node.id: unit(1, 1, 0, 0) for node in nodes[1:]})
    rewrite(engine, card.id, "alpha", nodes_of(card, "alpha", nodes[0].id), source="key")
    with engine.writing() as writer:
        assert writer.delete_document(card.id)
        assert not writer.delete_document(card.id)
    with engine.reading() as reader:
        assert reader.document(card.id) is None
        assert reader.document_by_source("global", "key") is None
        assert reader.nodes(node.id for node in nodes) == {}
        assert reader.former("global", f"{card.path}/2") is None
        assert reader.vectors(EMBEDDER, [nodes[1].id]) == {}
        assert reader.rank_words(WordQuery(["alpha"]), ["global"], limit=5).order == ()
        assert reader.rank_vectors(question(unit(1, 1, 0, 0)), ["global"], limit=5).order == ()
        hot = reader.totals().tiers["hot"]
        assert (hot.documents, hot.nodes, hot.vectors, hot.edges) == (0, 0, 0, 0)
        with pytest.raises(KeyError):
            reader.text_of(card.id)
        with pytest.raises(KeyError):
            reader.text_at(card.id, NOON)


def test_a_new_node_on_an_old_path_has_no_meaning_from_before(engine: Engine) -> None:
    card, nodes = store(engine, "alpha")
    embed(engine, card, {nodes[1].id: unit(1, 0, 0, 0)})
    with engine.writing() as writer:
        writer.delete_document(card.id)
    again, _ = store(engine, "something else", path=card.path)
    with engine.reading() as reader:
        assert reader.rank_vectors(question(unit(1, 0, 0, 0)), ["global"], limit=5).order == ()
        assert reader.counts(reader.node_ids([again.id]), EMBEDDER) == (2, 0, 0)


def test_vectors_of_a_text_that_has_changed_are_refused(engine: Engine) -> None:
    card, nodes = store(engine, "old")
    rewrite(engine, card.id, "new", nodes_of(card, "new", nodes[0].id))
    assert not embed(engine, card, {nodes[1].id: unit(1, 0, 0, 0)})
    assert not embed(engine, document(99, "never"), {nodes[1].id: unit(1, 0, 0, 0)})
    with engine.reading() as reader:
        assert reader.counts(reader.node_ids([card.id]), EMBEDDER) == (2, 0, 0)
        assert [d.state for d in reader.pending(9)] == ["pending"]


def test_vectors_make_a_document_ready_unless_more_are_to_come(engine: Engine) -> None:
    card, nodes = store(engine, "one\ntwo", error="was down", state="failed")
    with engine.writing() as writer:
        row = {nodes[1].id: unit(1, 0, 0, 0)}
        digest = {nodes[1].id: "d"}
        writer.put_vectors(card.id, card.sha256, EMBEDDER, row, digest, (), ready=False)
    with engine.reading() as reader:
        assert [d.id for d in reader.pending(9)] == [card.id]
    assert embed(engine, card, {nodes[2].id: unit(1, 0, 0, 0)})
    with engine.reading() as reader:
        ready = reader.document(card.id)
        assert ready is not None
        assert (ready.state, ready.error) == ("ready", None)
        assert reader.counts(reader.node_ids([card.id]), EMBEDDER) == (3, 2, 0)


def test_children_and_siblings_come_in_reading_order(engine: Engine) -> None:
    card, nodes = store(engine, "1\n2\n3\n4\n5\n6")
    with engine.reading() as reader:
        assert reader.children(nodes[0].id) == nodes[1:]
        assert reader.children(nodes[1].id) == ()
        orders = [node.order for node in reader.beside(nodes[4].id, 3)]
        assert orders == [3, 5, 2]
        assert reader.beside(nodes[0].id, 3) == ()
        assert reader.beside(nodes[4].id, 0) == ()
        assert len(reader.beside(nodes[4].id, 99)) == 5
    assert isinstance(nodes[0], Node)
    assert card.id == 1


def test_two_nodes_at_one_path_are_refused(engine: Engine) -> None:
    store(engine, "a", path="/same")
    with pytest.raises(Exception, match="two things claim one place"):
        store(engine, "b", path="/same")
