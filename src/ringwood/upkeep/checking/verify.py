"""Verify: look at everything a home holds, and say what is wrong and which command mends it.

    each tier: its file -> every document: digest, nodes, vectors, mirror -> words -> what is left
    then: edges, copies and counters across the tiers -> spool, log, modes

One document is judged in one snapshot. Nothing is written here; `checking/mend.py` does that.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ringwood.capture import spool
from ringwood.engine.base import Engine
from ringwood.engine.checking import Inspection, Inspector, Record, Standing
from ringwood.errors import BusyError, DamagedError, StorageError
from ringwood.parse.tree import ParseOptions
from ringwood.recall.usage import unpack
from ringwood.types import TIERS, Document, Tier, address_of
from ringwood.upkeep.checking.findings import MEND, Findings, Progress, Verified
from ringwood.upkeep.checking.modes import open_to_others
from ringwood.upkeep.checking.shape import shape_fault
from ringwood.write.again import is_said_by, parse_again
from ringwood.write.mirrored import mirror_files, read_mirrored
from ringwood.write.nodes import terms_of
from ringwood.write.page import PageError, same_document
from ringwood.write.remembered import remembered
from ringwood.write.tombstones import source_hash, text_hash

_REJUDGED = 2000
"""Documents whose words are looked at twice: more are wrong only where the index is."""


@dataclass(frozen=True, slots=True)
class Look:
    """What to look at, and how closely."""

    home: str
    """The home's folder."""
    inspection: Inspection
    """Its files."""
    engine: Engine | None
    """Its memory; None where hot cannot be opened: then less is looked at."""
    mirror_root: str | None
    """Folder of the mirror; None where there is to be none."""
    parse: ParseOptions = field(default_factory=ParseOptions)
    """How texts are cut."""
    embedded: Sequence[Tier] = TIERS
    """Tiers whose nodes have vectors."""
    quick: bool = False
    """Digests, trees and SQLite's quick check alone: no words, no mirror, no index of the file."""


def verify(
    look: Look, on_progress: Progress = lambda what, done, total: None, *, mended: int = 0
) -> Verified:
    """Look at everything a home holds.

    Args:
        look: what, and how closely.
        on_progress: told what is looked at. May raise to stop.
        mended: what the report is to say was mended before.

    Raises:
        SchemaError: when a newer Ringwood wrote a tier.
        BusyError, StorageError: when something cannot be read for the moment. That is no damage.
    """
    return Verification(look, on_progress).run(mended)


class Verification:
    """One look at a home."""

    def __init__(self, look: Look, on_progress: Progress) -> None:
        """Prepare."""
        self._look = look
        self._on_progress = on_progress
        self.findings = Findings()
        """What was found."""
        self.again: dict[Tier, dict[int, set[str]]] = {tier: {} for tier in TIERS}
        """Documents to be mended, per tier, each with what is wrong."""
        self.rebuild: set[Tier] = set()
        """Tiers whose word index is wrong as a whole."""
        self._files: set[str] = set()
        self._counts = dict.fromkeys(("documents", "versions", "nodes", "vectors", "files"), 0)
        self.identity = self._embedder()
        """Under which vectors recall goes by; None by words alone."""

    def run(self, mended: int = 0) -> Verified:
        """Look at everything once."""
        standing = {tier: self._standing(tier) for tier in TIERS}
        for tier, how in standing.items():
            if how == "present":
                self.look_at(tier)
            elif how != "unreadable":
                self._absent(tier, damaged=how == "damaged")
        self._across(whole=all(how == "present" for how in standing.values()))
        self._around()
        return Verified(
            **self._counts,
            findings=self.findings.listed,
            counts=dict(self.findings.counts),
            mended=mended,
            notes=tuple(self.findings.notes),
        )

    def _standing(self, tier: Tier) -> Standing:
        """Say whether a tier can be looked at; of a colder one, what is in the way is told."""
        try:
            return self._look.inspection.standing(tier)
        except BusyError:
            raise
        except StorageError as error:
            if tier == "hot":
                raise
            self.findings.add("file", f"the {tier} tier", tier, "fault", error.message, error.mend)
            return "unreadable"

    def _embedder(self) -> str | None:
        if self._look.engine is None:
            return None
        with self._look.engine.reading() as reader:
            known = remembered(reader)
        return (known.identity or None) if known is not None else None

    # -- one tier ------------------------------------------------------------------------------

    def _absent(self, tier: Tier, *, damaged: bool) -> None:
        if damaged:
            says, mend = "its file cannot be read", f"ringwood salvage {tier}"
            self.findings.add("file", f"the {tier} tier", tier, "damage", says, mend)
        else:
            says = "its file is not there"
            mend = f"mount it or put it back; if it is gone for good: ringwood salvage {tier}"
            self.findings.add("file", f"the {tier} tier", tier, "fault", says, mend)

    def look_at(self, tier: Tier) -> None:
        """Look at one tier; where its file is broken, the look at it ends there."""
        try:
            with self._look.inspection.inspecting(tier) as inspector:
                self._file(tier, inspector)
                words = self._documents(tier, inspector)
                if not self._look.quick:
                    self._words(tier, inspector, words)
                self._left_over(tier, inspector)
        except DamagedError as error:
            self._broken(tier, error.message)

    def _broken(self, tier: Tier, says: str) -> None:
        where = f"the {tier} tier"
        self.findings.add("file", where, tier, "damage", says, f"ringwood salvage {tier}")

    def _file(self, tier: Tier, inspector: Inspector) -> None:
        self._on_progress(f"pages, {tier}", 0, None)
        for told in inspector.complaints(quick=self._look.quick):
            if "fts5" in told.casefold():
                self.rebuild.add(tier)
                self.findings.add("words", f"the {tier} tier", tier, "fault", told, MEND)
            else:
                self._broken(tier, told)

    def _documents(self, tier: Tier, inspector: Inspector) -> dict[int, tuple[int | None, int]]:
        """Look at every document; return what the word index should hold, with its document."""
        words: dict[int, tuple[int | None, int]] = {}
        waiting = inspector.documents()
        for done, identity in enumerate(waiting):
            self._on_progress(f"documents, {tier}", done, len(waiting))
            try:
                record = inspector.record(identity)
            except DamagedError as error:
                self._broken(tier, f"document {identity}: {error.message}")
                continue
            if record is not None:
                is_whole = self._document(tier, record)
                if not self._look.quick:
                    words.update(_expected(inspector, record, is_whole=is_whole))
        return words

    def _document(self, tier: Tier, record: Record) -> bool:
        """Look at one document; False when its text is not what it was."""
        self._counts["documents"] += 1
        self._counts["versions"] += record.versions
        document, salvage = record.document, f"ringwood salvage {tier}"
        where = f"document {record.id}"
        if document is not None:
            where = address_of(document.space, document.path)
        if document is None:
            self.findings.add("card", where, tier, "damage", "its card cannot be read", salvage)
        elif record.text is None or record.sha256 != document.sha256:
            says = "its text is not the one that was stored"
            self.findings.add("text", where, tier, "damage", says, salvage)
        elif record.nodes is None:
            self._fault(tier, record.id, "nodes", where, "its nodes cannot be read")
        else:
            self._parts(tier, record, document, where)
        if record.bad_versions:
            says = f"{record.bad_versions} of its earlier texts are not what they were"
            self.findings.add("versions", where, tier, "damage", says, salvage)
        return document is not None and record.sha256 == document.sha256

    def _parts(self, tier: Tier, record: Record, document: Document, where: str) -> None:
        """Look at what was made from a text that is whole."""
        text, nodes = record.text or "", record.nodes or ()
        self._counts["nodes"] += len(nodes)
        self._counts["vectors"] += len(record.vectors)
        wrong = shape_fault(document, text, nodes)
        if wrong is None and record.strays:
            wrong = f"{record.strays} of its nodes lie in another space"
        if wrong is None and not self._look.quick:
            exchange = any(node.actor for node in nodes)
            parsed = parse_again(document, text, exchange=exchange, options=self._look.parse)
            if not is_said_by(parsed, nodes):
                wrong = "its nodes do not say what its text says"
        if wrong is not None:
            self._fault(tier, record.id, "nodes", where, wrong)
        self._vectors(tier, record, document, where)
        self._kept_out(tier, record, document, where)
        if not self._look.quick and self._look.mirror_root is not None:
            self._mirror(tier, record, document, where)

    def _vectors(self, tier: Tier, record: Record, document: Document, where: str) -> None:
        misfits = sum(not each.fits for each in record.vectors)
        if misfits:
            says = f"{misfits} of its vectors do not fit their nodes"
            self._fault(tier, record.id, "vectors", where, says)
        if self.identity is None or document.state != "ready" or tier not in self._look.embedded:
            return
        held = {each.node for each in record.vectors if each.embedder == self.identity}
        due = [node.id for node in record.nodes or () if node.script or node.length]
        lacking = sum(node not in held for node in due)
        if lacking:
            says = f"{lacking} of its nodes have no vector"
            self._fault(tier, record.id, "lacking", where, says)

    def _kept_out(self, tier: Tier, record: Record, document: Document, where: str) -> None:
        """See that nothing lies there whose source was forgotten; without one, whose text was."""
        if self._look.engine is None:
            return
        source = document.source
        known_by = text_hash(record.text or "", None) if source is None else source_hash(source)
        with self._look.engine.reading() as reader:
            forgotten = reader.tombstoned(document.space, [known_by])
        if forgotten and self._is_as_read(tier, record):  # else it was forgotten just now
            what = "text" if source is None else "source"
            says = f"its {what} was forgotten, and yet it is stored"
            mend = f"ringwood forget --document {document.id}, or import it with --again"
            self.findings.add("forgotten", where, tier, "fault", says, mend)

    def _mirror(self, tier: Tier, record: Record, document: Document, where: str) -> None:
        if record.mirrored is None:
            return  # its file is to come
        self._files.add(record.mirrored)
        self._counts["files"] += 1
        try:
            page = read_mirrored(self._look.mirror_root or "", record.mirrored)
            says = "" if same_document(page, document, record.text or "") else "it differs"
        except PageError as error:
            says = str(error)
        if says and self._is_as_read(tier, record):
            says = f"its file {record.mirrored}: {says}"
            self._fault(tier, record.id, "mirror", where, says)

    def _is_as_read(self, tier: Tier, record: Record) -> bool:
        """Say whether a document is still the one that was read: somebody may have changed it."""
        with self._look.inspection.inspecting(tier) as inspector:
            now = inspector.record(record.id)
        return now is not None and now.document == record.document

    def _fault(self, tier: Tier, document: int, what: str, where: str, says: str) -> None:
        self.again[tier].setdefault(document, set()).add(what)
        self.findings.add(what, where, tier, "fault", says, MEND)

    # -- words ---------------------------------------------------------------------------------

    def _words(
        self, tier: Tier, inspector: Inspector, expected: Mapping[int, tuple[int | None, int]]
    ) -> None:
        """Compare the word index with the nodes; what differs is judged anew in one snapshot."""
        self._on_progress(f"words, {tier}", 0, None)
        held = inspector.word_sums()
        documents = {
            document
            for node, (total, document) in expected.items()
            if total is not None and held.get(node, 0) != total
        }
        strays = held.keys() - expected.keys()
        if not documents and not strays:
            return
        judged = sorted(documents)[:_REJUDGED]
        records, sums = inspector.with_words(judged, sorted(strays)[:_REJUDGED])
        for record in records:
            now = _expected(inspector, record)
            wrong = sum(sums.get(node, 0) != total for node, (total, _) in now.items())
            if wrong:
                where = f"document {record.id}"
                if record.document is not None:
                    where = address_of(record.document.space, record.document.path)
                says = f"the words of {wrong} of its nodes are not those of their texts"
                self._fault(tier, record.id, "words", where, says)
        known = {node.id for record in records for node in record.nodes or ()}
        lost = [node for node in sums if node not in known and sums[node]]
        if lost:
            self.rebuild.add(tier)
            says = f"the word index names {len(lost)} nodes that are not there"
            self.findings.add("words", f"the {tier} tier", tier, "fault", says, MEND)

    # -- what is left over, and what lies around ------------------------------------------------

    def _left_over(self, tier: Tier, inspector: Inspector) -> None:
        where = f"the {tier} tier"
        for space in inspector.miscounted():
            says = f"the nodes of the space {space} are counted wrongly"
            self.findings.add("counts", where, tier, "fault", says, MEND)
        orphans = inspector.orphans()
        for what, found in (("vectors", orphans.vectors), ("nodes", orphans.nodes)):
            if found:
                says = f"{len(found)} {what} belong to nothing, the first of node {found[0]}"
                self.findings.add(what, where, tier, "fault", says, MEND)
        if orphans.aliases:
            says = f"{len(orphans.aliases)} old paths of documents that are not there"
            self.findings.add("aliases", where, tier, "fault", says, MEND)
        unread = sum(not _is_log(payload) for _, payload in inspector.logs())
        if unread:
            says = f"{unread} recalls in the log cannot be read; `explain` cannot tell of them"
            self.findings.add(
                "log", where, tier, "untidy", says, "nothing: newer ones replace them"
            )

    def _across(self, *, whole: bool) -> None:
        """Look at all tiers together."""
        if self._look.engine is None:
            self.findings.notes.append("Edges and copies were not looked at: hot cannot be opened.")
            return
        if not whole:
            self.findings.notes.append("Edges into a tier that cannot be read were not judged.")
        try:
            found = self._look.inspection.across()
        except DamagedError as error:
            self._broken("hot", error.message)
            return
        for tier, edges in found.crossing.items():
            if edges:
                says = f"{len(edges)} edges lead from one space into another"
                self.findings.add("edges", f"the {tier} tier", tier, "fault", says, MEND)
        for tier, edges in found.loose.items():
            if edges:
                says = f"{len(edges)} edges lead to nodes that are gone; recall leaves them out"
                self.findings.add("edges", f"the {tier} tier", tier, "untidy", says, MEND)
        for tier, ids in found.copies.items():
            says = f"{len(ids)} documents have a copy in a hotter tier, which counts"
            self.findings.add("copies", f"the {tier} tier", tier, "untidy", says, "ringwood rotate")
        for name in found.behind:
            says = f"the next {name} would get an id that is taken"
            mend = "nothing: whoever opens the home next counts anew"
            self.findings.add("counters", "the hot tier", "hot", "fault", says, mend)

    def _around(self) -> None:
        """Look at what lies beside the tiers."""
        home = self._look.home
        for name, reason in spool.set_aside(home):
            where, mend = f"spool/bad/{name}", "look at it yourself; it is never read again"
            self.findings.add("spool", where, None, "untidy", f"set aside: {reason}", mend)
        for path in open_to_others(home):
            says, mend = "others can read it", f"chmod go= {path}, or {MEND}"
            self.findings.add("mode", path, None, "fault", says, mend)
        if self._look.quick or self._look.mirror_root is None or self._look.engine is None:
            return
        with self._look.engine.reading() as reader:
            told = not reader.missing_tiers
        for file in mirror_files(self._look.mirror_root) if told else ():
            if file not in self._files and self._is_stray(file):
                mend = "ringwood salvage hot --force takes it in, or remove it yourself"
                says = "a file of the mirror that no document has"
                self.findings.add("stray", file, None, "untidy", says, mend)

    def _is_stray(self, file: str) -> bool:
        """Say whether a file is still there, and no document's that was stored meanwhile."""
        try:
            page = read_mirrored(self._look.mirror_root or "", file)
        except PageError as error:
            return str(error) != "it is not there"
        if self._look.engine is None:
            return False
        with self._look.engine.reading() as reader:
            return reader.document(page.document.id) is None


def _expected(
    inspector: Inspector, record: Record, *, is_whole: bool = True
) -> dict[int, tuple[int | None, int]]:
    """Say what the word index should hold of a document's nodes, and whose they are.

    Of a damaged text it should hold the words of the text that was stored, which nobody knows.
    """
    nodes = record.nodes or ()
    if not is_whole:
        return {node.id: (None, record.id) for node in nodes}
    try:
        terms = terms_of(nodes)
    except KeyError:  # no tree, which is told already
        return {node.id: (None, record.id) for node in nodes}
    return {
        node: (inspector.word_sum(record.space, each), record.id) for node, each in terms.items()
    }


def _is_log(payload: bytes) -> bool:
    try:
        unpack(payload)
    except (ValueError, TypeError, zlib.error):
        return False
    return True
