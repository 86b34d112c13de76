"""Every space compares meanings on means of its own, once it has enough to take them from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ringwood.embed.base import Anchors, FloatRows
from ringwood.embed.hashing import HashingEmbedder
from ringwood.embed.meaning import Meaning
from ringwood.engine.base import Engine, ScriptMean
from ringwood.engine.sqlite import open_engine
from ringwood.memory import Memory
from ringwood.upkeep.dreaming.dream import DreamOptions, Plan, dream
from ringwood.write.link import LinkOptions
from ringwood.write.means import LEAST, background, meaning_of, refresh_means

MEANING = Meaning.of(HashingEmbedder())
ANCHORS = Anchors(background_median=0.0, background_p999=0.5, duplicate_q1=0.995)


def notes(count: int) -> list[str]:
    words = ("bridge", "harbour", "lantern", "meadow", "orchard", "quarry", "saddle", "thimble")
    return [f"The {words[i % 8]} of {words[i * 3 % 7]} number {i} stands." for i in range(count)]


def filled(home: Path, space: str, count: int) -> None:
    with Memory.open(home, space=space, embedder="hashing", wait_s=60.0) as memory:
        for text in notes(count):
            memory.store(text)


def means_of(engine: Engine, space: str) -> dict[str, ScriptMean]:
    with engine.reading() as reader:
        return reader.means(MEANING.identity, space)


def test_a_space_has_means_of_its_own_from_enough_nodes_on(tmp_path: Path) -> None:
    filled(tmp_path, "small", 3)
    filled(tmp_path, "large", LEAST)
    engine = open_engine(tmp_path, create=False)
    assert means_of(engine, "small") == {}
    assert means_of(engine, "large")["Latin"].nodes >= LEAST
    engine.close()


def test_own_means_take_from_texts_what_all_of_them_share(tmp_path: Path) -> None:
    filled(tmp_path, "app", 40)
    engine = open_engine(tmp_path, create=False)
    with engine.reading() as reader:
        vectors = list(reader.vectors(MEANING.identity, reader.recent_nodes("app", 99)).values())
        own = meaning_of(reader, MEANING, "app")
    rows = np.stack([each.row for each in vectors])
    scripts = [each.script for each in vectors]
    apart = own.centre(rows, scripts).mean(axis=0)
    shared = MEANING.centre(rows, scripts).mean(axis=0)
    assert np.linalg.norm(apart) < 0.5 * np.linalg.norm(shared)
    engine.close()


def test_means_do_not_cross_spaces(tmp_path: Path) -> None:
    filled(tmp_path, "one", LEAST)
    engine = open_engine(tmp_path, create=False)
    refresh_means(engine, MEANING, "one", force=True)
    before = means_of(engine, "one")["Latin"]
    engine.close()
    filled(tmp_path, "two", 4 * LEAST)
    engine = open_engine(tmp_path, create=False)
    refresh_means(engine, MEANING, "one", force=True)
    after = means_of(engine, "one")["Latin"]
    assert after.nodes == before.nodes
    assert np.array_equal(after.mean, before.mean)
    engine.close()


def test_means_stay_until_the_space_has_grown(tmp_path: Path) -> None:
    filled(tmp_path, "app", LEAST)
    engine = open_engine(tmp_path, create=False)
    taken = means_of(engine, "app")["Latin"].nodes
    filled(tmp_path, "app", LEAST + 20)
    assert not refresh_means(engine, MEANING, "app")
    assert means_of(engine, "app")["Latin"].nodes == taken
    assert refresh_means(engine, MEANING, "app", force=True)
    assert not refresh_means(engine, MEANING, "app", force=True), "they are what they were"
    engine.close()


def test_a_dream_takes_the_means_again_and_a_second_changes_nothing(tmp_path: Path) -> None:
    filled(tmp_path, "app", LEAST + 20)
    engine = open_engine(tmp_path, create=False)
    plan = Plan(MEANING, LinkOptions(), DreamOptions(), everything=False, dry_run=False)
    first = dream(engine, plan, lambda space, done, total: None)
    second = dream(engine, plan, lambda space, done, total: None)
    assert first.compared == ("app",)
    assert second.unchanged == ("app",)
    engine.close()


def test_forgetting_a_space_forgets_its_means(tmp_path: Path) -> None:
    filled(tmp_path, "app", LEAST)
    with Memory.open(tmp_path, embedder="hashing") as memory:
        memory.forget(space="app")
    engine = open_engine(tmp_path, create=False)
    assert means_of(engine, "app") == {}
    engine.close()


def test_means_that_are_no_more_go_without_those_of_another_embedder(tmp_path: Path) -> None:
    filled(tmp_path, "app", LEAST)
    engine = open_engine(tmp_path, create=False)
    taken = means_of(engine, "app")["Latin"]
    with engine.writing() as writer:
        writer.put_means(MEANING.identity, "app", {"Han": taken})
        writer.put_means("another", "app", {"Latin": taken})
    refresh_means(engine, MEANING, "app", force=True)
    assert means_of(engine, "app").keys() == {"Latin"}
    with engine.reading() as reader:
        assert reader.means("another", "app").keys() == {"Latin"}
    engine.close()


def test_without_calibration_nothing_is_subtracted(tmp_path: Path) -> None:
    filled(tmp_path, "app", LEAST)
    raw = Meaning.of(HashingEmbedder(), calibrated=False)
    engine = open_engine(tmp_path, create=False)
    with engine.reading() as reader:
        assert meaning_of(reader, raw, "app") is raw
    engine.close()


def rows_around(direction: int, spread: float, count: int = 60) -> FloatRows:
    chance = np.random.default_rng(direction)
    rows = np.zeros((count, 64), np.float32)
    rows[:, direction] = 1.0
    rows += spread * chance.normal(size=rows.shape).astype(np.float32)
    unit: FloatRows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def test_where_all_texts_are_more_alike_more_likeness_is_asked_for() -> None:
    documents = np.arange(60)
    alike = background(rows_around(1, 0.12), documents, ANCHORS)
    apart = background(rows_around(1, 0.5), documents, ANCHORS)
    assert alike[0] > apart[0]
    assert alike[1] > apart[1]


def test_nodes_of_one_document_and_near_duplicates_are_no_background() -> None:
    rows = rows_around(1, 0.5)
    given = (ANCHORS.background_median, ANCHORS.background_p999)
    assert background(rows, np.zeros(60, np.int64), ANCHORS) == given
    assert background(np.repeat(rows[:1], 60, axis=0), np.arange(60), ANCHORS) == given


def test_few_pairs_leave_the_background_near_the_embedders() -> None:
    few = background(rows_around(1, 0.12, 5), np.arange(5), ANCHORS)
    many = background(rows_around(1, 0.12, 60), np.arange(60), ANCHORS)
    assert abs(few[1] - ANCHORS.background_p999) < abs(many[1] - ANCHORS.background_p999) / 4


def test_a_space_of_one_script_moves_the_means_of_the_others_with_its_own() -> None:
    shift = np.full(len(MEANING.means.by_script["Latin"]), 0.1, np.float32)
    moved = MEANING.on({"Latin": MEANING.means.by_script["Latin"] + shift}, {})
    assert moved.settled
    assert not MEANING.settled
    for script, mean in MEANING.means.by_script.items():
        assert moved.means.by_script[script] == pytest.approx(mean + shift, abs=1e-6)


def test_each_script_is_read_against_its_own_background() -> None:
    own = {script: MEANING.means.by_script[script] for script in ("Latin", "Han")}
    meaning = MEANING.on(own, {"Latin": (0.0, 0.3), "Han": (0.0, 0.1)})
    assert meaning.similarity(0.3, "Latin", "Latin") == pytest.approx(0.72)
    assert meaning.similarity(0.1, "Han", "Han") == pytest.approx(0.72)
    assert meaning.similarity(0.2, "Latin", "Han") == pytest.approx(0.72)
    assert meaning.similarity(MEANING.anchors.duplicate_q1, "Han", "Han") == pytest.approx(0.88)


def test_the_background_of_a_space_is_kept_and_read_back(tmp_path: Path) -> None:
    filled(tmp_path, "app", 80)
    engine = open_engine(tmp_path, create=False)
    refresh_means(engine, MEANING, "app", force=True)
    kept = means_of(engine, "app")["Latin"].background
    with engine.reading() as reader:
        anchors = meaning_of(reader, MEANING, "app").anchors_between("Latin", "Latin")
    assert kept is not None
    assert (anchors.background_median, anchors.background_p999) == pytest.approx(kept)
    assert kept != (MEANING.anchors.background_median, MEANING.anchors.background_p999)
    engine.close()


def test_means_of_forgotten_texts_go_with_the_last_of_them(tmp_path: Path) -> None:
    filled(tmp_path, "app", LEAST)
    engine = open_engine(tmp_path, create=False)
    with Memory.open(tmp_path, space="app", embedder="hashing") as memory:
        *others, last = [line.node.path for line in memory.tree(depth=1)]
        for path in others:
            memory.forget(path)
        assert means_of(engine, "app")
        memory.forget(last)
    assert means_of(engine, "app") == {}
    engine.close()
