"""Knowing a server's model again: what a home keeps of it, and what happens when it changed."""

from __future__ import annotations

import logging
import subprocess
import sys
import traceback
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from tests.embed.server import DIGEST, KEY, Place, serving

from ringwood.embed.choose import Remembered, choose
from ringwood.embed.meaning import Meaning
from ringwood.embed.open import open_embedder
from ringwood.embed.options import EmbedOptions
from ringwood.embed.remote import embedder as remote
from ringwood.embed.remote.embedder import RemoteEmbedder
from ringwood.embed.remote.record import PROBES, Record
from ringwood.errors import ConfigError, EmbedderError

UNRELATED = (
    "The old bridge over the canal is closed until the first of June.",
    "Add a pinch of salt to the dough before it rises a second time.",
    "Her thesis compares how three kinds of bat find water at night.",
    "Nobody had told the new trainee where the spare keys are kept.",
    "Prices of copper fell again, which few had expected this week.",
)

IN_A_THREAD = """
threading.Thread(target=embedder.embed_passages, args=(["busy"],), daemon=True).start()
time.sleep(0.1)
"""
"""Holds what passages are embedded under, at the moment of the fork."""


@pytest.fixture
def place() -> Iterator[Place]:
    with serving(cone=0.1) as served:
        yield served


@pytest.fixture(scope="module")
def record() -> Record:
    """The model as it is met first."""
    with serving(cone=0.1) as place:
        return place.embedder().meet()


def test_a_model_is_met_by_its_probes_and_measured(record: Record) -> None:
    assert record.dim == 64
    assert record.probes.shape == (len(PROBES), 64)
    anchors = record.anchors
    assert anchors.background_median < anchors.background_p999 < anchors.duplicate_q1
    assert np.linalg.norm(record.means.by_script["Latin"]) > 0.3, "the cone is in the mean"


def test_a_record_is_read_as_it_was_written(record: Record) -> None:
    again = Record.loads(record.dumps())

    assert again is not None
    assert np.einsum("ij,ij->i", again.probes, record.probes).min() > 0.99999
    assert again.means.version == record.means.version
    assert again.anchors.duplicate_q1 == pytest.approx(record.anchors.duplicate_q1, abs=1e-4)
    assert len(record.dumps()) < 10_000


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "{}",
        "[]",
        "null",
        "nonsense",
        '{"dim": 64, "probes": "AAAA", "means": {}, "anchors": {}, "version": "", "identity": ""}',
    ],
)
def test_a_damaged_record_is_none(damage: str) -> None:
    assert Record.loads(damage) is None


def test_the_identity_tells_models_prefixes_and_digests_apart(place: Place, record: Record) -> None:
    embedders = [
        place.embedder("ollama:fake", record),
        place.embedder("ollama:fake:nomic-embed", record),
        place.embedder("openai:fake", record),
        place.embedder("openai:fake", record, query_prefix="Q: "),
        place.embedder("openai:fake", replace(record, digest="other")),
    ]

    assert len({each.identity for each in embedders}) == len(embedders)


def test_ollamas_own_digest_is_in_the_identity(place: Place) -> None:
    assert place.embedder("ollama:fake").identity == f"ollama/fake@{DIGEST[7:19]}/64/none/server"


def test_where_ollama_does_not_list_its_models_vectors_tell_them_apart(place: Place) -> None:
    place.behaviour.lists = False

    assert "fake@probes-" in place.embedder("ollama:fake").identity


def test_a_known_model_is_asked_three_texts_once_and_then_believed(
    place: Place, record: Record
) -> None:
    embedder = place.embedder(record=record)
    embedder.embed_query("one")
    embedder.embed_query("two")
    embedder.embed_passages(["three"])

    assert place.behaviour.texts == [*PROBES, "one", "two", "three"]


def test_vectors_that_differ_by_what_builds_differ_are_of_the_same_model(
    place: Place, record: Record
) -> None:
    place.behaviour.noise = 0.003
    embedder = place.embedder(record=record)

    assert embedder.embed_query("one").shape == (64,)


def test_another_model_behind_the_name_is_refused_and_its_rows_are_not_taken(
    place: Place, record: Record
) -> None:
    place.behaviour.model = 1
    embedder = place.embedder(record=record)

    with pytest.raises(EmbedderError, match="another model answers") as caught:
        embedder.embed_passages(["one"])
    assert "ringwood reindex" in caught.value.mend
    with pytest.raises(EmbedderError, match="another model answers"):
        embedder.embed_query("one")
    assert "one" not in place.behaviour.texts, "not even asked for"

    place.behaviour.model = 0
    assert embedder.embed_query("one").shape == (64,), "the model is back"


def test_another_dimension_is_refused_with_both_numbers(place: Place, record: Record) -> None:
    place.behaviour.dim = 32
    embedder = place.embedder(record=record)

    with pytest.raises(EmbedderError, match="32 numbers, and this home's have 64"):
        embedder.embed_query("one")


def test_a_model_that_changes_during_an_outage_is_noticed(place: Place, record: Record) -> None:
    embedder = place.embedder(record=record)
    embedder.embed_query("one")
    place.stop()
    with pytest.raises(EmbedderError, match="cannot be reached"):
        embedder.embed_query("one")
    place.behaviour.model = 1
    place.start()

    with pytest.raises(EmbedderError, match="another model answers"):
        embedder.embed_query("one")


def test_a_model_that_changes_without_an_outage_is_noticed_in_the_end(
    place: Place, record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = place.embedder(record=record)
    embedder.embed_query("one")
    place.behaviour.model = 1
    embedder.embed_query("one")

    monkeypatch.setattr(remote, "_CONFIRM_EVERY_S", 0.0)

    with pytest.raises(EmbedderError, match="another model answers"):
        embedder.embed_query("one")


def test_choosing_asks_no_server(record: Record) -> None:
    def opener(name: str) -> RemoteEmbedder:
        options = EmbedOptions(openai_url="http://127.0.0.1:9/v1", timeout_s=1.0)
        embedder = open_embedder(name, options=options)
        assert isinstance(embedder, RemoteEmbedder)
        return embedder

    fresh = choose("openai:fake", None, calibrated=True, opener=opener)
    assert fresh.unsettled is not None
    assert fresh.state == "pending"
    assert "has not answered yet" in fresh.notes[0]

    known = Remembered(
        "openai:fake", f"openai/fake@{record.digest}/64/none/server/ctx1", record.dumps()
    )
    chosen = choose(None, known, calibrated=True, opener=opener)
    assert chosen.unsettled is None
    assert chosen.meaning is not None
    assert chosen.meaning.identity == known.identity

    other = Remembered("openai:fake", "openai/fake@other/64/none/server/ctx1", record.dumps())
    refused = choose(None, other, calibrated=True, opener=opener)
    assert refused.meaning is None
    assert "ringwood reindex" in refused.notes[0]

    elsewhere = choose("openai:fake", Remembered("hashing", "x"), calibrated=True, opener=opener)
    assert elsewhere.unsettled is None
    assert "'hashing'" in elsewhere.notes[0]


def test_thresholds_mean_the_same_though_all_vectors_lean_to_one_side(
    place: Place, record: Record
) -> None:
    meaning = Meaning.of(place.embedder(record=record))
    rows = meaning.embedder.embed_passages([*UNRELATED, UNRELATED[0].replace("old", "very old")])
    raw = rows[-1] @ rows[:-1].T

    similar = meaning.to_others(rows[-1], "Latin", list(rows[:-1]), ["Latin"] * len(UNRELATED))

    assert np.median(raw[1:]) > 0.3, "the cone"
    assert similar[0] > 0.88
    assert max(similar[1:]) < 0.72


def test_opening_a_remote_embedder_imports_no_http_client() -> None:
    code = """
import sys
from ringwood.embed.open import open_embedder
from ringwood.embed.options import EmbedOptions
embedder = open_embedder("ollama:fake", options=EmbedOptions(ollama_url="http://127.0.0.1:9"))
assert not {"httpx2", "stamina"} & set(sys.modules)
embedder.close()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("beside", ["pass", IN_A_THREAD], ids=["idle", "busy"])
def test_a_forked_child_embeds_over_a_connection_of_its_own(place: Place, beside: str) -> None:
    code = f"""
import os, signal, sys, threading, time, warnings
import numpy as np
from ringwood.embed.open import open_embedder
from ringwood.embed.options import EmbedOptions
# Newer Pythons warn of a fork beside threads, which is what this is about.
warnings.filterwarnings("ignore", category=DeprecationWarning)
embedder = open_embedder("openai:fake", options=EmbedOptions(openai_url={f"{place.url}/v1"!r}))
mine = embedder.embed_query("one")
{beside}
child = os.fork()
if child == 0:
    signal.alarm(50)  # a child that hangs dies
    same = np.allclose(embedder.embed_query("one"), mine)
    same &= embedder.embed_passages(["two"]).shape == (1, 64)
    os._exit(0 if same else 1)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
assert np.allclose(embedder.embed_query("one"), mine), "the parent's line is its own still"
embedder.close()
os._exit(status)
"""
    place.behaviour.mode = "slow"

    done = subprocess.run(
        [sys.executable, "-W", "default", "-c", code], capture_output=True, timeout=120, check=False
    )

    assert done.returncode == 0, done.stderr
    assert done.stderr == b""
    assert len({each["port"] for each in place.behaviour.requests}) >= 2


@pytest.mark.parametrize("mode", ["wrong_key", "gossip"])
def test_neither_key_nor_text_is_in_an_error_or_a_log(
    place: Place, caplog: pytest.LogCaptureFixture, mode: str
) -> None:
    caplog.set_level(logging.DEBUG)
    place.behaviour.mode = mode
    embedder = place.embedder()
    text = "The treasure lies under the third oak."

    with pytest.raises(EmbedderError) as caught:
        embedder.embed_passages([text])

    told = [caught.value.message, caught.value.mend, repr(caught.value), repr(embedder)]
    told += traceback.format_exception(caught.value)
    told += [record.getMessage() + repr(record.__dict__) for record in caplog.records]
    assert not any(KEY in each or "third oak" in each for each in told)
    assert any(f"{place.url}/v1" in each for each in told), "the control: the server is named"


@pytest.mark.parametrize(
    "url",
    ["http://user:secret@host/v1", "http://host/v1?key=secret", "ftp://host", "host", "http://["],
)
def test_a_base_url_that_would_show_a_secret_or_is_none_is_refused_unseen(url: str) -> None:
    with pytest.raises(ConfigError, match=r"embed\.openai_url") as caught:
        open_embedder("openai:fake", options=EmbedOptions(openai_url=url), key_of=lambda name: KEY)

    assert "secret" not in caught.value.message + caught.value.mend


@pytest.mark.parametrize("key", ["sk-two words", "sk-line\nend", "sk-ключ", '"sk-quoted"'])
def test_a_key_that_no_header_takes_is_refused_unseen(key: str) -> None:
    with pytest.raises(EmbedderError, match="characters that no key has") as caught:
        open_embedder("openai:fake", key_of=lambda name: key)

    assert "sk-" not in caught.value.message + caught.value.mend


def test_openai_itself_wants_a_key_and_a_server_of_ones_own_does_not() -> None:
    with pytest.raises(EmbedderError, match="no key") as caught:
        open_embedder("openai:text-embedding-3-small")
    assert "OPENAI_API_KEY" in caught.value.mend

    own = open_embedder("openai:x", options=EmbedOptions(openai_url="http://127.0.0.1:9/v1"))
    assert own is not None
    own.close()


def test_a_model_is_met_in_full_batches(place: Place) -> None:
    place.embedder().meet()

    sizes = [len(each["input"]) for each in place.behaviour.requests]
    assert sum(sizes) > 500
    assert len(sizes) <= sum(sizes) // 32 + 4


@pytest.mark.parametrize("change", [{"dim": 32}, {"model": 1}])
@pytest.mark.parametrize("request_number", [2, 4, 10])
def test_a_model_that_changes_while_it_is_met_is_met_anew(
    place: Place, change: dict[str, int], request_number: int
) -> None:
    place.behaviour.changes[request_number] = change
    embedder = place.embedder()

    with pytest.raises(EmbedderError, match="another model"):
        embedder.meet()
    assert embedder.record is None

    assert embedder.meet().dim == place.behaviour.dim
    assert embedder.embed_passages(["The heron stood in the pond."]).shape[0] == 1
