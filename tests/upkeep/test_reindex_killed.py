"""Five thousand nodes go over to another embedder while others ask; whoever does it is killed."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import sleep

import pytest
from tests.upkeep.going_over import DIMS, by_one_embedder
from tests.upkeep.reindexing import QUERIES, SAID_AT, SUBJECTS, answers

from ringwood import config
from ringwood.memory import Memory

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
BOOKS, PARAGRAPHS = 50, 100
KILLS = 5
MOST_STEPS = 10
"""After which it is killed at the latest; all of them together are fifty of the eighty it takes."""
ASKED = 50
"""Recalls after the home went over, of which none may go by the old vectors."""
OLD, NEW = (f"hashing:{dim}" for dim in DIMS)


def book(number: int) -> str:
    """Write a document of a hundred paragraphs, no two of them alike."""
    chance = random.Random(number)
    lines = [
        f"The {chance.choice(SUBJECTS)} of {chance.choice(SUBJECTS)} {number} was seen on day"
        f" {at} near gate {chance.randrange(9)} with {chance.choice(SUBJECTS)}."
        for at in range(PARAGRAPHS)
    ]
    return "\n\n".join([f"# Book {number}", *lines])


def filled(home: Path, embedder: str) -> Path:
    """Fill a home in which storing links nothing: all edges are a dream's."""
    home.mkdir()
    for key in ("link.recent", "link.lexical", "reindex.rest"):
        config.set_value(str(home), key, "0")
    config.set_value(str(home), "mirror.enabled", "false")
    with Memory.open(home, embedder=embedder, wait_s=300.0) as memory:
        for number in range(BOOKS):
            memory.store(book(number), source=f"book {number}", at=SAID_AT)
        assert memory.wait(300.0)
        if embedder != "words":
            memory.dream()
    return home


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home under the old embedder, to which it went over from words. Copied for each test."""
    home = filled(tmp_path_factory.mktemp("old") / "home", "words")
    with Memory.open(home) as memory:
        assert memory.reindex(OLD).embedded >= BOOKS * PARAGRAPHS
    return home


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """What a home answers that was filled with the new one."""
    with Memory.open(filled(tmp_path_factory.mktemp("new") / "home", NEW)) as memory:
        return [*answers(memory, QUERIES)]


@pytest.fixture
def home(old: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(old, tmp_path / "home"))


@contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start a process of `going_over`, and wait until it goes."""
    command = [sys.executable, "-m", "tests.upkeep.going_over", *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "go\n"
            yield process
        finally:
            process.kill()


def follow(process: subprocess.Popen[str], until: str) -> bool:
    """Read what a process says until it says this; False when it ended before."""
    assert process.stdout is not None
    return any(line.startswith(until) for line in process.stdout)


def test_a_home_goes_over_while_others_ask_though_whoever_does_it_is_killed(
    home: Path, expected: list[object]
) -> None:
    chance = random.Random(8)
    filled_in = [0]
    with ExitStack() as stack:
        memory = stack.enter_context(Memory.open(home, wait_s=0.0))
        assert memory.reindexing().coverage.nodes >= BOOKS * PARAGRAPHS
        asker = stack.enter_context(running("ask", str(home)))
        for _ in range(KILLS):
            with running("over", str(home), NEW) as process:
                for _ in range(chance.randint(1, MOST_STEPS)):
                    assert follow(process, "nodes")
                sleep(chance.random() * 0.05)  # anywhere within a step, not only at its end
            filled_in.append(memory.reindexing().coverage.vectors)
            answer = memory.recall(QUERIES[0], floor=0.0, counted=False)
            assert (by_one_embedder(answer), answer.notes) == (DIMS[0], ())
        with running("over", str(home), NEW) as last:
            assert follow(last, "links"), "the moment after the switch"
        assert memory.reindexing().current == NEW
        assert memory.reindexing().wanted == NEW, "killed before it had compared anew"
        with running("over", str(home), NEW) as last:
            assert last.wait(120.0) == 0
        for _ in range(ASKED):
            answer = memory.recall(QUERIES[1], floor=0.0, counted=False)
            assert (by_one_embedder(answer), answer.notes) == (DIMS[1], ())
        (home / "stop").touch()
        told = json.loads(asker.communicate(timeout=60.0)[0])

        assert told["wrong"] == []
        assert told["asked"]["0"] == 0, "no answer was measured by both, or by none"
        assert told["asked"][str(DIMS[0])] > 0
        assert told["asked"][str(DIMS[1])] > 0
        assert filled_in == sorted(set(filled_in)), "each got further, and nothing was lost"
        for found, wanted in zip(answers(memory, QUERIES), expected, strict=True):
            assert found == wanted


def test_the_same_test_tells_the_two_embedders_apart(home: Path, expected: list[object]) -> None:
    with Memory.open(home, wait_s=0.0) as memory:
        recalls = [memory.recall(query, floor=0.0) for query in QUERIES]
        assert [by_one_embedder(answer) for answer in recalls] == [DIMS[0]] * len(QUERIES)
        assert answers(memory, QUERIES) != expected


def test_going_to_and_fro_and_dropping_the_old_spoils_no_recall(home: Path) -> None:
    with running("ask", str(home)) as asker, Memory.open(home, wait_s=0.0) as memory:
        for name in (NEW, OLD, NEW):
            assert memory.reindex(name, drop_old=True).dropped > BOOKS * PARAGRAPHS
        (home / "stop").touch()
        told = json.loads(asker.communicate(timeout=60.0)[0])

    assert told["wrong"] == []
    assert told["asked"]["0"] == 0
    assert min(told["asked"][str(dim)] for dim in DIMS) > 0
