"""The client's end of a worker, against workers that misbehave."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator

import pytest

from ringwood.embed.process import ModelProcess
from ringwood.errors import EmbedderError

WORKER = """
import os, struct, sys, time
def say(kind, payload=b""):
    write(struct.pack(">cI", kind, len(payload)) + payload)
def write(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
def hear():
    (size,) = struct.unpack(">I", sys.stdin.buffer.read(4))
    return sys.stdin.buffer.read(size)
def row(*cells):
    return struct.pack("=%df" % len(cells), *cells)
"""

Start = Callable[[str], ModelProcess]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start workers of two columns from their script; each is ended with the test."""
    started = []

    def begin(script: str) -> ModelProcess:
        command = [sys.executable, "-c", WORKER + script]
        started.append(ModelProcess(command, 2, silence_s=0.5))
        return started[-1]

    yield begin
    for process in started:
        process.close()


def ask(process: ModelProcess) -> list[list[float]]:
    """Ask for the row of one text."""
    rows: list[list[float]] = process.ask(["text"], query=False, deadline=None).tolist()
    return rows


def test_rows_arrive_whole_however_they_are_cut(start: Start) -> None:
    process = start("""
say(b"R")
hear()
for byte in struct.pack(">cI", b"V", 8) + row(0, 1):
    write(bytes([byte]))
    time.sleep(0.005)
time.sleep(60)
""")

    assert ask(process) == [[0.0, 1.0]]


def test_rows_that_are_nearly_of_unit_length_are_made_so(start: Start) -> None:
    process = start('say(b"R"); hear(); say(b"V", row(0, 1.0005)); hear()')

    assert ask(process) == [[0.0, 1.0]]


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ('say(b"R"); hear(); say(b"V", row(float("nan"), 1))', "unit length"),
        ('say(b"R"); hear(); say(b"V", row(3, 4))', "unit length"),
        ('say(b"R"); hear(); say(b"V", row(0, 1, 0))', "12 bytes for 1 texts"),
        ('say(b"R"); hear(); write(b"Traceback (most recent call last)")', "nonsense"),
        ('write(struct.pack(">cI", b"R", 2**31))', "nonsense"),
        ('say(b"E", b"ImportError: no libgomp")', "could not load its model (ImportError"),
        ('say(b"R"); hear(); write(b"V")', "died (exit status 0)"),
        ('say(b"R"); hear(); sys.exit(7)', "died (exit status 7)"),
        ('say(b"R"); hear(); os.kill(os.getpid(), 9)', "died (exit status -9)"),
        ("sys.exit(3)", "died (exit status 3)"),
        ('say(b"R"); hear(); time.sleep(60)', "hung"),
    ],
)
def test_a_worker_that_misbehaves_is_ended_and_its_error_says_how(
    start: Start, script: str, says: str
) -> None:
    process = start(script if "died" in says else script + "\ntime.sleep(60)")

    with pytest.raises(EmbedderError) as caught:
        ask(process)

    assert says in caught.value.message
    assert process.gone
    with pytest.raises(EmbedderError, match="gone"):
        ask(process)
    with pytest.raises(ProcessLookupError):  # ended and collected: not even a zombie is left
        os.kill(process.pid, 0)


def test_a_text_that_the_model_refuses_costs_only_that_request(start: Start) -> None:
    process = start('say(b"R"); hear(); say(b"E", b"ValueError: x"); hear(); say(b"V", row(1, 0))')

    with pytest.raises(EmbedderError, match="refused: ValueError: x"):
        ask(process)

    assert not process.gone
    assert ask(process) == [[1.0, 0.0]]


def test_a_program_that_is_not_there_is_an_embedder_error() -> None:
    with pytest.raises(EmbedderError, match="did not start"):
        ModelProcess(["/nowhere/python"], 2)


def test_a_stopped_worker_is_ended_too(start: Start) -> None:
    process = start('say(b"R"); hear(); say(b"V", row(1, 0)); hear()')
    ask(process)
    os.kill(process.pid, signal.SIGSTOP)

    with pytest.raises(EmbedderError, match="hung"):
        ask(process)

    assert process.gone


def test_the_number_of_threads_reaches_the_worker() -> None:
    script = 'say(b"R"); hear(); say(b"E", os.environ["OMP_NUM_THREADS"].encode())'
    process = ModelProcess([sys.executable, "-c", WORKER + script], 2, threads=3)

    with pytest.raises(EmbedderError, match="refused: 3"):
        ask(process)
    process.close()


def test_texts_reach_the_worker_as_they_are(start: Start) -> None:
    process = start('say(b"R"); say(b"E", hear())')

    with pytest.raises(EmbedderError) as caught:
        process.ask(['a "quoted"\nline', "备份 😀"], query=True, deadline=None)

    assert '{"query": true, "texts": ["a \\"quoted\\"\\nline", "备份 😀"]}' in caught.value.message
