"""From a text to the tree of its nodes. Pure: no file, no clock, no model.

`parse_document` is the way in, `parse_exchange` that of what two said to each other.
Front matter is read first, then the block structure; headings, also numbered ones, become sections;
items and quotes become nodes that hold nodes; all else becomes leaves. Then names are given, from
the root down.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from ringwood.parse.blocks import Block, BlockKind, parse_blocks
from ringwood.parse.exchange import TurnSpan, shifted, turn_spans
from ringwood.parse.frontmatter import read_front_matter
from ringwood.parse.leaves import Piece, leaf_pieces, leaf_text
from ringwood.parse.outline import number_sections
from ringwood.parse.paths import UNTITLED, Paths, first_words, one_line, plain, slug
from ringwood.text.sentences import clip
from ringwood.types import Actor, Kind, Span


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """How a text is cut into nodes."""

    max_leaf_chars: int = 900
    """Longer leaves are cut. What one node may inject (`max_node_chars`), and about what the
    bundled model reads of a passage."""
    section_chars: int = 1200
    """Length of a section's text, heading and direct paragraphs. More than a leaf, so that a short
    section is whole; bounded, because what comes first says what a section is about."""
    max_depth: int = 32
    """Items and quotes nested deeper become one leaf. A thousand real files nest five deep; a line
    of `- - -` nests half a million."""
    max_path_parts: int = 12
    """Parts of a path, the document's own counted. Deeper nodes hang below the last ancestor that
    has room, so that a path stays one that people can read and file systems take."""
    max_slug_chars: int = 60
    """Length of one part: most headings whole, and at four bytes a character below the 255 bytes
    of a file name."""


DEFAULTS = ParseOptions()

MAX_TITLE_CHARS = 200
"""A longer heading is a paragraph: in a thousand real files headings end at 130, and a text right
above a `---` line is a heading to CommonMark. Other titles are clipped here."""

_KINDS: Mapping[BlockKind, Kind] = {
    "heading": "paragraph",  # in a container, or too long for a title
    "paragraph": "paragraph",
    "html": "paragraph",
    "code": "code",
    "table": "table",
    "item": "item",
    "quote": "quote",
}

_SAID = frozenset({"title", "date", "created"})
"""Front matter that the root's title and stamps say already."""


@dataclass(frozen=True, slots=True)
class ParsedNode:
    """One addressable piece of a text."""

    parent: int | None
    """Index of the node above it; None for the root."""
    kind: Kind
    """What it is."""
    title: str
    """Heading with inline markup resolved, or the first words of a leaf. One line."""
    path: str
    """Unique in the document and relative to it: `""` for the root, `/section/leaf` below."""
    span: Span
    """Its exact source with everything below it, in code points of the text."""
    own: Span
    """Its own words in the source: a heading, a leaf whole, the first paragraph of an item or quote
    that holds more, front matter and title of the root. Empty where there are none. In the order
    of nodes these ranges are ordered and disjoint, and between them lie only white space, markers
    of containers, tasks and alerts, thematic breaks and link definitions."""
    text: str
    """What is indexed and shown: markers stripped, inline markup as written. Of a section and of
    the root: title and direct paragraphs."""
    actor: Actor | None = None
    """Who said it, in an exchange; else None."""


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A text as a tree."""

    title: str
    """One line, never empty; see CONTRACT, "What a document is"."""
    slug: str
    """The title as one part of a path."""
    created: datetime | None
    """From front matter. UTC."""
    meta: Mapping[str, str]
    """Front matter: scalars by key."""
    nodes: tuple[ParsedNode, ...]
    """In reading order; the first is the root."""


@dataclass(slots=True)
class _Draft:
    """A node while its end, text and path are not known."""

    parent: int
    kind: Kind
    title: str
    own: Span
    text: str
    start: int
    end: int
    actor: Actor | None = None


def parse_document(
    text: str,
    *,
    title: str | None = None,
    stem: str | None = None,
    options: ParseOptions = DEFAULTS,
) -> ParsedDocument:
    """Cut `text` into the tree of its nodes; the same text always gives the same tree.

    Takes any string and raises nothing. Linear in its length, without recursion. The title is
    `title`, else that of the front matter, else a single leading H1, which then is the root, else
    `stem`, else the first words, else `untitled`.
    """
    front = read_front_matter(text)
    below = "\n" * front.end + text[front.end :]
    blocks = [_bounded(block) for block in parse_blocks(below, max_depth=options.max_depth)]
    blocks = number_sections(text, blocks)
    lead = _leading_h1(blocks)
    given = one_line(title or "") or front.title or ""
    if lead is not None and given and _folded(given) != _folded(lead.title):
        lead = None
    tree = _Tree(text, options)
    tree.add_root(front.end, lead)
    tree.add_blocks(blocks if lead is None else blocks[1:])
    first = next((draft.title for draft in tree.drafts if draft.title), UNTITLED)
    name = given or (lead.title if lead is not None else "") or one_line(stem or "") or first
    name = clip(name, MAX_TITLE_CHARS)
    return ParsedDocument(
        title=name,
        slug=slug(name, options.max_slug_chars),
        created=front.created,
        meta=front.meta,
        nodes=tuple(tree.nodes(name, front.meta)),
    )


def parse_exchange(
    text: str, *, title: str | None = None, options: ParseOptions = DEFAULTS
) -> ParsedDocument:
    """Cut an exchange into the tree of its nodes: a section for each turn, what was said below it.

    The title is `title`, else the first words that were said. A text that does not begin with a
    turn is read as any other. Everything else as `parse_document`.
    """
    turns = turn_spans(text)
    if not turns:
        return parse_document(text, title=title, options=options)
    tree = _Tree(text, options)
    tree.add_root(0, None)
    for turn in turns:
        start, end = turn.said
        said = text[start:end]
        blocks = [_bounded(block) for block in parse_blocks(said, max_depth=options.max_depth)]
        tree.add_turn(turn, list(shifted(number_sections(said, blocks), start)))
    name = one_line(title or "") or tree.first_words() or UNTITLED
    name = clip(name, MAX_TITLE_CHARS)
    root, *below = tree.nodes(name, {})
    return ParsedDocument(
        title=name,
        slug=slug(name, options.max_slug_chars),
        created=None,
        meta={},
        # Nobody gave it a title: as a text of its own it would be a sentence cut short.
        nodes=(replace(root, text=""), *below),
    )


def _bounded(block: Block) -> Block:
    """Take the level, and so the section, from a heading that is no title."""
    return replace(block, level=0) if len(block.title) > MAX_TITLE_CHARS else block


def _leading_h1(blocks: list[Block]) -> Block | None:
    """Return the first block when it is the only H1."""
    titles = [block for block in blocks if block.level == 1]
    return titles[0] if len(titles) == 1 and titles[0] is blocks[0] else None


def _folded(title: str) -> str:
    return one_line(title).casefold()


class _Tree:
    """Grows drafts in reading order, then turns them into nodes."""

    def __init__(self, text: str, options: ParseOptions) -> None:
        self.drafts: list[_Draft] = []
        self._text = text
        self._options = options
        self._sections: list[tuple[int, int]] = []
        """Level and index of the sections that are open, outermost first."""

    def add_root(self, front_end: int, lead: Block | None) -> None:
        """Begin with the document itself, whose own words are front matter and title."""
        start = 0 if front_end or lead is None else lead.span[0]
        end = front_end if lead is None else lead.span[1]
        self.drafts.append(_Draft(-1, "document", "", (start, end), "", 0, len(self._text)))

    def add_blocks(self, blocks: list[Block]) -> None:
        """Hang the top-level blocks, and all they hold, below the sections they stand in."""
        self._add_all(blocks)
        self._close_sections(0, len(self._text))

    def _add_all(self, blocks: list[Block]) -> None:
        for block in blocks:
            if block.level:
                self._close_sections(block.level, block.span[0])
                self._add_section(block, self._section())
            else:
                self._add_block(block, self._section())

    def add_turn(self, turn: TurnSpan, blocks: list[Block]) -> None:
        """Open a section for a turn, which no heading in it can close, and hang its blocks below.

        Ends where the blocks end: what follows begins a turn of its own.
        """
        self._close_sections(0, turn.fence[0])
        begun = len(self.drafts)
        self._sections.append((0, begun))
        name = turn.actor.capitalize()
        self._add("section", 0, Piece(turn.fence, name), name)
        self._add_all(blocks)
        self._close_sections(0, turn.said[1])
        for draft in self.drafts[begun:]:
            draft.actor = turn.actor

    def first_words(self) -> str:
        """Return the title of the first node that is no turn; empty when there is none."""
        return next((each.title for each in self.drafts if each.parent > 0 and each.title), "")

    def _add_section(self, heading: Block, parent: int) -> None:
        self._sections.append((heading.level, len(self.drafts)))
        line = " ".join(leaf_text(self._text, heading).split("\n"))
        self._add("section", parent, Piece(heading.span, line), heading.title)

    def _section(self) -> int:
        return self._sections[-1][1] if self._sections else 0

    def _close_sections(self, level: int, end: int) -> None:
        while self._sections and self._sections[-1][0] >= level:
            section = self.drafts[self._sections.pop()[1]]
            section.end = section.start + len(self._text[section.start : end].rstrip())

    def _add_block(self, top: Block, section: int) -> None:
        waiting = [(top, section)]
        while waiting:
            block, parent = waiting.pop()
            if block.kind not in ("item", "quote"):
                self._add_leaf(block, parent)
                continue
            words, held = _own_words(block)
            if words is not None:
                parent = self._add_container(block, words, parent, leaf=not held)
            waiting.extend((child, parent) for child in reversed(held))

    def _add_container(self, block: Block, words: Block, parent: int, *, leaf: bool) -> int:
        """Add an item or quote with its first paragraph; return where what it holds hangs."""
        kind = _KINDS[block.kind]
        first, *more = self._pieces(words)
        own = (block.span[0], first.own[1]) if leaf else first.own
        index = self._add(kind, parent, Piece(own, first.text), words.title)
        self.drafts[index].start = block.span[0]
        for piece in more:
            self._add(kind if leaf else "paragraph", parent if leaf else index, piece)
        return index

    def _add_leaf(self, block: Block, parent: int) -> None:
        for piece in self._pieces(block):
            self._add(_KINDS[block.kind], parent, piece)

    def _pieces(self, block: Block) -> list[Piece]:
        return leaf_pieces(self._text, block, self._options.max_leaf_chars)

    def _add(self, kind: Kind, parent: int, piece: Piece, title: str = "") -> int:
        name = clip(title, MAX_TITLE_CHARS) or first_words(piece.text)
        if kind in ("paragraph", "item"):
            self._tell(self.drafts[parent], piece.text)
        self.drafts.append(_Draft(parent, kind, name, piece.own, piece.text, *piece.own))
        return len(self.drafts) - 1

    def _tell(self, above: _Draft, words: str) -> None:
        """Let the words of a paragraph count as those of the section it stands directly below.

        What follows a subsection stands below that one, so these are the words before the first.
        """
        if above.kind in ("document", "section") and len(above.text) < self._options.section_chars:
            above.text = f"{above.text}\n{words}" if above.text else words

    def nodes(self, title: str, meta: Mapping[str, str]) -> Iterator[ParsedNode]:
        """Yield the finished nodes in reading order."""
        self._finish_texts(title, meta)
        for draft in reversed(self.drafts[1:]):
            above = self.drafts[draft.parent]
            above.end = max(above.end, draft.end)
        self.drafts[0].title = title
        paths = Paths(self._options.max_path_parts, self._options.max_slug_chars)
        given = [""]
        for draft in self.drafts[1:]:
            given.append(paths.below(given[draft.parent], draft.title))
        for draft, path in zip(self.drafts, given, strict=True):
            yield ParsedNode(
                parent=draft.parent if draft.parent >= 0 else None,
                kind=draft.kind,
                title=draft.title,
                path=path,
                span=(draft.start, draft.end),
                own=draft.own,
                text=draft.text,
                actor=draft.actor,
            )

    def _finish_texts(self, title: str, meta: Mapping[str, str]) -> None:
        limit = self._options.section_chars
        root, *below = self.drafts
        said = [value for key, value in meta.items() if key.casefold() not in _SAID]
        if said or not plain(root.text).startswith(title):
            said.insert(0, title)  # else the first words are the title
        root.text = clip("\n".join([*said, root.text]).rstrip("\n"), limit)
        for draft in below:
            if draft.kind == "section":
                draft.text = clip(draft.text, limit)


def _own_words(container: Block) -> tuple[Block | None, tuple[Block, ...]]:
    """Part an item or quote into its first paragraph, where it begins with one, and the rest."""
    held = container.children
    if held and held[0].kind in ("paragraph", "heading", "html"):
        return held[0], held[1:]
    return None, held
