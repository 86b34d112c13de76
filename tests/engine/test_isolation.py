"""Nothing crosses from one space into another."""

from __future__ import annotations

import pytest
from tests.engine.making import embed, question, store, unit

from ringwood.engine.base import Engine, WordQuery

NAMES = [
    "",
    "*",
    "a%",
    "a",
    "A",
    "a/",
    "ａ",
    "a b",
    "1",
    "1:",
    "0",
    "'",
    '"',
    "NULL",
    "\0",
    "é",
    "e\u0301",
]


@pytest.fixture
def canaries(engine: Engine) -> dict[str, int]:
    """The same canary in every space, with the same path, source and vector: name -> its node."""
    leaves = {}
    for name in NAMES:
        card, nodes = store(engine, "canary", space=name, path="/note", source="key")
        embed(engine, card, {nodes[1].id: unit(1, 0, 0, 0)})
        leaves[name] = nodes[1].id
    return leaves


@pytest.mark.parametrize("name", NAMES)
def test_a_space_sees_its_own_canary_alone(
    engine: Engine, canaries: dict[str, int], name: str
) -> None:
    mine = (canaries[name],)
    with engine.reading() as reader:
        assert reader.rank_words(WordQuery(["canary"]), [name], limit=99).order == mine
        assert reader.rank_vectors(question(unit(1, 0, 0, 0)), [name], limit=99).order == mine
        assert reader.resolve(name, "/note/1") == mine[0]
        assert reader.recent_nodes(name, 99) == mine
        [root] = reader.roots(name)
        assert root.space == name
        assert reader.recent_documents([name]) == (root,)
        assert reader.sources(name, "") == {"key": root.id}
        assert reader.document_by_source(name, "key") == root
        assert reader.document_by_hash(name, root.sha256) == root


def test_no_term_reaches_another_space(engine: Engine, canaries: dict[str, int]) -> None:
    attempts = ["project:other", "2:canary", "1:canary", "0:canary", ":canary", "{terms}:canary"]
    attempts += ["canary OR 2:canary", 'canary" OR "2:canary', "2:*", "terms:canary"]
    with engine.reading() as reader:
        for term in attempts:
            assert reader.rank_words(WordQuery([term]), ["a"], limit=99).order == (), term
        assert reader.rank_words(WordQuery([*attempts, "canary"]), ["a"], limit=99).order == (
            canaries["a"],
        )


def test_frequencies_are_those_of_the_searched_spaces(engine: Engine) -> None:
    store(engine, "rare\ncommon\ncommon", space="a")
    with engine.reading() as reader:
        before = reader.rank_words(WordQuery(["rare", "common"]), ["a"], limit=9)
    for number in range(5):
        store(engine, "rare " * 5 + f"{number}", space="b")
    with engine.reading() as reader:
        assert reader.rank_words(WordQuery(["rare", "common"]), ["a"], limit=9) == before


def test_a_space_that_nobody_wrote_to_holds_nothing(
    engine: Engine, canaries: dict[str, int]
) -> None:
    with engine.reading() as reader:
        for name in ("nobody", "a%%", "\ud800", "a\0", "_"):
            assert reader.rank_words(WordQuery(["canary"]), [name], limit=9).order == ()
            assert reader.rank_vectors(question(unit(1, 0, 0, 0)), [name], limit=9).order == ()
            assert reader.roots(name) == ()
            assert reader.sources(name, "") == {}
            assert reader.resolve(name, "/note") is None
