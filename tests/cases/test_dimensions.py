"""Vectors of any length, an embedder that is down, and one that is gone (kind DIM).

Numbers are those of the public reports that each case comes from.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.embed.server import KEY, serving
from tests.processes import eventually
from tests.upkeep.reindexing import Watched

from ringwood import config
from ringwood.engine.sqlite import open_engine
from ringwood.memory import Memory

LIGHT = "The lighthouse keeper counts the ships that pass at night."
BREAD = "Bread needs yeast, warmth and an hour of patience."
QUERY = "a keeper of lighthouses and ships"


def columns(home: Path) -> dict[str, int]:
    """Return the bytes of a row per identity, as they lie in the files."""
    engine = open_engine(home, create=False)
    try:
        with engine.reading() as reader:
            kept = reader.kept_vectors().items()
            return {identity: each.bytes // each.vectors for identity, each in kept}
    finally:
        engine.close()


def by_meaning(memory: Memory) -> bool:
    """Say whether a recall compared vectors, and found what it should."""
    hits = memory.recall(QUERY, floor=0.0).hits
    return hits[0].text.endswith(LIGHT) and hits[0].signals.cosine is not None


@pytest.mark.parametrize("dim", [64, 256, 384, 768, 1024, 3072])
def test_an_embedder_may_have_any_number_of_columns(tmp_path: Path, dim: int) -> None:  # 39
    with Memory.open(tmp_path / "home", embedder=f"hashing:{dim}", wait_s=20.0) as memory:
        memory.store(LIGHT)
        memory.store(BREAD)
        assert memory.wait()
        assert by_meaning(memory)
    with Memory.open(tmp_path / "home") as again:
        assert by_meaning(again)
        assert again.recall(QUERY).notes == ()
    assert list(columns(tmp_path / "home").values()) == [dim]


def test_a_home_goes_from_any_number_of_columns_to_any_other(tmp_path: Path) -> None:  # 39
    with Memory.open(tmp_path / "home", embedder="hashing:64", wait_s=20.0) as memory:
        memory.store(LIGHT)
        memory.store(BREAD)
    with Memory.open(tmp_path / "home") as memory:
        for dim in (3072, 384, 1024, 256, 64):
            done = memory.reindex(f"hashing:{dim}")
            assert done.vectors == done.nodes
            assert done.switched
            assert by_meaning(memory)
        assert done.embedded == 0, "those of 64 columns were still there"
    assert sorted(columns(tmp_path / "home").values()) == [64, 256, 384, 1024, 3072]


def test_what_is_stored_while_a_server_is_down_has_vectors_later(  # 37
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    for key, value in (("upkeep.retry_s", "1"), ("embed.pause_s", "0.1")):
        config.set_value(str(home), key, value)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(dim=96) as place:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{place.url}/v1")
        with Memory.open(home, embedder="openai:fake", wait_s=0.0) as memory:
            memory.store(BREAD)
            assert memory.wait(20.0)
            place.stop()

            receipt = memory.store(LIGHT)

            assert not memory.wait(20.0), "told that it is down"
            assert memory.receipt(receipt).vectors == 0
            assert any("words" in note for note in memory.recall(QUERY).notes)
            place.start()
            eventually(lambda: memory.receipt(receipt).state == "ready")
            assert memory.receipt(receipt).vectors == memory.receipt(receipt).nodes
            assert by_meaning(memory)
    assert list(columns(home).values()) == [96]


def test_a_model_that_cannot_be_loaded_any_more_leaves_words_and_mixes_nothing(  # 41
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    with Memory.open(home, embedder=Watched(384, "gone"), wait_s=20.0) as memory:
        memory.store(BREAD)
    filled = columns(home)

    with Memory.open(home, wait_s=20.0) as without:
        receipt = without.store(LIGHT)
        assert without.wait()
        answer = without.recall(QUERY)
        assert answer.hits[0].text.endswith(LIGHT)
        assert "by words" in answer.notes[0]
        assert without.stats().notes
        assert without.receipt(receipt).state == "pending", "its vector is to come"
    with Memory.open(home, embedder="hashing", wait_s=20.0) as other:
        other.store("Ferries to the islands leave the northern pier every hour.")
        assert other.wait()
        answer = other.recall(QUERY)
        assert answer.hits[0].signals.cosine is None
        assert "ringwood reindex hashing" in answer.notes[0]
    assert columns(home) == filled, "nobody else's vectors stand among them"

    with Memory.open(home, embedder=Watched(384, "gone"), wait_s=20.0) as back:
        back.recall(QUERY)
        assert back.wait()
        assert back.receipt(receipt).state == "ready"
        assert by_meaning(back)
    assert columns(home) == filled


def test_from_a_model_that_is_gone_a_home_goes_over_to_another(tmp_path: Path) -> None:  # 41
    home = tmp_path / "home"
    with Memory.open(home, embedder=Watched(384, "gone"), wait_s=20.0) as memory:
        memory.store(BREAD)
    with Memory.open(home, wait_s=20.0) as memory:
        memory.store(LIGHT)

        done = memory.reindex("hashing")

        assert done.vectors == done.nodes
        assert memory.wait()
        assert by_meaning(memory)
        assert memory.recall(QUERY).notes == ()
        assert memory.stats().totals.states == {"ready": 2}
