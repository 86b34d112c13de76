"""What was said is kept: once, whole, clean, and whatever else goes wrong.

Numbers are those of the public reports (kind CAPTURE); the ids are of the list of faults.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cases.commands import Command
from tests.cases.speaking import converse, say

from ringwood.capture import consent, spool
from ringwood.memory import Memory

TOKEN = "glpat-" + "Qx7Rv2" * 4


def held(memory: Memory) -> list[str]:
    """Return the texts of every document."""
    return [memory.read(each.path).source for each in memory.recent(limit=1_000)]


def spoil(home: str, name: str) -> None:
    """Tear a file of the spool as a disk does."""
    path = Path(home) / spool.SPOOL_FOLDER / name
    path.write_bytes(path.read_bytes()[:20])


def test_one_bad_event_takes_nothing_with_it(words: Memory) -> None:  # 109
    for number in range(10):
        converse(words.home, f"Question {number} about kilns?", "Fire it.", session=f"s{number}")
    bad = spool.waiting(words.home)[12]  # the question of the fifth
    spoil(words.home, bad)

    taken = words.take_in()

    assert len(taken.documents) == 10
    questions = [text for text in held(words) if "about kilns" in text]
    assert len(questions) == 9
    assert not any("Question 4" in text for text in questions)
    assert spool.waiting(words.home) == []


def test_what_could_not_be_read_shows_where_a_person_looks(  # 111
    command: Command, words: Memory
) -> None:
    converse(words.home, "How hot is the kiln?", "Twelve hundred degrees.")
    name = spool.waiting(words.home)[0]
    spoil(words.home, name)
    words.take_in()

    told = command("stats", "--json").json["capture"]
    assert [each["file"] for each in told["set_aside"]] == [name]
    assert told["set_aside"][0]["reason"]
    assert name in command("stats").out


def test_what_waits_and_that_nothing_is_captured_shows_there_too(  # 111
    command: Command, words: Memory
) -> None:
    words.store("The kiln is hot.")
    say(words.home, "person", "How hot?")
    assert command("stats", "--json").json["capture"] == {
        "waiting": 1,
        "set_aside": [],
        "paused": False,
    }

    consent.pause(words.home, None)

    assert command("stats", "--json").json["capture"]["paused"] is True


@pytest.mark.parametrize("sequence", ["", "turn-9"])
def test_an_event_that_is_delivered_twice_is_one_document(  # dur-11
    words: Memory, sequence: str
) -> None:
    for kind, text in (("person", "How hot is the kiln?"), ("assistant", "Twelve hundred.")):
        for _ in range(2):
            say(words.home, kind, text, sequence=sequence)
    say(words.home, "end")

    assert len(words.take_in().documents) == 1
    [text] = held(words)
    assert text.count("How hot") == text.count("Twelve hundred") == 1


def test_an_event_that_is_delivered_again_much_later_adds_nothing(words: Memory) -> None:  # dur-11
    say(words.home, "person", "How hot is the kiln?", sequence="turn-9")
    say(words.home, "assistant", "Twelve hundred.", sequence="turn-9")
    say(words.home, "end")
    words.take_in()
    before = held(words)

    say(words.home, "person", "How hot is the kiln?", sequence="turn-9")
    words.take_in(everything=True)

    assert held(words) == before


@pytest.mark.parametrize("kind", ["person", "assistant"])
@pytest.mark.parametrize("cut", range(2, len(TOKEN), 3))
def test_a_secret_in_two_messages_is_masked(words: Memory, kind: str, cut: int) -> None:  # sec-02
    say(words.home, "person", "Look at the deploy.")
    say(words.home, kind, f"It wants {TOKEN[:cut]}")
    say(words.home, kind, f"{TOKEN[cut:]} to go on.")
    say(words.home, "end")

    words.take_in()

    [text] = held(words)
    assert TOKEN[6:] not in text.replace("\n", "")
    assert "to go on" in text
    assert "It wants [redacted: " in text


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Glaze it. <private>the pin is 8841</private> Then fire it.", "Then fire it."),
        ("Glaze it. <private>the pin is 8841\n\nand so on to the end", "Glaze it."),
        ("Glaze it. <PRIVATE why='x'>a <private>8841</private> b</Private> Fire it.", "Fire it."),
    ],
)
@pytest.mark.parametrize("kind", ["person", "assistant"])
def test_what_is_private_is_in_no_byte_of_the_home(  # sec-05
    words: Memory, kind: str, said: str, kept: str
) -> None:
    def bytes_of_home() -> bytes:
        return b"".join(path.read_bytes() for path in Path(words.home).rglob("*") if path.is_file())

    say(words.home, "person", "What about the bowl?")
    say(words.home, kind, said)
    assert kept.encode() in bytes_of_home()
    assert b"8841" not in bytes_of_home()
    say(words.home, "end")
    words.take_in()
    words.wait()

    assert kept.encode() in bytes_of_home()
    assert b"8841" not in bytes_of_home()
    assert any(kept in text for text in held(words))


TAKE_IN = """
import sys
from ringwood.memory import Memory
with Memory.open(sys.argv[1], embedder="words", wait_s=0.0) as memory:
    memory.create()
    print("ready", flush=True)
    while True:
        memory.take_in(everything=True)
"""


@pytest.mark.slow
def test_whoever_takes_in_may_be_killed_at_any_moment(tmp_path: Path) -> None:
    """Every exchange that was acknowledged is one document afterwards, with all its words."""
    home = str(tmp_path / "home")
    chance = random.Random(20260301)
    said = 0
    for _ in range(12):
        keeper = subprocess.Popen(
            [sys.executable, "-c", TAKE_IN, home], stdout=subprocess.PIPE, text=True
        )
        assert keeper.stdout is not None
        assert keeper.stdout.readline() == "ready\n"
        until = time.monotonic() + chance.uniform(0.0, 0.3)
        while time.monotonic() < until:
            name = f"turn-{said}"
            say(home, "person", f"Is bowl {said} glazed?", sequence=name, session="pots")
            say(home, "assistant", f"Bowl {said} is glazed in blue.", sequence=name, session="pots")
            said += 1
        keeper.kill()
        keeper.communicate()
        assert keeper.returncode == -signal.SIGKILL

    with Memory.open(home, embedder="words") as memory:
        memory.take_in(everything=True)
        texts = held(memory)
        assert spool.waiting(home) == []
        assert spool.set_aside(home) == []

    assert said > 12
    assert len(texts) == said
    for number in range(said):
        [text] = [each for each in texts if f"Is bowl {number} glazed?" in each]
        assert text.count(f"Bowl {number} is glazed in blue.") == 1
