"""A memory whose embedder runs elsewhere: server down, back, changed; store and recall go on."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.embed.server import KEY, Place, serving
from tests.processes import eventually

from ringwood import config
from ringwood.embed.remote.record import PROBES
from ringwood.errors import ConfigError, HomeError
from ringwood.memory import Memory
from ringwood.serve.cli.app import run

LIGHT = "The lighthouse keeper counts the ships that pass at night."
BREAD = "Bread needs yeast, warmth and an hour of patience."
BOATS = "Ferries to the islands leave the northern pier every hour."


@pytest.fixture
def place() -> Iterator[Place]:
    with serving(cone=0.1) as served:
        yield served


@pytest.fixture
def opened(tmp_path: Path, place: Place, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Memory]:
    """Opens one home again and again, as one process after another does."""
    home = tmp_path / "home"
    home.mkdir()
    for key, value in (("upkeep.retry_s", "1"), ("embed.pause_s", "0.1")):
        config.set_value(str(home), key, value)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{place.url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("RINGWOOD_EMBEDDER", "openai:fake")

    def open_it() -> Memory:
        return Memory.open(home, wait_s=0.0)

    return open_it


def vectors(memory: Memory) -> int:
    return memory.stats().totals.tiers["hot"].vectors


def by_meaning(memory: Memory, query: str) -> bool:
    """Say whether a recall compared vectors."""
    hits = memory.recall(query, floor=0.0).hits
    return bool(hits) and hits[0].signals.cosine_raw is not None


def test_a_home_is_filled_and_asked_by_meaning_and_then_opened_without_measuring_again(
    opened: Callable[[], Memory], place: Place
) -> None:
    with opened() as memory:
        receipt = memory.store(f"{LIGHT}\n\n{BREAD}")
        assert memory.wait(20.0)
        assert memory.receipt(receipt).state == "ready"
        assert by_meaning(memory, "a keeper of ships")
        identity = memory.stats().identity

    place.behaviour.requests.clear()
    with opened() as memory:
        assert memory.stats().identity == identity
        assert by_meaning(memory, "a keeper of ships")
        assert memory.recall("a keeper of ships").notes == ()
    assert place.behaviour.texts == [*PROBES, "a keeper of ships", "a keeper of ships"]


def test_a_wide_model_is_stored_and_recalled_as_well(
    opened: Callable[[], Memory], place: Place
) -> None:
    place.behaviour.dim = 3072
    with opened() as memory:
        receipt = memory.store(f"{LIGHT}\n\n{BREAD}")
        assert memory.wait(30.0)
        assert memory.receipt(receipt).vectors == 3

    with opened() as memory:
        answer = memory.recall("a keeper of ships")
        assert answer.notes == ()
        assert LIGHT in answer.hits[0].text
        assert answer.hits[0].signals.cosine_raw is not None


def test_down_from_the_first_moment_texts_are_found_by_words_and_vectors_follow(
    opened: Callable[[], Memory], place: Place
) -> None:
    place.stop()
    with opened() as memory:
        receipt = memory.store(LIGHT)
        assert receipt.state == "pending"
        answer = memory.recall("lighthouse keeper")
        assert answer.hits
        assert "by words only" in answer.notes[0]
        assert not memory.wait(20.0), "told that it is down"
        assert any("cannot be reached" in note for note in memory.stats().notes)
        assert "cannot be reached" in memory.recall("lighthouse keeper").notes[0]
        assert memory.receipt(receipt).state == "failed", "kept, for whoever looks later"

        place.start()

        eventually(lambda: memory.receipt(receipt).state == "ready")
        assert by_meaning(memory, "lighthouse keeper")
        assert memory.recall("lighthouse keeper").notes == ()


def test_a_server_that_dies_and_comes_back_costs_no_text_and_no_recall(
    opened: Callable[[], Memory], place: Place
) -> None:
    with opened() as memory:
        memory.store(LIGHT)
        assert memory.wait(20.0)
        place.stop()

        receipt = memory.store(BREAD)
        answer = memory.recall("yeast and patience")
        assert BREAD in answer.hits[0].text
        assert any("cannot be reached" in note for note in answer.notes)
        assert not memory.wait(20.0)
        assert memory.receipt(receipt).state == "failed"

        place.start()
        eventually(lambda: memory.receipt(receipt).state == "ready")
        assert by_meaning(memory, "yeast and patience")


def test_a_home_is_opened_and_asked_while_its_server_is_down(
    opened: Callable[[], Memory], place: Place
) -> None:
    with opened() as memory:
        memory.store(LIGHT)
        assert memory.wait(20.0)
    place.stop()

    with opened() as memory:
        answer = memory.recall("lighthouse keeper")
        assert answer.hits
        assert any("cannot be reached" in note for note in answer.notes)


def test_a_server_that_accepts_and_never_answers_costs_a_recall_its_deadline_once(
    opened: Callable[[], Memory], place: Place
) -> None:
    with opened() as memory:
        memory.store(LIGHT)
        assert memory.wait(20.0)
    config.set_value(str(memory.home), "embed.pause_s", "60")
    place.behaviour.mode = "hangs"

    with opened() as memory:
        began = time.monotonic()
        answers = [
            memory.inject("lighthouse keeper", session=f"x:{number}", timeout_s=0.3)
            for number in range(5)
        ]
        assert time.monotonic() - began < 5.0, "0.3 s and not 5 times the usual ten"
    assert all(answer.hits and "in time" in answer.notes[0] for answer in answers)


def test_another_model_behind_the_name_mixes_nothing_and_says_what_to_do(
    opened: Callable[[], Memory], place: Place
) -> None:
    with opened() as memory:
        memory.store(LIGHT)
        assert memory.wait(20.0)
        before = vectors(memory)
    place.behaviour.model = 1

    with opened() as memory:
        receipt = memory.store(BOATS)
        answer = memory.recall("ferries to the islands")
        assert BOATS in answer.hits[0].text
        assert all(hit.signals.cosine_raw is None for hit in answer.hits)
        assert any("ringwood reindex" in note for note in answer.notes)
        assert not memory.wait(20.0)
        assert memory.receipt(receipt).vectors == 0
        assert vectors(memory) == before

        place.behaviour.model = 0
        eventually(lambda: memory.receipt(receipt).state == "ready")


def test_a_recall_alone_does_not_fix_the_embedder_of_an_empty_home(
    opened: Callable[[], Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened() as memory:
        memory.create()
        memory.recall("anything")
        assert memory.wait(20.0)

    monkeypatch.setenv("RINGWOOD_EMBEDDER", "hashing")
    with opened() as memory:
        memory.store(LIGHT)
        assert memory.stats().embedder == "hashing"
        assert not memory.stats().notes


def test_two_processes_that_meet_a_model_at_once_agree_on_what_it_is(
    opened: Callable[[], Memory], place: Place
) -> None:
    place.behaviour.noise = 0.003  # so that each of them measures something else
    with opened() as one, opened() as other:
        first, second = one.store(LIGHT), other.store(BREAD)
        eventually(lambda: one.receipt(first).state == "ready")
        eventually(lambda: other.receipt(second).state == "ready")
        eventually(lambda: by_meaning(one, "yeast"))
        eventually(lambda: by_meaning(other, "lighthouse"))
        assert one.stats().identity == other.stats().identity


def test_a_key_comes_from_the_environment_or_from_a_file_for_its_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "credentials.toml"
    assert config.credential(str(tmp_path), "openai", {}) is None

    file.write_text('[openai]\nkey = " sk-file "\n', "utf-8")
    file.chmod(0o600)
    assert config.credential(str(tmp_path), "openai", {}) == "sk-file"
    assert config.credential(str(tmp_path), "openai", {"OPENAI_API_KEY": "sk-env"}) == "sk-env"
    assert config.credential(str(tmp_path), "other", {}) is None

    for mode in (0o640, 0o604):
        file.chmod(mode)
        with pytest.raises(HomeError, match="others can read") as caught:
            config.credential(str(tmp_path), "openai", {})
        assert caught.value.mend == f"chmod 600 {file}"


@pytest.mark.parametrize(
    "text", ["[openai]\nkey = sk-bare", 'openai = "sk-flat"', "[openai]\nkey = 5"]
)
def test_a_file_of_keys_that_is_none_is_refused_unseen(tmp_path: Path, text: str) -> None:
    file = tmp_path / "credentials.toml"
    file.write_text(text, "utf-8")
    file.chmod(0o600)

    with pytest.raises(ConfigError, match="no file of keys") as caught:
        config.credential(str(tmp_path), "openai", {})

    assert "sk-" not in caught.value.message + caught.value.mend
    assert caught.value.__cause__ is None


def test_keys_that_others_can_read_are_not_used_and_recall_says_so(
    opened: Callable[[], Memory], place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with opened() as memory:
        file = Path(memory.home) / "credentials.toml"
        file.write_text(f'[openai]\nkey = "{KEY}"\n', "utf-8")
        file.chmod(0o644)
        memory.store(LIGHT)
        answer = memory.recall("lighthouse")
        assert answer.hits
        assert "others can read" in answer.notes[0]
    assert not place.behaviour.requests


def test_what_was_said_to_ringwood_counts_more_than_what_was_said_to_others(tmp_path: Path) -> None:
    home, others = str(tmp_path), {"OLLAMA_HOST": "10.0.0.1"}
    assert config.setting(home, "embed.ollama_url").value is None
    assert config.load(home, others).embed.ollama_url == "10.0.0.1"

    config.set_value(home, "embed.ollama_url", "http://10.0.0.2:11434")
    assert config.load(home, others).embed.ollama_url == "http://10.0.0.2:11434"
    own = others | {"RINGWOOD_EMBED_OLLAMA_URL": "http://10.0.0.3"}
    assert config.load(home, own).embed.ollama_url == "http://10.0.0.3"


@pytest.mark.parametrize("url", [f"http://me:{KEY}@host/v1", f"http://host/v1?api_key={KEY}", KEY])
def test_a_key_in_a_servers_address_is_neither_written_down_nor_shown(
    url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = ["config", "--home", str(tmp_path)]
    assert run([*shown, "embed.openai_url", url]) == 2
    assert not (tmp_path / "config.toml").exists()
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    assert run(shown) == run([*shown, "--json"]) == 0
    told = capsys.readouterr()
    assert "OPENAI_BASE_URL" in told.out
    assert KEY not in told.out + told.err
    assert run([*shown, "embed.openai_url", "http://host/v1"]) == 0
    assert run([*shown, "embed.ollama_url", "host"]) == 0


def test_the_log_for_debugging_holds_no_header_of_an_answer(tmp_path: Path) -> None:
    with serving(mode="moved") as place:
        place.behaviour.elsewhere = f"{place.url}/elsewhere?key={KEY}"
        call = [sys.executable, "-m", "ringwood", "--home", str(tmp_path), "--debug"]
        done = subprocess.run(
            [*call, "store", "-", "--embedder", "openai:fake"],
            input="# Oak\n\nThe oak is old.",
            env=os.environ | {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{place.url}/v1"},
            capture_output=True,
            text=True,
            check=True,
        )
    assert "ringwood.write.catch_up" in done.stderr
    assert KEY not in done.stderr + done.stdout
