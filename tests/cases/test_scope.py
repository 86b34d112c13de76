"""What belongs to one space does not appear in another, by exclusion and not by rank.

Ids are those of the acceptance list (`scope.*`). A person's own look-up may name a space, in an
address (`other:/note`) as in `--space`; a query may not. Tools that a model calls, which have no
space argument, do not exist yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cases.commands import Command

from ringwood.errors import AddressError
from ringwood.memory import Memory
from ringwood.names import GLOBAL

SECRET = "The aardvark budget is nine thousand for the autumn."
OURS = "The garden budget is forty for the spring."
SHARED = "The budget year begins in April."


@pytest.fixture(params=["words", "hashing"])
def spaces(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, Memory]]:
    """Three memories in one home: the spaces `theirs` and `ours`, and `global`."""
    opened = {
        name: Memory.open(tmp_path / "home", space=name, embedder=request.param)
        for name in ("theirs", "ours", GLOBAL)
    }
    for name, text in (("theirs", SECRET), ("ours", OURS), (GLOBAL, SHARED)):
        opened[name].store(f"# Budget\n\n{text}")
        opened[name].wait()
    yield opened
    for memory in opened.values():
        memory.close()


def considered(memory: Memory, query: str) -> set[str]:
    """Return the spaces of all that a recall so much as looked at."""
    answer = memory.recall(query, floor=0.0)
    addresses = [each.address for each in answer.hits] + [each.address for each in answer.dropped]
    return {address.split(":/")[0] for address in addresses}


def test_the_best_match_in_another_space_is_not_even_a_candidate(
    spaces: dict[str, Memory],
) -> None:  # scope.cross_tenant_absent
    assert considered(spaces["ours"], SECRET) == {"ours", GLOBAL}
    assert considered(spaces[GLOBAL], SECRET) == {GLOBAL}
    assert considered(spaces["theirs"], SECRET) == {"theirs", GLOBAL}
    assert spaces["theirs"].recall(SECRET).hits[0].text == SECRET


WIDER = ["theirs:/budget aardvark", "*", "%", "", "space:theirs", "theirs", "../theirs aardvark"]


def test_no_query_widens_where_it_looks(
    spaces: dict[str, Memory],
) -> None:  # scope.caller_cannot_widen
    for query in WIDER:
        assert considered(spaces["ours"], query) <= {"ours", GLOBAL}, query
        assert considered(spaces["ours"], f"{query} budget") == {"ours", GLOBAL}, query


LIKE_THEIRS = ["*", "%", "", "THEIRS", "their", "theirs%", "t_eirs", "theirs~"]


def test_no_name_like_another_space_opens_it(
    spaces: dict[str, Memory],
) -> None:  # scope.caller_cannot_widen
    for space in LIKE_THEIRS:
        with Memory.open(spaces["ours"].home, space=space, wait_s=0.0) as memory:
            assert considered(memory, SECRET) == {GLOBAL}, space
            assert [document.space for document in memory.recent()] == [GLOBAL], space
            assert {line.space for line in memory.tree()} <= {GLOBAL}, space
            with pytest.raises(AddressError):
                memory.forget(space=space)
            with pytest.raises(AddressError):
                memory.read(f"{space}:/budget")
    assert spaces["theirs"].read("/budget").document.space == "theirs"


def test_no_address_but_the_exact_one_leads_into_another_space(
    spaces: dict[str, Memory],
) -> None:  # scope.caller_cannot_widen
    for address in [*(f"{space}:/budget" for space in LIKE_THEIRS), "theirs/budget"]:
        for look in (spaces["ours"].read, spaces["ours"].tree, spaces["ours"].forget):
            with pytest.raises(AddressError):
                look(address)
    assert spaces["ours"].read("/budget").document.space == "ours"
    assert spaces["ours"].read("global:/budget").document.space == GLOBAL


def test_lists_and_keys_of_sources_stay_in_their_space(
    spaces: dict[str, Memory],
) -> None:  # scope.caller_cannot_widen
    ours, theirs = spaces["ours"], spaces["theirs"]
    theirs.store("The aardvark has a key.", source="key")

    assert {document.space for document in ours.recent(limit=1_000)} == {"ours", GLOBAL}
    assert {line.space for line in ours.tree(depth=99)} == {"ours"}
    with pytest.raises(AddressError):
        ours.forget(source="key")
    ours.store("The garden has a key.", source="key")
    assert theirs.forget(source="key").documents == 1
    assert [each.title for each in ours.recent(limit=1)] == ["The garden has a key."]


def test_an_edit_from_another_space_does_not_carry_a_text_off(spaces: dict[str, Memory]) -> None:
    spaces["ours"].store("# Budget\n\nThe budget year begins in May.", replace="global:/budget")

    assert "May" in spaces[GLOBAL].read("/budget").source
    assert "May" in spaces["theirs"].read("global:/budget").source
    assert spaces["ours"].read("/budget").source.endswith(OURS)
    assert spaces["ours"].spaces() == {"ours": 1, "theirs": 1, GLOBAL: 1}


def test_the_command_asks_in_one_space_only(
    spaces: dict[str, Memory], command: Command
) -> None:  # scope.cross_tenant_absent
    def found(space: str) -> set[str]:
        answer = command("recall", SECRET, "--floor", "0", "--json", "--space", space).json
        return {each["address"].split(":/")[0] for each in (*answer["hits"], *answer["dropped"])}

    assert spaces["ours"].wait()
    assert found("ours") == {"ours", GLOBAL}
    assert found("theirs") == {"theirs", GLOBAL}


TWINS = (
    "The lantern by the harbour burns all night.",
    "The lantern by the harbour burns at night.",
)


def test_links_pages_and_duplicates_stay_in_their_space(
    tmp_path: Path,
) -> None:  # scope.background_respects_boundary
    home = tmp_path / "home"
    names = ("one", "two", GLOBAL)
    memories = {name: Memory.open(home, space=name, embedder="hashing") for name in names}
    for text in TWINS:
        for memory in memories.values():
            receipt = memory.store(text)
            assert receipt.state != "existing"  # the same text elsewhere is no duplicate
            memory.wait()

    for name, memory in memories.items():
        joined = [
            node.document
            for line in memory.tree(depth=9)
            for node, _ in memory.read(f"{name}:{line.node.path}").neighbours
        ]
        own = {document.id for document in memory.recent() if document.space == name}
        assert set(joined) == own, name  # each is linked, and to its own only
        assert len(own) == len(TWINS)
        pages = {page.read_text("utf-8") for page in (home / "mirror" / name).rglob("*.md")}
        assert len(pages) == len(TWINS)
        assert all(f'space: "{name}"' in page for page in pages)
        memory.close()


def test_forgetting_in_one_space_forgets_in_that_one(
    tmp_path: Path,
) -> None:  # scope.background_respects_boundary
    home = tmp_path / "home"
    with (
        Memory.open(home, space="one", embedder="hashing") as one,
        Memory.open(home, space="two", embedder="hashing") as two,
    ):
        for memory in (one, two):
            memory.store(TWINS[0])
            memory.wait()

        assert one.forget(space="one").documents == 1

        assert one.store(TWINS[0]).state == "forgotten"
        assert two.store(TWINS[0]).state == "existing"
        assert two.recall("lantern harbour").hits
