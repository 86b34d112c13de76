"""The bundled model behind its worker process: real model, real processes, real signals."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ringwood.embed import providers, shipped
from ringwood.embed.bundled import BundledEmbedder
from ringwood.errors import EmbedderError

NOTES = [
    "The heron came back to the pond.",
    "Invoices arrive in the wrong currency when the order was placed by phone.",
    "夜间备份失败是因为磁盘满了。",
    "Rotate the access token when a contractor leaves.",
]
IN_A_THREAD = """
texts = ["a note that takes a while"] * 5_000
threading.Thread(target=embedder.embed_passages, args=(texts,), daemon=True).start()
time.sleep(0.2)
"""
MANY = [f"{note} Note number {number}." for number in range(50) for note in NOTES]


@pytest.fixture(scope="module")
def embedder() -> Iterator[BundledEmbedder]:
    """Workers for the tests that do them no harm."""
    made = BundledEmbedder()
    yield made
    made.close()


@pytest.fixture
def own() -> Iterator[BundledEmbedder]:
    """Workers of its own for a test that harms them."""
    made = BundledEmbedder()
    yield made
    made.close()


def query_worker(embedder: BundledEmbedder) -> int:
    """The process id of the worker for queries, which runs from now on."""
    if embedder.worker_pids[0] is None:
        embedder.embed_query("warm")
    pid, _ = embedder.worker_pids
    assert pid is not None
    return pid


def passage_worker(embedder: BundledEmbedder) -> int:
    """The process id of the worker for passages, which runs from now on."""
    if embedder.worker_pids[1] is None:
        embedder.embed_passages(["warm"])
    _, pid = embedder.worker_pids
    assert pid is not None
    return pid


def is_running(pid: int) -> bool:
    """Whether the process is there and no zombie: a container's init may not collect those."""
    shown = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return shown.stdout.strip() != "" and not shown.stdout.strip().startswith("Z")


def ends_within(pid: int, seconds: float) -> bool:
    """Wait for a process to end."""
    until = time.monotonic() + seconds
    while is_running(pid) and time.monotonic() < until:
        time.sleep(0.05)
    return not is_running(pid)


def test_rows_are_unit_and_a_question_is_closest_to_its_answer(embedder: BundledEmbedder) -> None:
    rows = embedder.embed_passages(NOTES)
    question = embedder.embed_query("which bird was seen at the water?")

    assert rows.shape == (len(NOTES), embedder.dim)
    assert rows.dtype == question.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0, abs=1e-5)
    assert int(np.argmax(rows @ question)) == 0


def test_a_text_gets_the_same_vector_alone_and_in_a_batch(embedder: BundledEmbedder) -> None:
    together = embedder.embed_passages(MANY[:12])

    alone = np.concatenate([embedder.embed_passages([text]) for text in MANY[:12]])

    assert np.abs(together - alone).max() < 1e-3


def test_questions_and_passages_are_told_apart_exactly_once(embedder: BundledEmbedder) -> None:
    passage = embedder.embed_passages(["heron"])[0]
    question = embedder.embed_query("heron")
    with_prefix_of_ours = embedder.embed_query("query: heron")

    assert passage @ question < 0.999
    assert question @ with_prefix_of_ours < 0.999


@pytest.mark.parametrize(
    "text", ["", " \n", "a\0b", "\ud800", "\ud83d\ude00", "word " * 6_000, "备份" * 300]
)
def test_any_text_gives_a_finite_unit_row(embedder: BundledEmbedder, text: str) -> None:
    rows = embedder.embed_passages([text])

    assert np.linalg.norm(rows[0]) == pytest.approx(1.0, abs=1e-5)


def test_what_follows_a_nul_is_read(embedder: BundledEmbedder) -> None:
    cut, whole = embedder.embed_passages(["heron", "heron\0 invoice currency"])

    assert cut @ whole < 0.999


def test_no_text_gives_no_row_and_needs_no_worker() -> None:
    embedder = BundledEmbedder()

    assert embedder.embed_passages([]).shape == (0, embedder.dim)
    assert embedder.worker_pids == (None, None)
    embedder.close()


def test_threads_that_mix_questions_and_passages_get_what_one_alone_gets(
    embedder: BundledEmbedder,
) -> None:
    questions = np.stack([embedder.embed_query(text) for text in NOTES])
    passages = embedder.embed_passages(NOTES)

    def both(turn: int) -> bool:
        question = embedder.embed_query(NOTES[turn % 4])
        rows = embedder.embed_passages(NOTES)
        return np.allclose(question, questions[turn % 4], atol=1e-3) and np.allclose(
            rows, passages, atol=1e-3
        )

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(both, range(8)))


def test_a_question_does_not_wait_for_passages_and_closing_stops_them(
    own: BundledEmbedder,
) -> None:
    with ThreadPoolExecutor(1) as background:
        passages = background.submit(own.embed_passages, MANY * 5)
        time.sleep(0.3)

        own.embed_query("which bird was seen?")

        assert not passages.done(), "1,000 passages take many seconds"
        own.close()
        with pytest.raises(EmbedderError):
            passages.result(timeout=60)
    with pytest.raises(EmbedderError, match="closed"):
        own.embed_query("more")


def test_closing_does_not_wait_for_a_worker_that_hangs(own: BundledEmbedder) -> None:
    os.kill(passage_worker(own), signal.SIGSTOP)
    with ThreadPoolExecutor(1) as background:
        passages = background.submit(own.embed_passages, NOTES)
        time.sleep(0.2)

        own.close()

        with pytest.raises(EmbedderError, match="died"):
            passages.result(timeout=60)


def test_closing_twice_is_fine_and_leaves_no_process(own: BundledEmbedder) -> None:
    pids = query_worker(own), passage_worker(own)

    own.close()
    own.close()

    assert not any(is_running(pid) for pid in pids)
    assert own.worker_pids == (None, None)


def test_a_worker_killed_in_mid_batch_fails_that_call_and_not_the_next(
    own: BundledEmbedder,
) -> None:
    before = own.embed_passages(NOTES)
    with ThreadPoolExecutor(1) as background:
        passages = background.submit(own.embed_passages, MANY)
        time.sleep(0.2)

        os.kill(passage_worker(own), signal.SIGKILL)

        with pytest.raises(EmbedderError, match="died"):
            passages.result(timeout=60)
    assert own.embed_passages(NOTES) == pytest.approx(before, abs=1e-3)


def test_a_stopped_worker_is_late_and_its_late_answer_is_not_taken_for_another(
    own: BundledEmbedder,
) -> None:
    expected = own.embed_query(NOTES[1])
    os.kill(query_worker(own), signal.SIGSTOP)

    for _ in range(2):
        with pytest.raises(EmbedderError, match="within the time"):
            own.embed_query(NOTES[0], timeout_s=0.2)

    os.kill(query_worker(own), signal.SIGCONT)
    assert own.embed_query(NOTES[1]) == pytest.approx(expected, abs=1e-3)


def test_a_question_in_a_hurry_does_not_wait_for_the_model_to_load() -> None:
    embedder = BundledEmbedder()

    with pytest.raises(EmbedderError, match="within the time"):
        embedder.embed_query("now", timeout_s=0.001)
    pid, _ = embedder.worker_pids

    embedder.embed_query("and now?")
    assert embedder.worker_pids[0] == pid, "the worker that was loading is used"
    embedder.close()


def test_a_question_that_does_not_get_its_turn_in_time_says_so(own: BundledEmbedder) -> None:
    os.kill(query_worker(own), signal.SIGSTOP)
    with ThreadPoolExecutor(1) as background:
        first = background.submit(own.embed_query, NOTES[0])
        time.sleep(0.2)

        with pytest.raises(EmbedderError, match="busy"):
            own.embed_query("hello", timeout_s=0.2)

        os.kill(query_worker(own), signal.SIGCONT)
        assert first.result(timeout=60).shape == (own.dim,)


def test_a_worker_that_cannot_start_is_not_started_over_and_over() -> None:
    nowhere = dataclasses.replace(providers.installed(), name="nowhere")
    embedder = BundledEmbedder(provider=nowhere)

    for _ in range(2):
        with pytest.raises(EmbedderError, match="died"):
            embedder.embed_query("hello")
    with pytest.raises(EmbedderError, match="2 times in a row") as caught:
        embedder.embed_query("hello")

    assert "tried again in" in caught.value.mend
    time.sleep(0.6)
    with pytest.raises(EmbedderError, match="died"):
        embedder.embed_query("hello")
    embedder.close()


def test_ctrl_c_at_the_terminal_leaves_the_worker_to_its_client(own: BundledEmbedder) -> None:
    pid = query_worker(own)

    os.kill(pid, signal.SIGINT)

    own.embed_query("still there?")
    assert query_worker(own) == pid


def test_a_forked_child_embeds_with_a_worker_of_its_own(own: BundledEmbedder) -> None:
    expected = own.embed_query(NOTES[0])
    parents_worker = query_worker(own)

    child = os.fork()
    if child == 0:
        signal.alarm(20)  # a child that hangs dies, and the test with it
        same = np.allclose(own.embed_query(NOTES[0]), expected, atol=1e-3)
        apart = query_worker(own) != parents_worker
        own.close()
        os._exit(0 if same and apart else 1)
    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 0
    assert own.embed_query(NOTES[0]) == pytest.approx(expected, abs=1e-3)
    assert query_worker(own) == parents_worker


@pytest.mark.parametrize("beside", ["", IN_A_THREAD], ids=["idle", "busy"])
def test_a_forked_child_embeds_though_a_thread_it_does_not_have_holds_the_turn(
    beside: str,
) -> None:
    code = f"""
import os, signal, threading, time, warnings
from ringwood.embed.bundled import BundledEmbedder
# Newer Pythons warn of a fork beside threads, which is what this is about.
warnings.filterwarnings("ignore", category=DeprecationWarning)
embedder = BundledEmbedder()
embedder.embed_passages(["warm"])
{beside}
child = os.fork()
if child == 0:
    signal.alarm(20)
    embedder.embed_query("mine")
    embedder.close()
    os._exit(0)
os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    command = [sys.executable, "-W", "default", "-c", code]

    done = subprocess.run(command, capture_output=True, timeout=40)

    assert done.returncode == 0
    assert done.stderr == b"", "the child lets go of the parent's worker in order"


@pytest.mark.parametrize("beside", ["", IN_A_THREAD], ids=["idle", "busy"])
def test_the_worker_dies_with_its_parent_though_a_forked_child_lives(beside: str) -> None:
    code = f"""
import os, threading, time, warnings
from ringwood.embed.bundled import BundledEmbedder
warnings.simplefilter("ignore")
embedder = BundledEmbedder()
embedder.embed_passages(["warm"])
{beside}
child = os.fork()
if child == 0:
    time.sleep(60)
    os._exit(0)
print(embedder.worker_pids[1], child, flush=True)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        worker, child = (int(word) for word in parent.stdout.readline().split())
        time.sleep(0.2)

        parent.kill()
        parent.wait()
        try:
            assert ends_within(worker, 5.0)
            assert is_running(child), "else this shows nothing"
        finally:
            os.kill(child, signal.SIGKILL)


def test_nothing_is_written_to_standard_output() -> None:
    code = """
from ringwood.embed.bundled import BundledEmbedder
embedder = BundledEmbedder()
embedder.embed_passages(["a note", ""])
embedder.close()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)

    assert (done.stdout, done.stderr) == (b"", b"")


def test_what_a_model_prints_does_not_reach_the_answers() -> None:
    code = """
import os
from ringwood.embed.worker import _claim_stdout
answers = _claim_stdout()
print("noise", flush=True)
os.write(1, b"more noise")
answers.write(b"answer")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)

    assert done.stdout == b"answer"
    assert done.stderr == b"noise\nmore noise"


def test_passages_run_at_low_priority_and_questions_do_not(own: BundledEmbedder) -> None:
    ours = os.getpriority(os.PRIO_PROCESS, os.getpid())

    assert os.getpriority(os.PRIO_PROCESS, query_worker(own)) == ours
    assert os.getpriority(os.PRIO_PROCESS, passage_worker(own)) == min(19, ours + 10)


def test_the_identity_names_the_weights_and_the_shipped_means_belong_to_them() -> None:
    embedder = BundledEmbedder()

    provider, model, dim, *_ = embedder.identity.split("/")

    assert "@" in model
    assert int(dim) == embedder.dim
    assert shipped.identity_of(provider) == embedder.identity
    assert all(mean.shape == (embedder.dim,) for mean in embedder.means.by_script.values())
    assert "" in embedder.means.by_script
    embedder.close()


def test_the_digest_from_the_record_is_that_of_the_file() -> None:
    provider = providers.installed()

    assert providers._digest_of_file(provider) == providers._weight_digest(provider)
