"""A vault: its links become edges, its aliases and tags are found, a rename undoes none of it."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.scaling import grows_at_most

from ringwood.engine.sqlite import open_engine
from ringwood.memory import Memory
from ringwood.types import LINK
from ringwood.write.draft import Draft, Intake
from ringwood.write.ingest import ingest
from ringwood.write.wiki import Written, links_in, relink

PUMP = """---
aliases: [Big Pump, P-7]
tags:
  - machines
---
# Pump seven

It stands in the cellar and is fed by [[Tank#Outlet|the outlet of the tank]].

## Repair

Take the gasket from ![[parts/Gasket]] and see [the log](../log%20book.md#Spring).
"""
TANK = "# Tank\n\nIt feeds [[p-7]].\n\n## Outlet\n\nTwo inches wide.\n"
LOG = "# Log book\n\n## Spring\n\nNothing leaked. Nobody wrote [[A note that is not there]].\n"
GASKET = "A ring of cork, for [[#]] and `[[Tank]]` nothing.\n"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """Four notes in three folders."""
    for name, text in {
        "machines/Pump.md": PUMP,
        "machines/Tank.md": TANK,
        "log book.md": LOG,
        "parts/Gasket.md": GASKET,
    }.items():
        file = tmp_path / "vault" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return tmp_path / "vault"


def links(memory: Memory, address: str) -> tuple[set[str], set[str]]:
    """Return where the links of a node lead, and from where links lead to it."""
    view = memory.read(address)
    return {node.path for node in view.links_out}, {node.path for node in view.links_in}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see [[Note]].", [Written(4, "Note", "", False)]),
        ("[[Note#Part|shown]]", [Written(0, "Note", "Part", False)]),
        ("![[a/Note#One#Two]]", [Written(1, "a/Note", "Two", False)]),
        ("[[Note#^block-7]]", [Written(0, "Note", "", False)]),
        ("| [[Note\\|shown]] |", [Written(2, "Note", "", False)]),
        ("[[#Part]]", [Written(0, "", "Part", False)]),
        ("[it](../a%20b.md#part)", [Written(3, "../a b.md", "part", True)]),
        ('[it](<a b.md> "title")', [Written(3, "a b.md", "", True)]),
        ("[up](#part)", [Written(3, "", "part", True)]),
        ("[web](https://a.example/x.md) [mail](mailto:a@b.example) ![p](p.png)", []),
        ("`[[Note]]` and ``[a](b.md)``", []),
        ("```\n[[Note]]\n```\n[[After]]", [Written(17, "After", "", False)]),
        ("~~~\n[[Note]]\n```\n[[Still]]", []),
        ("[[]] [[ ]] [[#]]", []),
    ],
)
def test_links_are_read_as_they_are_written(text: str, expected: list[Written]) -> None:
    assert list(links_in(text)) == expected


def test_links_lead_from_the_paragraph_that_holds_them_to_the_note_or_section(
    words: Memory, vault: Path
) -> None:
    report = words.import_notes([vault])

    assert (report.imported.links.links, report.imported.links.unresolved) == (4, 1)
    out, into = links(words, "/machines/pump-seven")
    assert out == {"/machines/tank/outlet", "/parts/gasket", "/log-book/spring"}
    assert into == {"/machines/tank/it-feeds-p-7"}
    assert links(words, "/machines/pump-seven/repair")[0] == {"/parts/gasket", "/log-book/spring"}
    assert links(words, "/machines/tank/outlet")[1] == {
        "/machines/pump-seven/it-stands-in-the-cellar-and"
    }
    assert links(words, "/log-book")[0] == set()


def test_recall_does_not_hop_along_links(words: Memory, vault: Path) -> None:
    words.import_notes([vault])

    [*found] = words.recall("two inches wide", floor=0.0).hits

    assert found
    assert all(hit.signals.hop != "similar" for hit in found)
    assert words.read("/machines/tank/outlet").neighbours == ()


def test_the_same_import_again_changes_no_link(words: Memory, vault: Path) -> None:
    words.import_notes([vault])
    before = [links(words, f"/{name}") for name in ("machines/pump-seven", "machines/tank")]

    again = words.import_notes([vault])

    assert again.imported.changed == 0
    assert [links(words, f"/{name}") for name in ("machines/pump-seven", "machines/tank")] == before


def test_a_renamed_note_keeps_the_links_to_it_once_they_name_it_again(
    words: Memory, vault: Path
) -> None:
    words.import_notes([vault])
    (vault / "machines" / "Tank.md").rename(vault / "Cistern.md")
    words.import_notes([vault])
    assert words.read("/machines/tank/outlet").node.path == "/tank/outlet"
    unnamed = links(words, "/tank/outlet")[1]
    pump = vault / "machines" / "Pump.md"
    pump.write_text(pump.read_text("utf-8").replace("[[Tank#", "[[Cistern#"), "utf-8")

    words.import_notes([vault])

    assert unnamed == set()
    assert links(words, "/tank/outlet")[1] == {"/machines/pump-seven/it-stands-in-the-cellar-and"}


def test_a_link_that_is_taken_out_is_no_edge_any_more_and_one_to_a_changed_section_stays(
    words: Memory, vault: Path
) -> None:
    words.import_notes([vault])
    tank = vault / "machines" / "Tank.md"
    tank.write_text(TANK.replace("[[p-7]]", "it").replace("Two inches", "Three inches"), "utf-8")

    words.import_notes([vault])

    assert links(words, "/machines/pump-seven")[1] == set()
    assert len(links(words, "/machines/tank/outlet")[1]) == 1


def test_a_new_note_takes_up_the_links_that_waited_for_it(words: Memory, vault: Path) -> None:
    words.import_notes([vault])
    (vault / "A note that is not there.md").write_text("Here it is.", "utf-8")

    report = words.import_notes([vault])

    assert report.imported.links.unresolved == 0
    assert len(links(words, "/a-note-that-is-not-there")[1]) == 1


def test_of_notes_of_one_name_the_nearest_is_meant(words: Memory, vault: Path) -> None:
    (vault / "Tank.md").write_text("# Another tank\n\n## Outlet\n\nDry.\n", "utf-8")

    words.import_notes([vault])

    assert "/machines/tank/outlet" in links(words, "/machines/pump-seven")[0]


def test_the_name_of_a_file_is_surer_than_an_alias_that_is_nearer(
    words: Memory, vault: Path
) -> None:
    (vault / "parts" / "Washer.md").write_text(
        "---\naliases: [Tank, Ring]\n---\n\nRound.\n", "utf-8"
    )
    (vault / "parts" / "List.md").write_text("# List\n\nOne [[Tank]] and one [[Ring]].\n", "utf-8")
    words.import_notes([vault])
    assert links(words, "/parts/list")[0] == {"/machines/tank", "/parts/washer"}


def test_aliases_and_tags_are_words_that_find_the_note(words: Memory, vault: Path) -> None:
    words.import_notes([vault])

    for query in ("big pump", "machines tag"):
        assert words.recall(query, floor=0.0).hits[0].path.startswith("/machines/pump-seven")


def test_a_forgotten_note_leaves_no_link(words: Memory, vault: Path) -> None:
    words.import_notes([vault])

    words.forget("/machines/pump-seven")

    assert links(words, "/machines/tank") == (set(), set())
    assert words.stats().totals.tiers["hot"].edges == 0


def test_links_stay_in_their_space(tmp_path: Path, vault: Path) -> None:
    with Memory.open(tmp_path / "home", space="one", embedder="words") as one:
        one.import_notes([vault / "machines"])
        with Memory.open(tmp_path / "home", space="two", embedder="words") as two:
            report = two.import_notes([vault / "parts", vault / "log book.md"])

            assert report.imported.links.links == 0
            assert links(one, "/pump-seven")[0] == {"/tank/outlet"}


def test_links_lead_from_the_innermost_node_wherever_in_the_text_they_stand(tmp_path: Path) -> None:
    text = (
        "[[#Two]]\n\n# One\n\nA [[#Two]] b.\n\n- c\n  - d [[#Two]]\n  - e\n- f [[#Two]]\n\n"
        "## Inside [[#Two]]\n\n> g\n>\n> h [[#Two]]\n\n# Two\n\ni\n\n[[#One]] j [[#Inside]]\n"
    )
    with closing(open_engine(tmp_path, create=True)) as engine:
        draft = Draft(text, "s", "person", source="/v/a.md")
        ingest(engine, [draft], Intake(datetime(2026, 3, 1, tzinfo=UTC), "ready"))
        relink(engine, "s", ["/v/"])
        with engine.reading() as reader:
            [root] = reader.roots("s")
            nodes = reader.nodes_of(root.id)
            edges = reader.edges([node.id for node in nodes], LINK)
    places = [link.at for link in links_in(text)]
    holders = {
        max((n for n in nodes if n.span[0] <= at < n.span[1]), key=lambda n: n.order).id
        for at in places
    }
    assert len(places) == 8
    assert {edge.source for edge in edges} == holders


def test_what_links_cost_grows_with_their_number_only(tmp_path: Path) -> None:
    with closing(open_engine(tmp_path, create=True)) as engine:
        for length in (300, 1200):
            parts = [f"## H{n}\n\nSee [[#H{n * 7 % length}]]." for n in range(length)]
            draft = Draft("\n\n".join(parts), f"s{length}", "person", source="/v/a.md")
            ingest(engine, [draft], Intake(datetime(2026, 3, 1, tzinfo=UTC), "ready"))
        assert grows_at_most(lambda length: relink(engine, f"s{length}", ["/v/"]), 300, 1200, 8)
