"""A home whose embedder is on a server goes over when the model behind the name has changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.embed.server import KEY, Place, serving
from tests.upkeep.reindexing import fill

from ringwood import config
from ringwood.embed.remote.record import PROBES
from ringwood.errors import EmbedderError
from ringwood.memory import Memory

NOTES = 40
QUERY = "harbour near gate 3"


@pytest.fixture
def place() -> Iterator[Place]:
    with serving(cone=0.1) as served:
        yield served


@pytest.fixture
def home(tmp_path: Path, place: Place, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home that was filled by the server's first model."""
    home = tmp_path / "home"
    home.mkdir()
    for key, value in (("reindex.rest", "0"), ("embed.pause_s", "0.1")):
        config.set_value(str(home), key, value)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{place.url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with Memory.open(home, embedder="openai:fake", wait_s=60.0) as memory:
        fill(memory, NOTES)
    return home


def by_meaning(memory: Memory) -> bool:
    answer = memory.recall(QUERY, floor=0.0)
    return answer.notes == () and answer.hits[0].signals.cosine is not None


def test_another_model_behind_the_name_is_taken_over_by_a_reindex(home: Path, place: Place) -> None:
    place.behaviour.model = 1
    with Memory.open(home, wait_s=20.0) as memory:
        [note] = memory.recall(QUERY).notes
        assert "another model" in note
        assert "ringwood reindex" in note

        done = memory.reindex()

        assert done.switched
        assert done.vectors == done.nodes == done.embedded + done.reused
        assert by_meaning(memory)
    with Memory.open(home) as again:
        assert by_meaning(again)


def test_the_same_model_is_known_again_though_its_vectors_are_not_quite_the_same(
    home: Path, place: Place
) -> None:
    place.behaviour.noise = 0.002
    with Memory.open(home) as memory:
        done = memory.reindex()

    assert not done.switched
    assert done.embedded == 0


def test_a_fill_that_was_cut_short_goes_on_with_the_same_model(home: Path, place: Place) -> None:
    def stop(what: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    place.behaviour.model = 1
    place.behaviour.noise = 0.002
    with Memory.open(home) as memory, pytest.raises(KeyboardInterrupt):
        memory.reindex(on_nodes=stop)
    with Memory.open(home) as memory:
        there = memory.reindexing().coverage
        assert 0 < there.vectors < there.nodes

        done = memory.reindex()

        assert done.embedded + done.reused == there.nodes - there.vectors
        assert done.switched


def test_a_server_that_goes_down_meanwhile_costs_nothing_that_is_filled_in(
    home: Path, place: Place
) -> None:
    place.behaviour.model = 1
    with Memory.open(home) as memory:

        def fall(what: str, done: int, total: int) -> None:
            if what == "nodes":
                place.stop()

        with pytest.raises(EmbedderError, match="cannot be reached"):
            memory.reindex(on_nodes=fall)
        there = memory.reindexing().coverage
        assert 0 < there.vectors < there.nodes
        place.start()
        place.behaviour.requests.clear()

        done = memory.reindex()

        assert done.switched
        asked = [text for text in place.behaviour.texts if text.startswith("Note")]
        assert len(set(asked)) == len(asked) <= there.nodes - there.vectors
        assert set(PROBES) <= set(place.behaviour.texts), "it was asked who it is"
