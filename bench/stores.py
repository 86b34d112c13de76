"""Four stores to measure meaning on: notes, an encyclopaedia, a conversation, an agent's session.

Each is filled through the real path. A home that is filled already is used as it is: the bundled
model embeds about ten texts a second.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.notes import pairs_of
from bench.report import SHARED
from bench.words import Question, load
from ringwood.capture.buffer import Exchange
from ringwood.embed.base import Embedder, FloatRows
from ringwood.embed.meaning import Meaning
from ringwood.engine.sqlite import open_engine
from ringwood.memory import Memory
from ringwood.types import Actor, Turn
from ringwood.write.embedding import embedded_texts
from ringwood.write.means import meaning_of, refresh_means

SPACES = {"notes": "notes", "xquad": "set", "talk": "global", "session": "global"}
"""The stores, and the space that each fills."""
PAIRS = 60
"""Pairs of twins of notes: the first by name."""
PARAGRAPHS = 120
"""Paragraphs of each language."""
TURNS = 300
"""Turns of the English conversation."""
MESSAGES = 24
"""Messages of the Chinese session: they are long."""
_BEGUN = datetime(2026, 10, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Filled:
    """What is compared of a store, each array one item per node."""

    nodes: tuple[int, ...]
    """Ids."""
    rows: FloatRows
    """Unit length."""
    scripts: npt.NDArray[np.str_]
    """Of the texts."""
    documents: npt.NDArray[np.int64]
    """Ids of the documents."""
    texts: tuple[str, ...]
    """What was embedded."""
    sources: dict[int, str]
    """Source key by document."""
    own: Meaning
    """How the store compares."""


def fill(home: Path, name: str, embedder: Embedder) -> None:
    """Fill a store where it is not there yet, and wait for its vectors."""
    with Memory.open(home, SPACES[name], embedder, wait_s=0.0) as memory:
        if name == "notes":
            memory.import_notes(pairs_of(SHARED / "notes_bilingual", PAIRS))
        elif name == "xquad":
            for language in ("en", "zh"):
                for number, text in enumerate(paragraphs(language)[0][:PARAGRAPHS]):
                    memory.store(text, source=f"{language}:{number}")
        else:
            memory.store_exchanges(
                _exchanges(islice(_talk(), TURNS) if name == "talk" else _session())
            )
        memory.wait(7200.0)


def read(home: Path, name: str, meaning: Meaning) -> Filled:
    """Take the means of a store anew, and read what is to be compared."""
    space = SPACES[name]
    engine = open_engine(home, create=False)
    refresh_means(engine, meaning, space, force=True)
    with engine.reading() as reader:
        cards = reader.roots(space)
        texts: dict[int, str] = {}
        for card in cards:
            texts |= embedded_texts(reader.nodes_of(card.id))
        vectors = reader.vectors(meaning.identity, texts)
        own = meaning_of(reader, meaning, space)
    engine.close()
    return Filled(
        nodes=tuple(vectors),
        rows=np.stack([each.row for each in vectors.values()]),
        scripts=np.array([each.script for each in vectors.values()]),
        documents=np.array([each.document for each in vectors.values()]),
        texts=tuple(texts[node] for node in vectors),
        sources={card.id: card.source or "" for card in cards},
        own=own,
    )


def forget_means(home: Path, name: str) -> None:
    """Let a store compare on the means that its embedder begins with."""
    engine = open_engine(home, create=False)
    with engine.writing() as writer:
        writer.drop_means(space=SPACES[name])
    engine.close()


def paragraphs(language: str) -> tuple[list[str], list[Question]]:
    """Load the paragraphs of a language and the questions to them."""
    return load(SHARED / "retrieval" / f"xquad_{language}.dev.json")


def _exchanges(turns: Iterable[Turn]) -> Iterator[Exchange]:
    """Cut a conversation where a person speaks after an answer, as capture does."""
    open_turns: list[Turn] = []
    number = 0
    for turn in [*turns, Turn("person", "")]:
        if turn.actor == "person" and open_turns and open_turns[-1].actor != "person":
            yield _exchange(number, open_turns)
            number, open_turns = number + 1, []
        open_turns.append(turn)


def _exchange(number: int, turns: Iterable[Turn]) -> Exchange:
    at = _BEGUN + timedelta(minutes=number)
    said = tuple(turns)
    return Exchange(
        host="bench",
        session="one",
        sequence=f"{number:05d}",
        space=None,
        started_at=at,
        heard_at=at,
        turns=said,
        names=(),
        messages=len(said),
        masked=0,
        dropped=0,
        closed=True,
    )


def _talk() -> Iterator[Turn]:
    record = json.loads((SHARED / "locomo" / "locomo_dev.json").read_text("utf-8"))[0]
    talk = record["conversation"]
    sessions = sorted(
        (k for k in talk if re.fullmatch(r"session_\d+", k)), key=lambda k: int(k[8:])
    )
    for session in sessions:
        for turn in talk[session]:
            actor: Actor = "person" if turn["speaker"] == talk["speaker_a"] else "assistant"
            yield Turn(actor, turn["text"])


def _session() -> list[Turn]:
    """Read the messages of the Chinese session, each once: its records repeat what went before."""
    file = SHARED / "zh_agent_session" / "hermes_session_2026-05-15.txt"
    said: dict[Turn, None] = {}
    for line in filter(str.strip, file.read_text("utf-8").split("\n")):
        for message in (each for group in json.loads(line) for each in group):
            actor: Actor = "person" if message["role"] == "user" else "assistant"
            said[Turn(actor, re.sub(r"^(User|Assistant): ", "", message["content"]))] = None
    return list(said)[:MESSAGES]
