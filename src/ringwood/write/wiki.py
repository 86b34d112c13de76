"""Links that people wrote between notes become edges: `[[Note#Heading|shown]]`, `[shown](note.md)`.

    texts of a vault -> links as written -> notes by path, name or alias -> edges, as they should be

The whole vault is looked at, for a note that is new or renamed is what older ones may have meant.
What names no note stays text.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os.path import commonpath, normpath
from pathlib import PurePath
from urllib.parse import unquote

from ringwood.engine.base import Engine, Reader
from ringwood.parse.frontmatter import read_front_matter
from ringwood.types import LINK, TIERS, Edge, Node, Tier

_WIKI = re.compile(
    r"\[\[(?P<note>[^\[\]|#\n]{0,200})(?:#(?P<heading>[^\[\]|\n]{1,200}))?"
    r"(?:\|[^\[\]\n]{0,200})?\]\]"
)
_MARKDOWN = re.compile(
    r"\]\((?!\w{2,}:|//)(?:<(?P<quoted>[^<>\n]{1,400})>|(?P<plain>[^()<>\s]{1,400}))"
    r"(?:\s+\"[^\"\n]{0,200}\")?\)"
)
_CODE = re.compile(r"(?<!`)(`{1,3})(?!`)[^`\n]{1,400}\1(?!`)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_NOTE = frozenset({".md", ".markdown", ".mdown", ".mkd", ".txt", ".text"})


@dataclass(frozen=True, slots=True)
class Written:
    """A link as it stands in a text."""

    at: int
    """Where it begins, in code points."""
    note: str
    """The note that it names: a name, or a path with `is_path`; empty: the one that it is in."""
    heading: str
    """The section of it; empty: the whole."""
    is_path: bool
    """Whether the note is named by a path relative to the file."""


@dataclass(frozen=True, slots=True)
class Linked:
    """What the links of a vault came to."""

    links: int = 0
    """Edges that there are."""
    unresolved: int = 0
    """Links that name no note or no section."""


@dataclass(frozen=True, slots=True)
class _Note:
    """A document that links may lead to."""

    document: int
    """Its id."""
    source: str
    """The path of its file."""
    names: tuple[str, ...]
    """What else it is called: the aliases of its front matter."""


def links_in(text: str) -> Iterator[Written]:
    """Yield the links of a text to notes, those in code left out."""
    bare = _without_code(text)
    for found in _WIKI.finditer(bare):
        heading = (found["heading"] or "").rpartition("#")[2].strip(" \\")
        note = found["note"].strip(" \\")  # in a table the bar is escaped
        if note or heading:
            yield Written(found.start(), note, "" if heading.startswith("^") else heading, False)
    for found in _MARKDOWN.finditer(bare):
        path, _, heading = (found["quoted"] or found["plain"]).partition("#")
        if PurePath(path).suffix.lower() in _NOTE or (not path and heading):
            yield Written(found.start(), unquote(path), unquote(heading), True)


def _without_code(text: str) -> str:
    """Blank fenced and inline code out; all else stays where it is."""
    lines = text.split("\n")
    fence = ""
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if fence or mark:
            lines[number] = " " * len(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not line.strip("`~ \r"):
            fence = ""
    return _CODE.sub(lambda found: " " * len(found[0]), "\n".join(lines))


def relink(engine: Engine, space: str, folders: Sequence[str]) -> Linked:
    """Make the links of all notes below some folders edges, and drop those that are no more.

    Args:
        engine: where to.
        space: theirs; links never leave it.
        folders: source keys of folders, each ending in a separator.

    Raises:
        StorageError: when the disk refuses; the next import takes it up.
    """
    with engine.reading() as reader:
        notes = _notes(reader, space)
        ours = [note for note in notes if note.source.startswith(tuple(folders))]
        targets = _Targets(reader, [*notes, *_merged(reader, space)])
        wanted, unresolved = _wanted(reader, ours, targets)
        ids = reader.node_ids(note.document for note in ours)
        mine = set(ids)
        there = {edge for edge in reader.edges(ids, LINK) if edge.source in mine}
        owners = {
            node.id: node.document for node in reader.nodes(e.source for e in wanted).values()
        }
        cards = reader.documents(note.document for note in ours)
        missing = reader.missing_tiers
    new, old = wanted - there, there - wanted
    for tier in TIERS:
        if tier not in missing and (new or old):
            _write(
                engine, tier, new, old, {n: d for n, d in owners.items() if cards[d].tier == tier}
            )
    return Linked(len(wanted), unresolved)


def _write(
    engine: Engine, tier: Tier, new: Iterable[Edge], old: Iterable[Edge], owners: Mapping[int, int]
) -> None:
    """Bring the links that lie in one tier up to date; ends that are gone by now are left out."""
    here = [edge for edge in new if edge.source in owners]
    with engine.writing(tier) as writer, engine.reading() as reader:
        writer.drop_edges(old)
        there = reader.nodes({end for edge in here for end in (edge.source, edge.target)})
        for edge in sorted(here, key=lambda each: (each.source, each.target)):
            if {edge.source, edge.target} <= there.keys():
                writer.put_edges(owners[edge.source], [edge])


def _notes(reader: Reader, space: str) -> list[_Note]:
    """List the documents of a space that came from files."""
    notes = []
    for source, document in sorted(reader.sources(space, "/").items()):
        meta = read_front_matter(reader.text_of(document)).meta
        known = {key.casefold(): value for key, value in meta.items()}
        aliases = known.get("aliases") or known.get("alias") or ""
        notes.append(_Note(document, source, tuple(aliases.split(", ") if aliases else ())))
    return notes


def _merged(reader: Reader, space: str) -> list[_Note]:
    """List the files whose document went into another one: links to them lead there."""
    merged = sorted(reader.merged_sources(space).items())
    return [_Note(document, source, ()) for source, document in merged if source.startswith("/")]


class _Targets:
    """Finds the node that a link means."""

    def __init__(self, reader: Reader, notes: Sequence[_Note]) -> None:
        """Index notes by path, name and alias."""
        self._reader = reader
        self._by_path = {note.source: note for note in notes}
        self._by_name: dict[str, list[_Note]] = defaultdict(list)
        self._by_alias: dict[str, list[_Note]] = defaultdict(list)
        for note in notes:
            for name in {PurePath(note.source).stem, PurePath(note.source).name}:
                self._by_name[name.casefold()].append(note)
            for name in {alias.casefold() for alias in note.names}:
                self._by_alias[name].append(note)
        self._nodes: dict[int, tuple[Node, ...]] = {}
        self._by_heading: dict[int, dict[str, Node]] = {}

    def nodes_of(self, document: int) -> tuple[Node, ...]:
        """Return a document's nodes, read once."""
        if document not in self._nodes:
            self._nodes[document] = self._reader.nodes_of(document)
        return self._nodes[document]

    def find(self, link: Written, origin: _Note) -> Node | None:
        """Return the root or section that a link leads to; None when there is none."""
        note = self._note(link, origin)
        if note is None:
            return None
        if not link.heading:
            return self.nodes_of(note.document)[0]
        return self._headings_of(note.document).get(_folded(link.heading))

    def _headings_of(self, document: int) -> dict[str, Node]:
        """Return a document's sections by what links call them, the first of a name."""
        if document not in self._by_heading:
            named = self._by_heading[document] = {}
            for node in self.nodes_of(document):
                if node.kind in ("section", "document"):
                    named.setdefault(_folded(node.title), node)
                    named.setdefault(_name(node), node)
        return self._by_heading[document]

    def _note(self, link: Written, origin: _Note) -> _Note | None:
        if not link.note:
            return origin
        folder = str(PurePath(origin.source).parent)
        if link.is_path:
            return self._by_path.get(normpath(f"{folder}/{link.note}"))
        *folders, name = link.note.casefold().split("/")
        below = "/".join(["", *folders, ""])
        for notes in (self._by_name, self._by_alias):  # a file's name is surer than an alias
            found = [
                note
                for note in notes.get(name, ())
                if not folders or f"{PurePath(note.source).parent}/".casefold().endswith(below)
            ]
            if found:
                return min(found, key=lambda note: _distance(note.source, folder))
        return None


def _distance(source: str, folder: str) -> tuple[int, int, str]:
    """Order notes of one name: nearest to the link's folder, then nearest to the top."""
    return -len(commonpath([source, folder])), source.count("/"), source


def _folded(heading: str) -> str:
    return " ".join(re.findall(r"\w+", heading.casefold()))


def _name(node: Node) -> str:
    """Return the last part of a path, as a Markdown link writes it behind `#`."""
    return _folded(node.path.rpartition("/")[2])


def _wanted(reader: Reader, notes: Sequence[_Note], targets: _Targets) -> tuple[set[Edge], int]:
    """Return the edges that the links of notes should be, and how many links lead nowhere."""
    wanted: set[Edge] = set()
    unresolved = 0
    for note in notes:
        links = list(links_in(reader.text_of(note.document)))
        found = [(link.at, targets.find(link, note)) for link in links]
        resolved = sorted((at, target.id) for at, target in found if target is not None)
        unresolved += len(links) - len(resolved)
        if resolved:
            nodes = targets.nodes_of(note.document)
            holders = _holders(nodes, [at for at, _ in resolved])
            wanted |= {
                Edge(holder.id, target, LINK, 1.0)
                for holder, (_, target) in zip(holders, resolved, strict=True)
                if holder.id != target
            }
    return wanted, unresolved


def _holders(nodes: Sequence[Node], places: Iterable[int]) -> Iterator[Node]:
    """Yield the innermost node whose source holds each of some places; the root where none does.

    Args:
        nodes: of one document, in reading order: what lies in a node follows it.
        places: in code points, rising.
    """
    open_nodes = [nodes[0]]
    coming = deque(nodes[1:])
    for at in places:
        while coming and coming[0].span[0] <= at:
            open_nodes.append(coming.popleft())
        # What has ended here holds no later place either.
        while len(open_nodes) > 1 and open_nodes[-1].span[1] <= at:
            open_nodes.pop()
        yield open_nodes[-1]
