"""One document as one snapshot sees it: is its text what it was, and is what was made from it?"""

from __future__ import annotations

from dataclasses import dataclass, field

from ringwood.engine.checking import Record
from ringwood.types import Document, Tier, address_of
from ringwood.upkeep.checking.findings import Findings
from ringwood.upkeep.checking.look import Look
from ringwood.upkeep.checking.shape import shape_fault
from ringwood.write.again import is_said_by, parse_again
from ringwood.write.mirrored import read_mirrored
from ringwood.write.page import PageError, same_document
from ringwood.write.tombstones import source_hash, text_hash


@dataclass(slots=True)
class Counts:
    """How much was looked at. Of a document in two tiers the hottest copy counts."""

    documents: int = 0
    versions: int = 0
    nodes: int = 0
    vectors: int = 0
    files: set[str] = field(default_factory=set)
    """Files of the mirror."""


class DocumentCheck:
    """Judges documents, one at a time, those of hotter tiers first."""

    def __init__(self, look: Look, findings: Findings, identity: str | None) -> None:
        """Have judged none.

        Args:
            look: what is looked at, and how closely.
            findings: where what is wrong goes.
            identity: under which vectors recall goes by; None by words alone.
        """
        self._look = look
        self._findings = findings
        self._identity = identity
        self._judged: set[int] = set()
        self.counts = Counts()
        """How much was judged."""

    def judge(self, tier: Tier, record: Record) -> bool:
        """Judge one document; False when its text is not what it was."""
        is_copy = record.id in self._judged
        self._judged.add(record.id)
        document, salvage = record.document, f"ringwood salvage {tier}"
        where = place_of(record)
        if document is None:
            says = "its card cannot be read"
            self._findings.add("card", where, tier, "damage", says, salvage)
        elif record.text is None or record.sha256 != document.sha256:
            says = "its text is not the one that was stored"
            self._findings.add("text", where, tier, "damage", says, salvage)
        elif record.nodes is None:
            says = "its nodes cannot be read"
            self._findings.fault("nodes", where, tier, says, document=record.id)
        else:
            self._tree(tier, record, document, where)
            if not is_copy:  # nobody reads a copy, and the mirror holds the hotter text
                self._lacking(tier, record, document, where)
                self._kept_out(tier, record, document, where)
                self._mirror(tier, record, document, where)
        if record.bad_versions:
            says = f"{record.bad_versions} of its earlier texts are not what they were"
            self._findings.add("versions", where, tier, "damage", says, salvage)
        if not is_copy:
            self._count(record)
        return document is not None and record.sha256 == document.sha256

    def _count(self, record: Record) -> None:
        self.counts.documents += 1
        self.counts.versions += record.versions
        self.counts.nodes += len(record.nodes or ())
        self.counts.vectors += len(record.vectors)

    def _tree(self, tier: Tier, record: Record, document: Document, where: str) -> None:
        """Look at the nodes and vectors that were made from a text that is whole."""
        text, nodes = record.text or "", record.nodes or ()
        wrong = shape_fault(document, text, nodes)
        if wrong is None and record.strays:
            wrong = f"{record.strays} of its nodes lie in another space"
        if wrong is None and not self._look.quick:
            exchange = any(node.actor for node in nodes)
            parsed = parse_again(document, text, exchange=exchange, options=self._look.parse)
            if not is_said_by(parsed, nodes):
                wrong = "its nodes do not say what its text says"
        if wrong is not None:
            self._findings.fault("nodes", where, tier, wrong, document=record.id)
        misfits = sum(not each.fits for each in record.vectors)
        if misfits:
            says = f"{misfits} of its vectors do not fit their nodes"
            self._findings.fault("vectors", where, tier, says, document=record.id)

    def _lacking(self, tier: Tier, record: Record, document: Document, where: str) -> None:
        if self._identity is None or document.state != "ready" or tier not in self._look.embedded:
            return
        held = {each.node for each in record.vectors if each.embedder == self._identity}
        due = [node.id for node in record.nodes or () if node.script or node.length]
        lacking = sum(node not in held for node in due)
        if lacking:
            says = f"{lacking} of its nodes have no vector"
            self._findings.fault("lacking", where, tier, says, document=record.id)

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
            self._findings.add("forgotten", where, tier, "fault", says, mend)

    def _mirror(self, tier: Tier, record: Record, document: Document, where: str) -> None:
        root = self._look.mirror_root
        if self._look.quick or root is None or record.mirrored is None:
            return  # without a file yet, it is to come
        self.counts.files.add(record.mirrored)
        try:
            page = read_mirrored(root, record.mirrored)
            says = "" if same_document(page, document, record.text or "") else "it differs"
        except PageError as error:
            says = str(error)
        if says and self._is_as_read(tier, record):
            says = f"its file {record.mirrored}: {says}"
            self._findings.fault("mirror", where, tier, says, document=record.id)

    def _is_as_read(self, tier: Tier, record: Record) -> bool:
        """Say whether a document is still the one that was read: somebody may have changed it."""
        with self._look.inspection.inspecting(tier) as inspector:
            now = inspector.record(record.id)
        return now is not None and now.document == record.document


def place_of(record: Record) -> str:
    """Name a document for people: by its address, else by its id."""
    if record.document is None:
        return f"document {record.id}"
    return address_of(record.document.space, record.document.path)
