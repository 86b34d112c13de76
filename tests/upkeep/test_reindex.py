"""A home goes over to another embedder: beside the old one, in one moment, as if it were new."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.upkeep.reindexing import QUERIES, SAID_AT, Watched, answers, fill

from ringwood import config
from ringwood.embed.choose import Choice, Remembered
from ringwood.embed.hashing import HashingEmbedder
from ringwood.embed.meaning import Meaning
from ringwood.engine.sqlite import open_engine
from ringwood.errors import EmbedderError, NoHomeError, UsageError
from ringwood.lease import Lease
from ringwood.memory import Memory
from ringwood.types import SIMILAR, Edge, Receipt
from ringwood.upkeep.switching.reindex import Reindex
from ringwood.write.draft import Draft, Intake
from ringwood.write.embedding import embed_document
from ringwood.write.ingest import ingest
from ringwood.write.link import LinkOptions
from ringwood.write.remembered import remembered

NOTES = 40


@pytest.fixture
def quick(tmp_path: Path) -> Path:
    """An empty home that is filled anew without rests."""
    home = tmp_path / "home"
    home.mkdir()
    config.set_value(str(home), "reindex.rest", "0")
    return home


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty notes with vectors of 256 columns. Copied for each test."""
    home = tmp_path_factory.mktemp("filled") / "home"
    with Memory.open(home, embedder="hashing", wait_s=20.0) as filling:
        fill(filling, NOTES)
    return home


@pytest.fixture
def memory(filled: Path, quick: Path) -> Iterator[Memory]:
    """Forty notes, in a home of their own that names no embedder."""
    shutil.copytree(filled, quick, dirs_exist_ok=True)
    with Memory.open(quick, wait_s=20.0) as opened:
        yield opened


def fresh(home: Path, embedder: str) -> list[list[tuple[str, float, float | None]]]:
    """Answer out of a home that never had another embedder."""
    with Memory.open(home, embedder=embedder, wait_s=20.0) as memory:
        fill(memory, NOTES)
        memory.dream(everything=True)
        return answers(memory, QUERIES)


def vectors(memory: Memory, embedder: HashingEmbedder) -> int:
    with open_engine(Path(memory.home), create=False).reading() as reader:
        kept = reader.kept_vectors().get(Meaning.of(embedder).identity)
    return 0 if kept is None else kept.vectors


# -- what it comes to ------------------------------------------------------------------------------


def test_a_home_that_went_over_answers_like_one_that_was_filled_so(
    memory: Memory, tmp_path: Path
) -> None:
    before = answers(memory, QUERIES)

    done = memory.reindex("hashing:128")

    assert done.switched
    assert done.vectors == done.nodes == done.embedded + done.reused
    assert answers(memory, QUERIES) == fresh(tmp_path / "fresh", "hashing:128")
    assert answers(memory, QUERIES) != before, "the control: the embedders differ"


def test_every_answer_of_the_fill_is_the_old_embedders_alone(memory: Memory, quick: Path) -> None:
    before = answers(memory, QUERIES)
    assert memory.wait(20.0), "its own worker, woken by the recalls, lets go of the lease"
    seen = []

    def ask(what: str, done: int, total: int) -> None:
        if what == "nodes":
            with Memory.open(quick, wait_s=0.0) as other:
                seen.append((done, answers(other, QUERIES)))

    memory.reindex("hashing:128", on_nodes=ask)

    assert len(seen) > 1
    assert all(found == before for _, found in seen)
    assert all(count for count, _ in seen)


def test_old_vectors_are_kept_until_they_are_dropped(memory: Memory) -> None:
    done = memory.reindex("hashing:128")
    assert done.kept == done.nodes
    assert done.kept_bytes == done.nodes * 256

    again = memory.reindex("hashing:128", drop_old=True)

    assert again.dropped == done.kept
    assert (again.kept, again.kept_bytes, again.embedded) == (0, 0, 0)
    assert vectors(memory, HashingEmbedder(128)) == done.nodes
    assert not any("by words" in note for note in memory.recall("harbour").notes)


def test_a_dry_run_says_how_much_there_is_to_do_and_does_none_of_it(memory: Memory) -> None:
    told = memory.reindex("hashing:128", dry_run=True, drop_old=True)

    assert told.dry_run
    assert not told.switched
    assert (told.before, told.embedder, told.vectors) == ("hashing", "hashing:128", 0)
    assert told.nodes >= NOTES
    assert vectors(memory, HashingEmbedder(128)) == 0
    assert memory.reindexing().wanted is None


def test_words_drop_nothing_and_the_way_back_embeds_nothing(memory: Memory) -> None:
    before = answers(memory, QUERIES)
    memory.store("A note that still waits for its vector.")

    assert memory.reindex("words").switched
    hits = memory.recall("harbour near gate 3", floor=0.0).hits
    assert hits
    assert all(hit.signals.cosine is None for hit in hits)
    assert memory.stats().totals.states == {"ready": NOTES + 1}, "nothing waits for ever"
    memory.store("This came while recall went by words.")

    back = memory.reindex("hashing")

    assert back.switched
    assert back.vectors == back.nodes
    assert back.embedded <= 4, "those that came meanwhile"
    for old, new in zip(before, answers(memory, QUERIES), strict=True):
        assert (new[0][0], new[0][2]) == (old[0][0], old[0][2])


def test_without_a_name_it_fills_in_what_the_homes_own_lacks(memory: Memory, quick: Path) -> None:
    nothing = memory.reindex()
    assert (nothing.embedder, nothing.embedded, nothing.switched) == ("hashing", 0, False)
    identity = Meaning.of(HashingEmbedder()).identity
    with open_engine(quick, create=False).writing() as writer:
        assert writer.drop_vectors(identity, 7) == 7

    done = memory.reindex()

    assert done.embedded + done.reused == 7
    assert done.vectors == done.nodes
    assert not done.switched


def test_another_model_under_the_old_name_is_gone_over_to_without_a_name(quick: Path) -> None:
    with Memory.open(quick, embedder=Watched(64), wait_s=20.0) as memory:
        fill(memory, 8)
    with Memory.open(quick, embedder=Watched(96), wait_s=20.0) as memory:
        [note] = memory.recall("harbour on day 8").notes
        assert "another model" in note
        assert "ringwood reindex" in note

        done = memory.reindex()

        assert done.switched
        assert done.vectors == done.nodes
        answer = memory.recall("harbour on day 8")
        assert answer.notes == ()
        assert answer.hits[0].signals.cosine is not None


def test_a_home_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "home") as memory, pytest.raises(NoHomeError):
        memory.reindex("hashing:128")
    assert not (tmp_path / "home").exists()


def test_a_name_that_no_embedder_has_changes_nothing(memory: Memory) -> None:
    with pytest.raises(UsageError, match="no embedder 'nonsense'"):
        memory.reindex("nonsense")
    with pytest.raises(UsageError, match="no embedder 'nonsense'"):
        memory.reindex_later("nonsense")
    assert memory.reindexing().wanted is None


def test_a_setting_that_names_the_old_embedder_is_told(memory: Memory, quick: Path) -> None:
    config.set_value(str(quick), "embed.embedder", "hashing")
    with Memory.open(quick) as told:
        assert "ringwood config embed.embedder words" in told.reindex("words").notes[0]


def test_edges_between_two_scripts_are_measured_anew_or_go(memory: Memory, quick: Path) -> None:
    """What is put here is what an embedder that knows both languages would have found."""
    same = "API gateway v2.14 release checklist QA"
    texts = [
        f"The {same} is ready.",
        f"我们的清单：{same}，已经准备好了。今天开会讨论天气。",
        "七号厅漏油。",
    ]
    receipts = [memory.store(text) for text in texts]
    assert memory.wait(20.0)
    engine = open_engine(quick, create=False)
    with engine.writing() as writer, engine.reading() as reader:
        nodes = [reader.node_ids([int(each.document)])[-1] for each in receipts]
        near, far = Edge(nodes[0], nodes[1], SIMILAR, 0.99), Edge(nodes[0], nodes[2], SIMILAR, 0.98)
        writer.put_edges(int(receipts[1].document), [near])
        writer.put_edges(int(receipts[2].document), [far])

    memory.reindex("hashing:512")

    with engine.reading() as reader:
        ends = {(e.source, e.target): e.weight for e in reader.edges([nodes[0]])}
    engine.close()
    assert (far.source, far.target) not in ends
    assert 0.72 <= ends[near.source, near.target] < 0.98


# -- cut short, overtaken, refused -----------------------------------------------------------------


def test_what_is_embedded_stays_when_it_is_cut_short(memory: Memory) -> None:
    first, second = Watched(64), Watched(64)

    def stop(what: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.reindex(first, on_nodes=stop)
    assert 0 < len(first.texts) < NOTES * 2
    assert not memory.recall("harbour").notes, "recall goes by the old ones"

    done = memory.reindex(second)

    assert done.switched
    assert not set(first.texts) & set(second.texts)
    assert done.vectors == done.nodes > done.embedded + done.reused > 0


def test_equal_texts_are_embedded_once(quick: Path) -> None:
    with Memory.open(quick, embedder="hashing", wait_s=20.0) as memory:
        for number in range(5):
            memory.store("# Log\n\nNothing happened today.", source=f"day {number}")
        embedder = Watched(64)

        done = memory.reindex(embedder)

        assert len(embedder.texts) == len(set(embedder.texts)) == done.embedded
        assert done.reused == done.nodes - done.embedded > 0


def test_a_text_that_comes_at_the_last_moment_has_its_vector_before_the_switch(
    memory: Memory, quick: Path
) -> None:
    embedder = Watched(64)
    late: list[Receipt] = []

    def store() -> None:
        if len(late) < 3:
            with Memory.open(quick, wait_s=0.0) as other:
                late.append(other.store(f"Late, number {len(late)}: the drawbridge is shut."))

    embedder.before = store

    done = memory.reindex(embedder)

    assert len(late) == 3
    assert done.vectors == done.nodes
    assert memory.recall("drawbridge").hits[0].signals.cosine is not None


def test_it_does_not_switch_while_a_node_lacks_a_vector(memory: Memory, quick: Path) -> None:
    engine = open_engine(quick, create=False)
    target = Choice(Remembered("hashing:64", "x"), None)
    way = Reindex(engine, target, Lease(quick / "lease"))
    way.begin()

    assert way.step() == "more", "it has not one vector of that identity"
    with engine.reading() as reader:
        assert remembered(reader) == Remembered("hashing", Meaning.of(HashingEmbedder()).identity)
    engine.close()


def test_an_embedder_that_goes_down_stops_it_and_recall_goes_on(memory: Memory) -> None:
    embedder = Watched(64)
    embedder.refused = "gate"
    before = answers(memory, QUERIES)

    with pytest.raises(EmbedderError, match="'gate'"):
        memory.reindex(embedder)

    assert answers(memory, QUERIES) == before
    assert memory.reindexing().wanted == "watched", "whoever can goes on"
    embedder.refused = ""
    assert memory.reindex(embedder).switched


def test_one_text_that_is_refused_keeps_no_other_from_its_vector(memory: Memory) -> None:
    embedder = Watched(64)
    embedder.refused = "day 17 "

    with pytest.raises(EmbedderError, match="'day 17 '"):
        memory.reindex(embedder)

    standing = memory.reindexing()
    assert standing.coverage.nodes - standing.coverage.vectors in (1, 2)
    assert standing.current == "hashing"


def test_a_reindex_that_somebody_cancels_ends(memory: Memory, quick: Path) -> None:
    def cancel(what: str, done: int, total: int) -> None:
        with Memory.open(quick, wait_s=0.0) as other:
            assert other.cancel_reindex() == "hashing:128"

    with pytest.raises(UsageError, match="wanted no more"):
        memory.reindex("hashing:128", on_nodes=cancel)

    assert memory.cancel_reindex() is None
    assert memory.reindexing().current == "hashing"
    assert vectors(memory, HashingEmbedder(128)) > 0, "what is filled in stays"


def test_cut_short_after_the_switch_it_still_compares_anew(memory: Memory, quick: Path) -> None:
    def stop(what: str, done: int, total: int) -> None:
        if what.startswith("links"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.reindex("hashing:128", on_nodes=stop)
    assert memory.reindexing().wanted == "hashing:128"

    memory.reindex()

    assert memory.reindexing().wanted is None
    with Memory.open(quick) as other:
        done = other.dream()
        assert (done.added, done.removed) == (0, 0)


# -- others that have the home open ----------------------------------------------------------------


def test_whoever_has_the_home_open_notices(memory: Memory, quick: Path) -> None:
    with Memory.open(quick, wait_s=20.0) as other:
        old = answers(other, QUERIES)

        memory.reindex("hashing:128")

        new = answers(other, QUERIES)
        assert answers(memory, QUERIES) == new != old
        receipt = other.store("The ferryman sleeps in the boathouse.")
        assert other.wait(20.0)
        assert other.receipt(receipt).vectors == other.receipt(receipt).nodes
        other.reindex("hashing:64")
        assert not memory.recall("harbour").notes, "it named none itself, and follows"


def test_a_recall_that_the_switch_and_the_dropping_overtake_is_answered_anew(
    memory: Memory, quick: Path
) -> None:
    class Overtaken(HashingEmbedder):
        """Goes over to another embedder while a question is embedded."""

        name = "overtaken"

        def embed_query(self, text: str, *, timeout_s: float | None = None):  # type: ignore[no-untyped-def]  # noqa: ANN202
            with Memory.open(quick, wait_s=0.0) as other:
                other.reindex("hashing:128", drop_old=True)
            return super().embed_query(text)

    memory.reindex(Overtaken())

    answer = memory.recall("harbour near gate 3")

    # It was opened with an embedder that the home has left: that it says so is the right answer.
    assert "ringwood reindex" in answer.notes[0]
    assert all(hit.signals.cosine is None for hit in answer.hits)
    with Memory.open(quick) as other:
        assert other.recall("harbour near gate 3").hits[0].signals.cosine is not None


def test_under_the_embedder_that_the_home_has_left_nothing_is_saved_as_done(
    memory: Memory, quick: Path
) -> None:
    old = Meaning.of(HashingEmbedder())
    memory.reindex("hashing:128")
    memory.store("This came too late for the old one.", source="late")
    assert memory.wait(20.0)
    engine = open_engine(quick, create=False)
    with engine.writing() as writer, engine.reading() as reader:
        card = reader.document_by_source("global", "late")
        assert card is not None
        writer.set_state(card.id, "pending", None)

    assert not embed_document(engine, old, card, LinkOptions())

    with engine.reading() as reader:
        assert [each.source for each in reader.pending(9)] == ["late"]
    assert embed_document(engine, Meaning.of(HashingEmbedder(128)), card, LinkOptions())
    engine.close()


def test_a_text_waits_for_its_vector_though_its_import_began_when_words_were_all(
    quick: Path,
) -> None:
    with Memory.open(quick, embedder="words") as filling:
        fill(filling, 2)
    intake = Intake(SAID_AT, state="ready")
    engine = open_engine(quick, create=False)
    [early] = ingest(engine, [Draft("Early.", "global", "import")], intake)
    with Memory.open(quick) as memory:
        memory.reindex("hashing")

    [late] = ingest(engine, [Draft("Late.", "global", "import")], intake)

    with engine.reading() as reader:
        states = {card.id: card.state for card in reader.roots("global")}
    assert (states[early.document or 0], states[late.document or 0]) == ("ready", "pending")
    engine.close()


def test_texts_of_every_tier_get_theirs_in_their_own_file(memory: Memory, quick: Path) -> None:
    memory.store("This one is new.")
    assert memory.wait(20.0)
    assert memory.rotate().moved == {"hot": 0, "warm": 0, "cold": NOTES}

    done = memory.reindex("hashing:64")

    assert done.vectors == done.nodes
    tiers = memory.stats().totals.tiers
    assert tiers["cold"].vectors == tiers["cold"].nodes == 2 * NOTES
    assert tiers["hot"].vectors == tiers["hot"].nodes > 0


# -- in the background -----------------------------------------------------------------------------


def test_whoever_has_time_goes_on_with_what_is_wanted(memory: Memory, quick: Path) -> None:
    with Memory.open(quick, wait_s=0.0) as wanting:
        wanting.reindex_later("hashing:128")
        assert "0 of" in wanting.stats().notes[0]
    with Memory.open(quick, wait_s=0.0) as first:
        assert first.reindex_step(limit_s=0.0), "there is more to do"
        assert first.reindexing().coverage.vectors > 0
        assert first.recall("harbour near gate 3").hits[0].signals.cosine is not None

    steps = 1
    while memory.reindex_step(limit_s=0.0):
        steps += 1

    assert steps > 1
    assert memory.reindexing().current == "hashing:128"
    assert memory.reindexing().wanted is None
    assert not memory.reindex_step(), "nothing is wanted"
    assert memory.recall("harbour near gate 3").hits[0].signals.cosine is not None
    assert memory.stats().notes == ()


def test_a_step_waits_for_whoever_embeds(memory: Memory, quick: Path) -> None:
    memory.reindex_later("hashing:128")
    lease = Lease(quick / "embedding.lock")
    assert lease.try_acquire()

    assert memory.reindex_step()
    assert memory.reindexing().coverage.vectors == 0

    lease.release()
    while memory.reindex_step():
        pass
    assert memory.reindexing().current == "hashing:128"


def test_an_embedder_of_anothers_own_is_left_to_it(memory: Memory, quick: Path) -> None:
    watched = Watched(64)

    def stop(what: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.reindex(watched, on_nodes=stop)

    with Memory.open(quick) as other:
        assert not other.reindex_step(), "it cannot open it"
        assert other.reindexing().wanted == "watched"
    assert memory.reindex(watched).switched


def test_another_that_is_wanted_meanwhile_is_gone_on_with(memory: Memory) -> None:
    memory.reindex_later("hashing:128")
    assert memory.reindex_step(limit_s=0.0)
    memory.reindex_later("hashing:64")

    while memory.reindex_step():
        pass

    assert memory.reindexing().current == "hashing:64"
    assert vectors(memory, HashingEmbedder(128)) > 0
