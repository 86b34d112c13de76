"""Dreaming finds the neighbours that storing missed, and nothing twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ringwood.embed.hashing import HashingEmbedder
from ringwood.embed.meaning import Meaning
from ringwood.engine.base import Engine
from ringwood.engine.placement import Move
from ringwood.engine.sqlite import open_engine
from ringwood.errors import NoHomeError
from ringwood.memory import Memory
from ringwood.types import Edge
from ringwood.upkeep.dreaming.dream import Dreamed, DreamOptions, MergeReport, Plan, dream
from ringwood.upkeep.dreaming.relink import compare, read_outline, read_space, write
from ringwood.write.draft import Draft, Intake
from ringwood.write.embedding import embed_document
from ringwood.write.ingest import ingest
from ringwood.write.link import LinkOptions
from ringwood.write.nodes import terms_of

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
NO_LINKS = LinkOptions(max_edges=0)
"""Under which storing links nothing: all that is there then is what a dream found."""
TEXTS = (
    "The pump in hall seven leaks oil near the main valve.",
    "The pump in hall seven leaks oil near the second valve.",
    "Tomatoes want sun, water and a wall behind them.",
    "七号厅的水泵在主阀附近漏油。",
    "七号厅的水泵在副阀附近漏油。",
)


@pytest.fixture
def meaning() -> Meaning:
    return Meaning.of(HashingEmbedder())


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """An engine whose documents storing did not link."""
    opened = open_engine(tmp_path / "home", create=True)
    yield opened
    opened.close()


def keep(
    engine: Engine, meaning: Meaning, *texts: str, space: str = "global", first: int = 0
) -> list[int]:
    """Store and embed texts, each under a source key of its own; give back the ids."""
    drafts = [
        Draft(text, space, "person", source=f"note {number}", created_at=NOW)
        for number, text in enumerate(texts, first)
    ]
    done = [each.document for each in ingest(engine, drafts, Intake(NOW))]
    documents = [document for document in done if document is not None]
    with engine.reading() as reader:
        cards = reader.documents(documents)
    for card in cards.values():
        assert embed_document(engine, meaning, card, NO_LINKS)
    return documents


def edges_of(engine: Engine) -> tuple[Edge, ...]:
    """Read every edge of the home."""
    with engine.reading() as reader:
        documents = [card.id for space in reader.totals().spaces for card in reader.roots(space)]
        return reader.edges(reader.node_ids(documents))


def linked(engine: Engine) -> set[tuple[int, int]]:
    """Say which documents are joined by an edge."""
    edges = edges_of(engine)
    with engine.reading() as reader:
        nodes = reader.nodes(end for edge in edges for end in (edge.source, edge.target))
    return {(nodes[e.source].document, nodes[e.target].document) for e in edges}


def put_edge(engine: Engine, meaning: Meaning, one: int, other: int, weight: float) -> None:
    """Write an edge between the last nodes of two documents; it lies with the second."""
    with engine.writing() as writer, engine.reading() as reader:
        source, target = sorted(max(reader.node_ids([each])) for each in (one, other))
        sha256 = reader.documents([other])[other].sha256
        edges = [Edge(source, target, "similar", weight)]
        assert writer.put_vectors(other, sha256, meaning.identity, {}, {}, edges)


def rotate_one(engine: Engine, document: int) -> None:
    """Move a document to the warm tier."""
    with engine.reading() as reader:
        card, nodes = reader.documents([document])[document], reader.nodes_of(document)
    move = Move(document, card.sha256, terms_of(nodes))
    assert engine.move([move], "hot", "warm") == (document,)


def test_a_dream_links_what_storing_did_not(engine: Engine, meaning: Meaning) -> None:
    one, other, _, yi, er = keep(engine, meaning, *TEXTS)
    assert edges_of(engine) == ()

    done = dream(engine, Plan(meaning))

    assert linked(engine) == {(one, other), (yi, er)}
    assert (done.edges_before, done.edges_after) == (0, len(edges_of(engine)))
    assert (done.nodes, done.compared, done.notes) == (10, ("global",), ())


def test_ten_runs_change_nothing_after_the_first(engine: Engine, meaning: Meaning) -> None:  # 103
    keep(engine, meaning, *TEXTS)
    first = dream(engine, Plan(meaning))
    edges = edges_of(engine)
    assert first.added > 0

    for _ in range(10):
        again = dream(engine, Plan(meaning))
        assert (again.added, again.removed, again.nodes) == (0, 0, 0)
        assert (again.unchanged, again.edges_after) == (("global",), len(edges))
        assert edges_of(engine) == edges


def test_comparing_all_again_finds_the_same(engine: Engine, meaning: Meaning) -> None:
    keep(engine, meaning, *TEXTS)
    dream(engine, Plan(meaning))
    with engine.writing() as writer:
        writer.set_meta("dreamed.global", "")  # so that it is not left out as unchanged

    again = dream(engine, Plan(meaning))

    assert again.compared == ("global",)
    assert (again.added, again.removed) == (0, 0)


def test_a_change_in_a_space_is_compared_and_other_spaces_are_not(
    engine: Engine, meaning: Meaning
) -> None:
    keep(engine, meaning, *TEXTS)
    keep(engine, meaning, *TEXTS, space="quiet")
    dream(engine, Plan(meaning))
    keep(engine, meaning, "The pump in hall seven leaks oil near the third valve.", first=9)

    again = dream(engine, Plan(meaning))

    assert (again.compared, again.unchanged) == (("global",), ("quiet",))
    assert again.added > 0


def test_no_edge_leaves_its_space(engine: Engine, meaning: Meaning) -> None:
    here = keep(engine, meaning, TEXTS[0])
    there = keep(engine, meaning, TEXTS[0], TEXTS[1], space="other")

    dream(engine, Plan(meaning))

    assert linked(engine) == {(there[0], there[1])}
    assert here


def test_an_edge_that_is_no_longer_among_the_nearest_goes(engine: Engine, meaning: Meaning) -> None:
    one, other, tomatoes, *_ = keep(engine, meaning, *TEXTS)
    put_edge(engine, meaning, one, tomatoes, 0.9)

    done = dream(engine, Plan(meaning))

    assert done.removed == 1
    assert (one, tomatoes) not in linked(engine)
    assert (one, other) in linked(engine)


def test_an_edge_between_two_scripts_stays(engine: Engine, meaning: Meaning) -> None:
    latin, _, _, han, _ = keep(engine, meaning, *TEXTS)
    put_edge(engine, meaning, latin, han, 0.8)

    done = dream(engine, Plan(meaning))

    assert (latin, han) in linked(engine)
    assert done.edges_after == len(edges_of(engine))


def test_a_dry_run_says_what_a_run_then_does(engine: Engine, meaning: Meaning) -> None:
    keep(engine, meaning, *TEXTS)

    planned = dream(engine, Plan(meaning, dry_run=True))

    assert edges_of(engine) == ()
    assert planned.dry_run
    assert replace(planned, dry_run=False, run=1) == dream(engine, Plan(meaning))


def test_a_dream_that_is_cut_short_goes_on_where_it_was(engine: Engine, meaning: Meaning) -> None:
    for space in ("a", "b"):
        keep(engine, meaning, *TEXTS, space=space)

    def interrupt(space: str, done: int, total: int) -> None:
        if space == "b":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        dream(engine, Plan(meaning), interrupt)

    again = dream(engine, Plan(meaning))
    assert (again.unchanged, again.compared) == (("a",), ("b",))


def test_a_large_space_is_compared_when_it_is_asked_for(engine: Engine, meaning: Meaning) -> None:
    keep(engine, meaning, *TEXTS)
    small = Plan(meaning, options=DreamOptions(ask_above=4))

    left = dream(engine, small)

    assert (left.too_large, left.added) == (("global",), 0)
    assert "global" in left.notes[0]
    assert dream(engine, replace(small, everything=True)).compared == ("global",)


def test_a_text_that_changed_while_it_was_compared_is_not_linked(
    engine: Engine, meaning: Meaning
) -> None:
    keep(engine, meaning, *TEXTS)
    with engine.reading() as reader:
        outline = read_outline(reader, "global", meaning, LinkOptions())
        space = read_space(reader, outline, meaning)
    change = compare(space, meaning, LinkOptions())
    [one, *_] = keep(engine, meaning, "Now about something else: the roof is new.")

    write(engine, space, meaning.identity, change)

    assert len(linked(engine)) == 1  # of the others
    assert all(one not in ends for ends in linked(engine))
    assert dream(engine, Plan(meaning)).compared == ("global",)  # not taken for done


def test_a_document_that_moved_while_it_was_compared_is_linked_the_next_time(
    engine: Engine, meaning: Meaning
) -> None:
    one, other = keep(engine, meaning, *TEXTS[:2])
    with engine.reading() as reader:
        outline = read_outline(reader, "global", meaning, LinkOptions())
        space = read_space(reader, outline, meaning)
    change = compare(space, meaning, LinkOptions())
    rotate_one(engine, other)

    write(engine, space, meaning.identity, change)

    assert linked(engine) == set()
    assert dream(engine, Plan(meaning)).compared == ("global",)
    assert linked(engine) == {(one, other)}


def test_the_merges_that_are_named_are_bounded() -> None:
    named = MergeReport("global:/b", "global:/a", "says the same", None)
    many = Dreamed(merged=15, merges=(named,) * 15)

    assert len((many + many).merges) == 20
    assert (many + many).merged == 30


def test_by_words_alone_there_is_nothing_to_compare(words: Memory) -> None:
    words.store(TEXTS[0], source="one")
    words.store(TEXTS[0].upper(), source="two")

    done = words.dream()

    assert (done.nodes, done.merged, done.waiting) == (0, 1, 0)
    assert "words alone" in done.notes[0]


def test_documents_without_vectors_are_counted_and_left_out(
    engine: Engine, meaning: Meaning
) -> None:
    keep(engine, meaning, *TEXTS)
    ingest(engine, [Draft("Not embedded yet.", "global", "person")], Intake(NOW))

    done = dream(engine, Plan(meaning))

    assert (done.waiting, done.nodes) == (1, 10)
    assert "1 documents have no vectors" in done.notes[0]


def test_edges_between_tiers_are_rebuilt_too(memory: Memory) -> None:
    for age, text in ((0, TEXTS[0]), (100, TEXTS[1]), (400, f"{TEXTS[0]} Still.")):
        memory.store(text, at=datetime.now(UTC) - timedelta(days=age))
    memory.wait()
    memory.dream()
    before = memory.stats().totals.tiers["hot"].edges
    assert before > 3

    memory.rotate()
    again = memory.dream()

    assert (again.unchanged, again.edges_after) == (("global",), before)
    assert sum(tier.edges for tier in memory.stats().totals.tiers.values()) == before
    memory.store(f"{TEXTS[0]} Again.")
    assert memory.dream().compared == ("global",)


def test_an_edge_that_is_measured_anew_is_kept_once(engine: Engine, meaning: Meaning) -> None:
    one, other = keep(engine, meaning, *TEXTS[:2])
    put_edge(engine, meaning, other, one, 0.99)  # with the older one, unlike what a dream does
    rotate_one(engine, other)

    dream(engine, Plan(meaning))

    assert all(edge.weight < 0.99 for edge in edges_of(engine))
    with engine.reading() as reader:
        tiers = reader.totals().tiers
    assert (tiers["hot"].edges, tiers["warm"].edges) == (0, len(edges_of(engine)))


def test_a_dream_waits_for_vectors_that_are_to_come(memory: Memory) -> None:
    for text in TEXTS:
        memory.store(text)

    done = memory.dream(wait_s=10.0)

    assert (done.waiting, done.nodes) == (0, 10)


@pytest.mark.parametrize("run", [lambda m: m.dream(dry_run=True), lambda m: m.rotate(dry_run=True)])
def test_where_there_is_no_home_none_is_made(
    run: Callable[[Memory], object], tmp_path: Path
) -> None:
    home = tmp_path / "none"
    with Memory.open(home, embedder="words") as memory, pytest.raises(NoHomeError):
        run(memory)

    assert not home.exists()
