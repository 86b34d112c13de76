"""Rebuild: make a broken tier anew from what is readable of it, and from the mirror.

    rows of the old file -> every text that is what its digest says
                         -> of the others, and of what is gone, the page of the mirror
                         -> nodes, words and counts anew

Nothing is opened as a home, which may be broken anywhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path

from ringwood.embed.choose import WORDS
from ringwood.engine.base import NodeWrite
from ringwood.engine.checking import Record
from ringwood.engine.sqlite.salvage import Draft, Known, drafting
from ringwood.parse.tree import ParseOptions
from ringwood.types import Document, State, Tier, address_of
from ringwood.upkeep.checking.findings import Progress
from ringwood.upkeep.checking.shape import shape_fault
from ringwood.write.again import is_said_by, nodes_again, parse_again
from ringwood.write.draft import sha256_of
from ringwood.write.mirror import mirror_path
from ringwood.write.mirrored import Mirrored, Skipped, read_mirror, read_mirrored
from ringwood.write.nodes import terms_of
from ringwood.write.page import Page, PageError
from ringwood.write.paths import numbered
from ringwood.write.tombstones import source_hash

_BATCH = 50
"""Documents in one transaction of the new file."""
_KEPT_SKIPPED = 1000
"""Files of the mirror that are listed as skipped."""


@dataclass(frozen=True, slots=True)
class Rescue:
    """What is to be made anew, and from what."""

    tier: Tier
    """Which tier."""
    path: Path
    """Where its file lies."""
    mirror_root: str
    """Folder of the mirror."""
    rest: Mapping[Tier, Known]
    """What the other tiers that can be read hold."""
    take_all: bool
    """Take in every page that no tier has; else only those of documents that were here."""
    words_only: bool = False
    """Whether the home, as far as it is told, goes by words alone."""
    parse: ParseOptions = field(default_factory=ParseOptions)
    """How texts are cut."""
    on_progress: Progress = lambda what, done, total: None
    """Told what is done."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What a tier holds now, or would."""

    tier: Tier
    """Which tier."""
    documents: int
    """Documents, read back."""
    readable: int
    """Those whose text was whole in the old file."""
    from_mirror: int
    """Those whose text is the mirror's."""
    altered: tuple[str, ...] = ()
    """Addresses of documents kept with a text that is not what it was: the mirror has none."""
    lost: tuple[int, ...] = ()
    """Ids of documents that neither the old file nor the mirror gives."""
    unreadable: tuple[str, ...] = ()
    """Tables of the old file of which something could not be read."""
    skipped: tuple[Skipped, ...] = ()
    """Files of the mirror that were not used, each with its reason."""
    kept: str | None = None
    """The old file's name now."""


def rebuild(rescue: Rescue, draft_at: Path, *, exists: bool) -> Rebuilt:
    """Make the new file of one tier; the gate is held. Nothing is put in place.

    Raises:
        BusyError, StorageError: when the disk refuses.
    """
    source = rescue.path if exists and rescue.path.is_file() else None
    with drafting(rescue.tier, source, draft_at) as draft:
        return _Rebuilding(rescue, draft).run()


@dataclass(frozen=True, slots=True)
class _Altered:
    """A document whose text is not what it was."""

    document: Document
    """Its card, which says so."""
    text: str
    """What there is of it; what is no character is replaced."""
    exchange: bool
    """Whether it is what two said to each other."""


class _Rebuilding:
    """One tier on its way."""

    def __init__(self, rescue: Rescue, draft: Draft) -> None:
        self._rescue = rescue
        self._draft = draft
        self._rest = tuple(rescue.rest.values())
        self._elsewhere = {each for known in self._rest for each in known.documents}
        self._skipped: list[Skipped] = []
        self._used = list(largest((draft.known(), *self._rest)))
        self._settings: dict[str, str] = {}
        self._forgotten: set[tuple[str, str]] = set()
        for known in (draft.known(), *self._rest):
            self._settings |= known.settings
            self._forgotten |= known.forgotten

    def run(self) -> Rebuilt:
        """Sort out what was copied, fill the gaps from the mirror, make the rest anew."""
        draft = self._draft
        draft.adopt_spaces(self._spaces({}))
        whole, wanting = self._sorted_out()
        pages = self._pages(frozenset(whole), wanting)
        draft.adopt_spaces(self._spaces(pages))
        self._remake(whole)
        self._take_in(pages)
        held = draft.known().documents
        altered = [
            self._keep(each)
            for identity, each in sorted(wanting.items())
            if each is not None and identity not in held
        ]
        with draft.writing() as (_, mender):
            mender.drop_orphans()
            mender.recount()
        draft.expect_vectors(self._settings.get("embedder_identity"))
        if self._rescue.tier == "hot":
            draft.advance(largest((draft.known(), *self._rest)))
        held = draft.known().documents
        return Rebuilt(
            tier=self._rescue.tier,
            documents=len(held),
            readable=len(whole),
            from_mirror=len(pages.keys() & held),
            altered=tuple(altered),
            lost=tuple(sorted(wanting.keys() - held)),
            unreadable=tuple(draft.copied.lost),
            skipped=tuple(self._skipped[:_KEPT_SKIPPED]),
        )

    def _sorted_out(self) -> tuple[list[int], dict[int, _Altered | None]]:
        """Tell the documents whose text is what its digest says from those that are wanting."""
        whole: list[int] = []
        wanting: dict[int, _Altered | None] = dict.fromkeys(self._draft.traces())
        for identity in sorted(self._draft.known().documents):
            record = self._draft.inspector.record(identity)
            document = None if record is None else record.document
            if record is None or document is None:
                wanting[identity] = None
            elif document.sha256 == record.sha256:
                whole.append(identity)
            else:
                text = self._draft.text_as_it_is(identity)
                exchange = any(node.actor for node in record.nodes or ())
                wanting[identity] = _Altered(document, text, exchange)
        for identity in wanting:
            self._draft.drop(identity)
        return whole, wanting

    # -- the mirror ----------------------------------------------------------------------------

    def _pages(self, whole: Collection[int], wanting: Collection[int]) -> dict[int, Mirrored]:
        """Choose the pages that are to come in, without their texts, by id of their document."""
        found: dict[int, Mirrored] = {}
        displaced: list[Mirrored] = []  # the home began anew, and gave their ids to others
        for each in self._read_mirror():
            document = each.page.document
            if document.id in self._elsewhere or self._is_held(each.page, whole):
                continue
            if not self._rescue.take_all and document.id not in wanting:
                self._skip(each.file, "no tier that can be read has it; it may lie in another")
            elif self._is_forgotten(document):
                self._skip(each.file, "its source was forgotten")
            elif document.id in whole:
                displaced.append(each)
            else:
                worse = min(found.get(document.id, each), each, key=_quality)
                if document.id in found:
                    self._skip(worse.file, "another file has its id")
                if worse is not each or document.id not in found:
                    found[document.id] = each
        free = max((self._used[0], *found)) + 1
        return found | dict(enumerate(displaced, free))

    def _is_held(self, page: Page, whole: Collection[int]) -> bool:
        """Say whether a document is there: its id, and the moment at which it was taken in."""
        if page.document.id not in whole:
            return False
        record = self._draft.inspector.record(page.document.id)
        held = None if record is None else record.document
        if held is None or not self._rescue.take_all:
            return True
        then = held.stored_at if page.titled else held.stored_at.replace(microsecond=0)
        return then == page.document.stored_at

    def _read_mirror(self) -> Iterator[Mirrored]:
        for done, each in enumerate(read_mirror(self._rescue.mirror_root)):
            self._rescue.on_progress("mirror", done, None)
            if isinstance(each, Skipped):
                self._skip(each.file, each.reason)
            else:  # its text is read once more when it comes in: all at once may be too much
                yield replace(each, page=replace(each.page, text=""))

    def _is_forgotten(self, document: Document) -> bool:
        if document.source is None:
            return False
        return (document.space, source_hash(document.source)) in self._forgotten

    def _skip(self, file: str, reason: str) -> None:
        self._skipped.append(Skipped(file, reason))

    def _spaces(self, pages: Mapping[int, Mirrored]) -> dict[str, tuple[int, str | None]]:
        """Give every space the number that the home knows it by, and a key where none is known."""
        spaces: dict[str, tuple[int, str | None]] = {}
        for known in (self._draft.known(), *self._rest):
            for name, (number, key) in known.spaces.items():
                spaces.setdefault(name, (number, key))
        claims: dict[str, set[str]] = {}
        for each in pages.values():
            keys = claims.setdefault(each.page.document.space, set())
            keys.update([each.page.key] if each.page.key else [])
        for name, keys in sorted(claims.items()):
            if name not in spaces:
                self._used[2] += 1
                spaces[name] = (self._used[2], None)
            others = {key for other, theirs in claims.items() if other != name for key in theirs}
            if len(keys) == 1 and not keys & others:  # else nobody knows whose it is
                spaces[name] = (spaces[name][0], spaces[name][1] or min(keys))
        return spaces

    # -- documents -----------------------------------------------------------------------------

    def _remake(self, whole: Sequence[int]) -> None:
        """Make the words of what was copied, and the nodes that are not what their text says."""
        for start in range(0, len(whole), _BATCH):
            self._rescue.on_progress("documents", start, len(whole))
            batch = whole[start : start + _BATCH]
            records = [each for each in map(self._draft.inspector.record, batch) if each]
            sound = [each for each in records if self._is_sound(each)]
            with self._draft.writing() as (_, mender):
                for record in sound:
                    mender.put_words(record.space, terms_of(record.nodes or ()))
            for record in records:
                if record not in sound:
                    self._put(_Altered(_card(record), record.text or "", _is_exchange(record)))

    def _is_sound(self, record: Record) -> bool:
        """Say whether the nodes of a document are those of its text."""
        document, text = _card(record), record.text or ""
        if record.nodes is None or record.strays:
            return False
        if shape_fault(document, text, record.nodes) is not None:
            return False
        exchange, options = _is_exchange(record), self._rescue.parse
        parsed = parse_again(document, text, exchange=exchange, options=options)
        return is_said_by(parsed, record.nodes)

    def _take_in(self, pages: Mapping[int, Mirrored]) -> None:
        """Store the chosen pages under the ids, paths and stamps that they name."""
        for done, (identity, chosen) in enumerate(sorted(pages.items())):
            self._rescue.on_progress("from the mirror", done, len(pages))
            try:
                page = read_mirrored(self._rescue.mirror_root, chosen.file)
            except PageError as error:
                self._skip(chosen.file, str(error))
                continue
            document = self._placed(page, identity)
            self._put(_Altered(document, page.text, page.exchange))
            same = identity == page.document.id and chosen.file == mirror_path(document)
            if page.titled and same:
                with self._draft.writing() as (writer, _):
                    writer.set_mirrored(document.id, document.sha256, chosen.file)

    def _placed(self, page: Page, identity: int) -> Document:
        """Give a document a path that is free, and its text's title where the head has none."""
        document = replace(page.document, id=identity)
        taken = partial(self._draft.has_path, document.space, but=document.id)
        path = numbered(document.path, lambda path: not taken(path))
        source = document.source
        if source is not None and self._draft.has_source(document.space, source):
            source = None
        document = replace(document, path=path, source=source)
        if page.titled:
            return document
        options = self._rescue.parse
        parsed = parse_again(document, page.text, exchange=page.exchange, options=options)
        return replace(document, title=parsed.title)

    def _keep(self, altered: _Altered) -> str:
        """Keep a text that is not what it was, since there is no better; return its address."""
        document = replace(altered.document, sha256=sha256_of(altered.text))
        self._put(replace(altered, document=document))
        return address_of(document.space, document.path)

    def _put(self, given: _Altered) -> None:
        """Store a document with nodes made from its text.

        Nodes keep their ids, paths and counts where there were as many before.
        """
        settings, words = self._settings.get("embedder"), self._rescue.words_only
        words = words if settings is None else settings == WORDS
        state: State = "ready" if words else "pending"
        document = replace(given.document, tier=self._rescue.tier, state=state, error=None)
        nodes = self._nodes(document, given.text, exchange=given.exchange)
        self._draft.drop(document.id, nodes=True)
        with self._draft.writing() as (writer, _):
            writer.put_document(document, given.text, nodes)

    def _nodes(self, document: Document, text: str, *, exchange: bool) -> list[NodeWrite]:
        parsed = parse_again(document, text, exchange=exchange, options=self._rescue.parse)
        held = self._draft.inspector.outline(document.id)
        taken = partial(self._draft.has_path, document.space, but=document.id)
        if len(held) == len(parsed.nodes):
            ids, had = [each[0] for each in held], [each[1] for each in held]
            access = {each[0]: each[2] for each in held}
        else:
            ids, had, access = [self._used[1] + 1 + at for at in range(len(parsed.nodes))], [], {}
            self._used[1] += len(ids)
        return nodes_again(
            document, parsed, ids, access=access, had=had, is_free=lambda path: not taken(path)
        )


def largest(known: Iterable[Known]) -> tuple[int, int, int]:
    """Say the largest ids of a document, a node and a space that were ever given."""
    documents, nodes, spaces = zip(*(each.largest for each in known), strict=True)
    return max(documents), max(nodes), max(spaces)


def _quality(each: Mirrored) -> tuple[bool, datetime]:
    """Rank files that claim one id: where it belongs, then as it was last."""
    return each.file == mirror_path(each.page.document), each.page.document.changed_at


def _card(record: Record) -> Document:
    if record.document is None:
        raise ValueError("what has no card is wanting")
    return record.document


def _is_exchange(record: Record) -> bool:
    return any(node.actor for node in record.nodes or ())
