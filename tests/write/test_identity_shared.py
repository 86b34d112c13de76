"""Two hundred headings of fifty real notes, edited, re-ordered, renamed, moved: every address."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.write.edits import Note, Section

from ringwood.errors import AddressError
from ringwood.memory import Memory
from ringwood.types import Node

FILES, HEADINGS = 50, 200


@dataclass(frozen=True, slots=True)
class Kept:
    """What the memory held of a node before the edits."""

    node: Node
    text: str
    """Its exact source."""
    file: Path
    access: int


@dataclass(frozen=True, slots=True)
class Edited:
    """One note, and where its parts were before it was edited."""

    note: Note
    first: dict[str, Section]
    """Sections by their whole source."""


def notes_in(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*.md") if p.name not in ("AGENTS.md", "README.md"))


@pytest.fixture
def vault(shared_data: Path, tmp_path: Path) -> Path:
    """Fifty notes of both languages, in their folders."""
    source = shared_data / "notes_bilingual"
    for path in random.Random(7).sample(notes_in(source), FILES):
        copy = tmp_path / "vault" / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(Note(path.read_text("utf-8")).text(), "utf-8")
    return tmp_path / "vault"


def kept_in(memory: Memory) -> dict[str, Kept]:
    """Return all that is kept, by address."""
    views = {
        f"{line.space}:{line.node.path}": memory.read(f"{line.space}:{line.node.path}")
        for line in memory.tree(depth=99)
    }
    return {
        address: Kept(v.node, v.source.rstrip(), Path(v.document.source or ""), v.node.access)
        for address, v in views.items()
    }


def edges_of(memory: Memory, kept: dict[str, Kept]) -> set[tuple[int, int]]:
    """Return the ends of all edges: their weight may change with the titles above a text."""
    found = (edge for address in kept for _, edge in memory.read(address).neighbours)
    return {(edge.source, edge.target) for edge in found}


def edit(edited: dict[Path, Edited], rng: random.Random) -> Counter[str]:
    """Do two hundred things to headings; count each kind."""
    done: Counter[str] = Counter()
    while done.total() < HEADINGS:
        note = edited[rng.choice(sorted(edited))].note
        if not note.headings():
            continue
        section, count = rng.choice(note.headings()), note.edits
        step = rng.choices(["edit", "shuffle", "rename", "move", "delete"], [30, 25, 25, 15, 5])[0]
        if step == "rename":
            note.rename(section, f"{section.title} {rng.randrange(10_000)}")
        elif step == "delete":
            note.delete(section)
        else:
            getattr(note, step)(section, rng)
        done[step] += note.edits - count
    return done


def written(edited: dict[Path, Edited], vault: Path) -> dict[Path, Path]:
    """Write the notes, every fifth under another name in another folder; say where each went."""
    places = {}
    for number, (path, each) in enumerate(sorted(edited.items())):
        path.write_text(each.note.text(), "utf-8")
        places[path] = path
        if number % 5 == 0:
            places[path] = vault / "renamed" / f"{number}-{path.stem}.md"
            places[path].parent.mkdir(exist_ok=True)
            path.rename(places[path])
    return places


def judge(memory: Memory, address: str, kept: Kept, edited: Edited, place: Path) -> str:
    """Say where an old address leads to: `right`, `gone`, `lost` or `wrong`."""
    note = edited.note
    section = edited.first.get(kept.text) if kept.node.kind == "section" else None
    text = note.text().rstrip()
    expected: str | None = kept.text if kept.text in text else None
    if kept.node.kind == "document":
        expected = text
    elif section is not None:
        expected = None if section.is_gone else note.source(section)
    elif expected is None:
        expected = {old: new for s in note.sections for new, old in s.before.items()}.get(kept.text)
    try:
        view = memory.read(address)
    except AddressError as error:
        if "gone since" not in error.message:
            return f"wrong: {error.message}"
        return "gone" if expected is None else "lost"
    if Path(view.document.source or "") != place:
        return f"wrong: in {view.document.source}"
    if expected is None:  # a container of what was edited, as a list or a numbered section
        same = view.node.kind == kept.node.kind and view.node.id == kept.node.id
        return "right, by its id" if same else "wrong: another node"
    return "right" if view.source.rstrip() == expected else f"wrong: {view.source[:60]!r}"


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_old_address_leads_to_its_node_or_says_since_when_it_is_gone(
    vault: Path, memory: Memory, seed: int
) -> None:
    memory.import_notes([vault])
    assert memory.wait(300)
    queries = [kept.text[:60] for kept in list(kept_in(memory).values())[5::97]]
    assert sum(len(memory.recall(query).hits) for query in queries) > 50
    memory.store("# A note beside the vault")  # and what was recalled is written down
    assert memory.wait(300)
    before = kept_in(memory)
    before = {a: kept for a, kept in before.items() if kept.file.is_relative_to(vault)}
    edges = edges_of(memory, before)
    edited = {}
    for path in notes_in(vault):
        note = Note(path.read_text("utf-8"))
        edited[path] = Edited(note, {note.source(each): each for each in note.sections})
    assert min(edit(edited, random.Random(seed)).values()) > 0
    places = written(edited, vault)

    report = memory.import_notes([vault])
    assert memory.wait(300)

    assert report.gone == ()
    verdicts = {
        address: judge(memory, address, kept, edited[kept.file], places[kept.file])
        for address, kept in before.items()
    }
    counts = Counter(verdict.split(":")[0] for verdict in verdicts.values())
    assert [pair for pair in verdicts.items() if pair[1].startswith("wrong")] == []
    assert counts["lost"] <= 0.001 * len(before)
    after = {kept.node.id: kept for kept in kept_in(memory).values()}
    assert sum(kept.access for kept in before.values()) > 50
    assert all(
        after[kept.node.id].access >= kept.access
        for kept in before.values()
        if kept.node.id in after
    )
    says = {kept.node.id: (kept.node.title, kept.node.text) for kept in before.values()}
    same = {i for i, kept in after.items() if says.get(i) == (kept.node.title, kept.node.text)}
    standing = {ends for ends in edges if set(ends) <= same}
    assert len(standing) > 50
    assert standing <= edges_of(memory, kept_in(memory))
