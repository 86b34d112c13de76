"""Embedders on a server: the right rows when it behaves, the right error soon when it does not."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.embed.server import KEY, Place, serving

from ringwood.embed.base import FloatRows
from ringwood.embed.hashing import HashingEmbedder
from ringwood.embed.remote.embedder import RemoteEmbedder, _batches
from ringwood.errors import EmbedderError

TEXTS = ["The heron stood in the pond.", "会议改到周五。", "def f(x): return x"]


@pytest.fixture
def place() -> Iterator[Place]:
    with serving() as served:
        yield served


@pytest.fixture(params=["ollama", "openai"])
def embedder(request: pytest.FixtureRequest, place: Place) -> RemoteEmbedder:
    return place.embedder(f"{request.param}:fake")


@pytest.fixture
def plain(place: Place) -> RemoteEmbedder:
    return place.embedder()


def are_rows_of(rows: FloatRows, texts: list[str]) -> bool:
    """Say whether rows are what the server computes, in order and of unit length."""
    expected = HashingEmbedder(rows.shape[1]).embed_passages(texts)
    return rows.dtype == np.float32 and bool(np.allclose(rows, expected, atol=1e-6))


def test_rows_come_in_order_and_of_unit_length(embedder: RemoteEmbedder) -> None:
    rows = embedder.embed_passages(TEXTS)

    assert are_rows_of(rows, TEXTS)
    assert not are_rows_of(rows[::-1], TEXTS), "the control"
    assert are_rows_of(embedder.embed_query(TEXTS[1])[None], [TEXTS[1]])


def test_no_text_gives_no_row(plain: RemoteEmbedder) -> None:
    assert plain.embed_passages([]).shape == (0, 64)


@pytest.mark.parametrize("dim", [64, 256, 384, 768, 1024, 3072])
def test_any_dimension_will_do(dim: int) -> None:
    with serving(dim=dim) as place:
        embedder = place.embedder()
        assert are_rows_of(embedder.embed_passages(TEXTS), TEXTS)
        assert embedder.embed_query("a").shape == (dim,)


def test_ollama_is_told_not_to_truncate(place: Place) -> None:
    embedder = place.embedder("ollama:fake")
    embedder.embed_passages(["a"])

    assert place.behaviour.requests[-1]["truncate"] is False
    assert place.behaviour.requests[-1]["path"] == "/api/embed"


def test_the_key_goes_to_openai_and_not_to_ollama(place: Place) -> None:
    for provider in ("ollama", "openai"):
        embedder = place.embedder(f"{provider}:fake")
        embedder.embed_passages(["a"])

    by_ollama, by_openai = (each["headers"] for each in place.behaviour.requests)
    assert "Authorization" not in by_ollama
    assert by_openai["Authorization"] == f"Bearer {KEY}"


def test_a_model_gets_the_prefixes_that_its_name_calls_for(place: Place) -> None:
    for name, query, passage in (
        ("ollama:fake", "q", "p"),
        ("ollama:fake:nomic-embed-text", "search_query: q", "search_document: p"),
    ):
        embedder = place.embedder(name)
        embedder.embed_query("q")
        embedder.embed_passages(["p"])
        assert place.behaviour.texts[-2:] == [query, passage]


def test_texts_go_in_batches_by_number_and_by_characters(place: Place) -> None:
    embedder = place.embedder(batch=4)
    texts = [f"text {number}" for number in range(10)]
    assert are_rows_of(embedder.embed_passages(texts), texts)
    assert [len(each["input"]) for each in place.behaviour.requests] == [4, 4, 2]

    place.behaviour.requests.clear()
    long = [f"{number} " * 700 for number in range(8)]
    embedder.embed_passages(long)
    sizes = [sum(map(len, each["input"])) for each in place.behaviour.requests]
    assert max(sizes) <= 8_000
    assert len(sizes) > 1


def test_a_batch_that_is_too_large_is_halved(embedder: RemoteEmbedder, place: Place) -> None:
    place.behaviour.max_texts = 4
    texts = [f"text {number}" for number in range(11)]

    assert are_rows_of(embedder.embed_passages(texts), texts)
    assert max(len(each["input"]) for each in place.behaviour.requests) == 11, "the control"


def test_a_text_that_is_too_long_is_embedded_in_parts_and_the_log_says_so(
    embedder: RemoteEmbedder, place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    place.behaviour.max_chars = 200
    long = "alpha beta gamma " * 40
    rows = embedder.embed_passages(["short", long, "also short"])

    assert are_rows_of(rows[[0, 2]], ["short", "also short"])
    whole = HashingEmbedder(64).embed_passages([long])[0]
    assert rows[1] @ whole > 0.95, "made of all its parts"
    assert np.linalg.norm(rows[1]) == pytest.approx(1.0, abs=1e-6)
    embedder.embed_passages([long])
    (told,) = [each.getMessage() for each in caplog.records if "parts" in each.getMessage()]
    assert "alpha" not in told


def test_a_text_that_is_too_long_even_in_parts_is_an_error_that_says_so(
    plain: RemoteEmbedder, place: Place
) -> None:
    place.behaviour.max_chars = 3

    with pytest.raises(EmbedderError, match="takes no text of"):
        plain.embed_passages(["alpha beta gamma " * 40])


@pytest.mark.parametrize(
    ("mode", "message", "mend"),
    [
        ("wrong_key", "answered 401: Incorrect API key", "OPENAI_API_KEY"),
        ("quota", "answered 429", ""),
        ("moved", "sends requests on to 192.0.2.1", "base URL"),
        ("garbage", "no JSON", "base URL"),
        ("login", "a web page that is no JSON", "base URL"),
        ("other_shape", "without 'data'", "/v1"),
        ("unnumbered", "without 'data'", "/v1"),
        ("huge", "more than 32 MB", ""),
        ("packed", "packed, unasked", ""),
        ("nan", "not finite", ""),
        ("infinite", "not finite", ""),
        ("zero", "zero", ""),
        ("fewer", "2 vectors for 3 texts", ""),
        ("more", "4 vectors for 3 texts", ""),
        ("ragged", "no lists of numbers", ""),
        ("strings", "no lists of numbers", ""),
        ("nothing", "no lists of numbers", ""),
        ("empty", "no vectors", ""),
    ],
)
def test_what_no_second_attempt_can_mend_is_told_at_once(
    plain: RemoteEmbedder, place: Place, mode: str, message: str, mend: str
) -> None:
    place.behaviour.mode = mode
    place.behaviour.elsewhere = "http://192.0.2.1/v1/embeddings"

    with pytest.raises(EmbedderError, match=message) as caught:
        plain.embed_passages(TEXTS)

    assert mend in caught.value.mend
    assert len(place.behaviour.requests) == 1
    place.behaviour.mode = "ok"
    assert are_rows_of(plain.embed_passages(TEXTS), TEXTS), "the next call is served"


@pytest.mark.parametrize("mode", ["garbage", "other_shape", "nan", "fewer", "ragged"])
def test_ollama_is_believed_no_more_than_others(place: Place, mode: str) -> None:
    embedder = place.embedder("ollama:fake")
    place.behaviour.mode = mode

    with pytest.raises(EmbedderError):
        embedder.embed_passages(TEXTS)


@pytest.mark.parametrize(
    ("name", "mend"),
    [("ollama:bge-m3", "ollama pull bge-m3"), ("openai:bge-m3", "has a model 'bge-m3'")],
)
def test_an_unknown_model_is_named_with_what_makes_it_known(
    place: Place, name: str, mend: str
) -> None:
    with pytest.raises(EmbedderError, match="answered 404: model 'bge-m3' not found") as caught:
        place.embedder(name).embed_passages(["a"])

    assert mend in caught.value.mend
    assert len(place.behaviour.requests) == 1, "asked once"


@pytest.mark.parametrize("mode", ["broken", "overloaded", "limited", "resets", "page"])
def test_passages_are_tried_again_where_that_can_help(
    plain: RemoteEmbedder, place: Place, mode: str
) -> None:
    place.behaviour.mode, place.behaviour.times = mode, 1

    assert are_rows_of(plain.embed_passages(TEXTS), TEXTS)
    assert len(place.behaviour.requests) == 2


def test_a_server_that_stays_broken_is_given_up_after_four_attempts(
    plain: RemoteEmbedder, place: Place
) -> None:
    place.behaviour.mode = "broken"

    with pytest.raises(EmbedderError, match="answered 500: internal error"):
        plain.embed_passages(TEXTS)
    assert len(place.behaviour.requests) == 4


@pytest.mark.parametrize("mode", ["broken", "overloaded", "limited", "resets"])
def test_a_question_is_asked_once(plain: RemoteEmbedder, place: Place, mode: str) -> None:
    place.behaviour.mode = mode

    with pytest.raises(EmbedderError):
        plain.embed_query("a", timeout_s=5.0)
    assert len(place.behaviour.requests) == 1


def test_a_server_that_asks_to_wait_is_waited_for(plain: RemoteEmbedder, place: Place) -> None:
    place.behaviour.mode, place.behaviour.times = "limited", 1
    place.behaviour.retry_after = "1"
    began = time.monotonic()

    plain.embed_passages(TEXTS)

    assert time.monotonic() - began > 0.95


def test_a_server_that_asks_to_wait_for_long_is_left_alone_so_long(place: Place) -> None:
    embedder = place.embedder()
    place.behaviour.mode, place.behaviour.times = "limited", 1
    place.behaviour.retry_after = "3000"

    for _ in range(3):
        with pytest.raises(EmbedderError, match="429"):
            embedder.embed_passages(TEXTS)
    assert len(place.behaviour.requests) == 1


@pytest.mark.parametrize("mode", ["hangs", "drips"])
def test_a_question_keeps_its_deadline_whatever_the_server_does(
    plain: RemoteEmbedder, place: Place, mode: str
) -> None:
    place.behaviour.mode = mode
    began = time.monotonic()

    with pytest.raises(EmbedderError, match="in time"):
        plain.embed_query("a", timeout_s=0.3)
    assert time.monotonic() - began < 3.0


def test_a_slow_server_is_waited_for(plain: RemoteEmbedder, place: Place) -> None:
    place.behaviour.mode = "slow"

    assert are_rows_of(plain.embed_query(TEXTS[0])[None], TEXTS[:1])


def test_a_dead_server_costs_one_attempt_and_not_one_per_recall(place: Place) -> None:
    embedder = place.embedder(pause_s=60.0)
    embedder.embed_query("a")
    place.behaviour.mode = "hangs"

    for _ in range(20):
        with pytest.raises(EmbedderError, match="in time"):
            embedder.embed_query("a", timeout_s=0.5)

    assert len(place.behaviour.requests) == 2
    place.behaviour.mode = "ok"
    assert are_rows_of(embedder.embed_passages(TEXTS), TEXTS), "texts are in less of a hurry"


def test_a_server_too_slow_for_a_hook_is_not_too_slow_for_who_asked(place: Place) -> None:
    embedder = place.embedder(pause_s=60.0)
    embedder.embed_query("a")
    place.behaviour.mode = "slow"

    with pytest.raises(EmbedderError, match="in time"):
        embedder.embed_query("a", timeout_s=0.05)
    assert embedder.embed_query("a", timeout_s=20.0).shape == (64,)


def test_a_model_that_was_asleep_is_awake_for_the_next_question(place: Place) -> None:
    embedder = place.embedder(pause_s=60.0)
    place.behaviour.mode, place.behaviour.times = "slow", 1
    with pytest.raises(EmbedderError, match="in time"):
        embedder.embed_query("a", timeout_s=0.05)

    end = time.monotonic() + 10.0
    while time.monotonic() < end:
        with suppress(EmbedderError):
            assert embedder.embed_query("b", timeout_s=0.05).shape == (64,)
            break
        time.sleep(0.05)
    else:
        pytest.fail("the pause lasts though the server answered")


def test_after_its_pause_a_server_is_asked_again(place: Place) -> None:
    embedder = place.embedder(pause_s=0.2)
    place.stop()
    with pytest.raises(EmbedderError, match="cannot be reached"):
        embedder.embed_query("a")
    place.start()
    with pytest.raises(EmbedderError, match="cannot be reached"):
        embedder.embed_query("a")

    time.sleep(0.25)

    assert are_rows_of(embedder.embed_query(TEXTS[0])[None], TEXTS[:1])


def test_a_text_that_breaks_the_server_does_not_shut_out_others(place: Place) -> None:
    embedder = place.embedder(pause_s=60.0)
    place.behaviour.refused = "poison"

    with pytest.raises(EmbedderError, match="500"):
        embedder.embed_passages(["poison"])
    assert are_rows_of(embedder.embed_passages(TEXTS), TEXTS)


def test_a_proxy_of_the_environment_is_not_asked_for_this_machines_servers(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    assert are_rows_of(place.embedder().embed_query(TEXTS[0])[None], TEXTS[:1])


@pytest.mark.parametrize("host", ["x" * 70, "-", "a..b", "xn--"])
def test_a_host_that_no_server_can_have_is_an_embedders_error(place: Place, host: str) -> None:
    embedder = place.embedder(openai_url=f"http://{host}.invalid/v1")

    with pytest.raises(EmbedderError):
        embedder.embed_query("a", timeout_s=5.0)


@given(st.lists(st.text(max_size=3_000), min_size=1, max_size=40), st.integers(1, 8))
def test_batches_hold_every_text_once_and_keep_their_bounds(texts: list[str], most: int) -> None:
    batches = list(_batches(texts, most))

    assert [text for batch in batches for text in batch] == texts
    assert all(1 <= len(batch) <= most for batch in batches)
    assert all(len(batch) == 1 or sum(map(len, batch)) <= 8_000 for batch in batches)


def test_threads_get_the_rows_of_their_own_texts(plain: RemoteEmbedder) -> None:
    def both(turn: int) -> bool:
        texts = [f"passage {turn} {each}" for each in range(5)]
        rows = plain.embed_passages(texts)
        question = plain.embed_query(f"question {turn}")
        return are_rows_of(rows, texts) and are_rows_of(question[None], [f"question {turn}"])

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(both, range(40)))


def test_connections_are_kept_and_used_again(place: Place, plain: RemoteEmbedder) -> None:
    for _ in range(5):
        plain.embed_query("a")

    ports = {each["port"] for each in place.behaviour.requests}
    assert len(ports) == 1


def test_closing_ends_a_call_under_way_and_all_later_ones(
    plain: RemoteEmbedder, place: Place
) -> None:
    place.behaviour.mode = "hangs"
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(plain.embed_passages, TEXTS)
        while not place.behaviour.requests:
            time.sleep(0.01)
        began = time.monotonic()
        plain.close()
        with pytest.raises(EmbedderError, match="closed"):
            waiting.result()
    assert time.monotonic() - began < 3.0
    plain.close()
    with pytest.raises(EmbedderError, match="closed"):
        plain.embed_query("a")
