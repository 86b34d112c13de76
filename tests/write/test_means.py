"""Every space compares meanings on means of its own, once it has enough to take them from."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ringwood.embed.hashing import HashingEmbedder
from ringwood.embed.meaning import Meaning
from ringwood.engine.base import Engine, ScriptMean
from ringwood.engine.sqlite import open_engine
from ringwood.memory import Memory
from ringwood.upkeep.dream import DreamOptions, Plan, dream
from ringwood.write.link import LinkOptions
from ringwood.write.means import LEAST, meaning_of, refresh_means

MEANING = Meaning.of(HashingEmbedder())


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


def test_without_calibration_nothing_is_subtracted(tmp_path: Path) -> None:
    filled(tmp_path, "app", LEAST)
    raw = Meaning.of(HashingEmbedder(), calibrated=False)
    engine = open_engine(tmp_path, create=False)
    with engine.reading() as reader:
        assert meaning_of(reader, raw, "app") is raw
    engine.close()
