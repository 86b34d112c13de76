"""Whether a memory holds what its model says: counts, texts, addresses, words, vectors, links."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from itertools import product
from pathlib import Path

from tests.faults.model import Entry, Model, text_of
from tests.processes import PATIENCE_S, eventually

from ringwood.engine.sqlite import open_engine
from ringwood.memory import Memory
from ringwood.types import Dropped, Hit
from ringwood.upkeep.checking.findings import Verified

SPACES = ("global", "app")
"""Where notes are stored."""
WORK = "work"
"""The space of a working directory: exchanges alone come there."""
MAX_TERMS = 16
"""Words that are asked for at once."""
NEAR = 0.3
"""What the cosine of a text to itself adds to its score at least, in whichever tier."""


def settle(memory: Memory) -> None:
    """Wait until every node has its vector, and every document its page in the mirror."""
    memory.wait(PATIENCE_S)
    if not _is_settled(memory):
        memory.warm()  # whoever stored last was killed
        memory.wait(PATIENCE_S)
        eventually(lambda: _is_settled(memory))


def _is_settled(memory: Memory) -> bool:
    stats = memory.stats()
    return not (
        stats.unmirrored or memory.missing_vectors() or set(stats.totals.states) - {"ready"}
    )


def compare_all(memory: Memory, model: Model, embedder: str) -> None:
    """Compare every document, what its words find, and what is derived from it.

    Raises:
        AssertionError: when the memory holds something else than the model.
    """
    compare_counts(memory, model)
    settle(memory)
    for number, entry in enumerate(model.entries.values()):
        compare_document(memory, entry, model)
        word = entry.words[number % len(entry.words)]
        if embedder == "words" or number % 3:
            compare_word(memory, word, entry.space, model)
        else:
            compare_meaning(memory, entry, word)
    dead = sorted(model.dead_words)
    for start, space in product(range(0, len(dead), MAX_TERMS), (SPACES[1], WORK)):
        compare_dead(memory, dead[start : start + MAX_TERMS], space)
    compare_log(memory, model)
    stats, verified = memory.stats(), memory.verify()
    assert stats.embedder == embedder
    held = stats.totals.tiers.values()
    assert sum(tier.documents for tier in held) == verified.documents == len(model.entries)
    compare_findings(verified, model)
    compare_links(memory, model)


def compare_counts(memory: Memory, model: Model) -> None:
    """Compare the number of documents in every space."""
    assert memory.spaces() == model.count()


def compare_document(memory: Memory, entry: Entry, model: Model) -> None:
    """Compare a document's text and its addresses, and see where its links lead."""
    for address in (entry.address, *entry.former):
        found = str(memory.read(address).document.id)
        assert found == entry.document, f"{address} leads to {found}, not to {entry.document}"
    view = memory.read(entry.address)
    if not entry.is_exchange:
        # What stood around a forgotten paragraph stays: blank lines.
        said = list(filter(None, view.source.splitlines()))
        assert said == list(filter(None, entry.text.splitlines()))
    live = {each.document for each in model.entries.values() if each.space == entry.space}
    assert {str(node.document) for node, _ in view.neighbours} <= live - {entry.document}


def compare_word(memory: Memory, word: str, space: str, model: Model) -> None:
    """Look for a word from the space where it is."""
    holders = {each.document for each in model.holders(word, space)}
    hits = memory.within(space=space).recall(word).hits
    found = {hit.document for hit in hits if word in hit.text}
    assert found, f"{word} is not found"
    assert found <= holders, f"{word} is found in {found - holders}"


def compare_meaning(memory: Memory, entry: Entry, word: str) -> None:
    """Ask for what a paragraph says: its document is near by its vector, returned or dropped."""
    asked = f"What of {word}?" if entry.is_exchange else text_of([word], entry.form)
    answer = memory.within(space=entry.space).recall(asked, counted=False)
    measured: list[Hit | Dropped] = [*answer.hits, *answer.dropped]
    cosines = [
        term.value
        for each in measured
        for term in each.terms
        if each.document == entry.document and term.name == "cosine"
    ]
    assert max(cosines, default=0.0) > NEAR, f"{word} is not found by its meaning: {cosines}"


def compare_dead(memory: Memory, words: Sequence[str], space: str) -> None:
    """Look for words that are to be found nowhere."""
    for hit in memory.within(space=space).recall(" ".join(words)).hits:
        found = [word for word in words if word in hit.text]
        assert not found, f"{found} are gone and are found in {hit.document}"


def compare_findings(verified: Verified, model: Model) -> None:
    """Verify finds nothing wrong, only a text that stays where the same one was forgotten."""
    wrong = {each for each in verified.findings if each.level != "untidy"}
    kept = {each.where for each in wrong if each.what == "forgotten"}
    known = {each.address for each in model.entries.values() if model.is_forgotten(each)}
    assert kept == known, f"said to be forgotten and kept: {kept}, not {known}"
    assert not {each for each in wrong if each.what != "forgotten"}, wrong


def compare_links(memory: Memory, model: Model) -> None:
    """See that no link of any document leads to what was forgotten."""
    with (
        closing(open_engine(Path(memory.home), create=False)) as engine,
        engine.reading() as reader,
    ):
        left = reader.owned_edges(model.forgotten_nodes)
    assert not left, f"links to what was forgotten: {left}"


def compare_log(memory: Memory, model: Model) -> None:
    """See that no recall in the log quotes what was forgotten."""
    for space in (*SPACES, WORK):
        for logged in memory.within(space=space).recent_recalls(limit=50):
            for hit in logged["hits"]:
                quoted = model.forgotten_words & set(hit["text"].replace("?", "").split())
                assert not quoted, f"the log quotes {quoted}"
