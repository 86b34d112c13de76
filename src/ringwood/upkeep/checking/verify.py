"""Verify: look at everything a home holds, and say what is wrong and which command mends it.

    each tier: its file -> every document (`document.py`) -> words -> what is left over
    then: edges, copies and counters across the tiers -> spool, modes, mirror

One document is judged in one snapshot. Nothing is written here; `mend.py` does that.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping

from ringwood.capture import spool
from ringwood.engine.checking import Inspector, Record, Standing
from ringwood.errors import BusyError, DamagedError, StorageError
from ringwood.recall.usage import unpack
from ringwood.types import TIERS, Tier
from ringwood.upkeep.checking.document import DocumentCheck, place_of
from ringwood.upkeep.checking.findings import MEND, Findings, Progress, Verified
from ringwood.upkeep.checking.look import Look
from ringwood.upkeep.checking.modes import open_to_others
from ringwood.write.mirrored import mirror_files, read_mirrored
from ringwood.write.nodes import terms_of
from ringwood.write.page import PageError
from ringwood.write.remembered import remembered

_REJUDGED = 2000
"""Documents whose words are looked at twice: more are wrong only where the index is."""


def verify(
    look: Look, on_progress: Progress = lambda what, done, total: None, *, dry_run: bool = False
) -> Verified:
    """Look at everything a home holds.

    Args:
        look: what, and how closely.
        on_progress: told what is looked at. May raise to stop.
        dry_run: say how much mending would mend.

    Raises:
        SchemaError: when a newer Ringwood wrote a tier.
        BusyError, StorageError: when something cannot be read for the moment. That is no damage.
    """
    return Verification(look, on_progress).run(dry_run=dry_run)


class Verification:
    """One look at a home."""

    def __init__(self, look: Look, on_progress: Progress) -> None:
        """Prepare."""
        self._look = look
        self._on_progress = on_progress
        self.findings = Findings()
        """What was found."""
        self.identity = self._embedder()
        """Under which vectors recall goes by; None by words alone."""
        self._check = DocumentCheck(look, self.findings, self.identity)

    def run(self, *, dry_run: bool = False) -> Verified:
        """Look at everything once."""
        standing = {tier: self._standing(tier) for tier in TIERS}
        for tier, how in standing.items():
            if how == "present":
                self.look_at(tier)
            elif how != "unreadable":
                self._absent(tier, damaged=how == "damaged")
        self._across(whole=all(how == "present" for how in standing.values()))
        self._around()
        looked_at = self._check.counts
        return Verified(
            documents=looked_at.documents,
            versions=looked_at.versions,
            nodes=looked_at.nodes,
            vectors=looked_at.vectors,
            files=len(looked_at.files),
            findings=self.findings.listed,
            counts=dict(self.findings.counts),
            mended=self.findings.mendable if dry_run else 0,
            dry_run=dry_run,
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
            self.findings.add("file", _whole(tier), tier, "fault", error.message, error.mend)
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
            self._broken(tier, "its file cannot be read")
        else:
            says = "its file is not there"
            mend = f"mount it or put it back; if it is gone for good: ringwood salvage {tier}"
            self.findings.add("file", _whole(tier), tier, "fault", says, mend)

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
        mend = f"ringwood salvage {tier}"
        self.findings.add("file", _whole(tier), tier, "damage", says, mend)

    def _file(self, tier: Tier, inspector: Inspector) -> None:
        self._on_progress(f"pages, {tier}", 0, None)
        for told in inspector.complaints(quick=self._look.quick):
            if "fts5" in told.casefold():
                self.findings.index_fault(_whole(tier), tier, told)
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
                is_whole = self._check.judge(tier, record)
                if not self._look.quick:
                    words.update(_expected(inspector, record, is_whole=is_whole))
        return words

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
                says = f"the words of {wrong} of its nodes are not those of their texts"
                self.findings.fault("words", place_of(record), tier, says, document=record.id)
        known = {node.id for record in records for node in record.nodes or ()}
        lost = [node for node in sums if node not in known and sums[node]]
        if lost:
            says = f"the word index names {len(lost)} nodes that are not there"
            self.findings.index_fault(_whole(tier), tier, says)

    def _left_over(self, tier: Tier, inspector: Inspector) -> None:
        where = _whole(tier)
        for space in inspector.miscounted():
            says = f"the nodes of the space {space} are counted wrongly"
            self.findings.fault("counts", where, tier, says)
        orphans = inspector.orphans()
        if orphans.vectors:
            self.findings.fault("vectors", where, tier, _lone("vectors", orphans.vectors))
        if orphans.nodes:
            self.findings.fault("nodes", where, tier, _lone("nodes", orphans.nodes))
        if orphans.aliases:
            says = f"{len(orphans.aliases)} old paths of documents that are not there"
            self.findings.fault("aliases", where, tier, says)
        unread = sum(not _is_log(payload) for _, payload in inspector.logs())
        if unread:
            says = f"{unread} recalls in the log cannot be read; `explain` cannot tell of them"
            mend = "nothing: newer ones replace them"
            self.findings.add("log", where, tier, "untidy", says, mend)

    # -- across the tiers, and around them -----------------------------------------------------

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
                self.findings.fault("edges", _whole(tier), tier, says)
        for tier, edges in found.loose.items():
            if edges:
                says = f"{len(edges)} edges lead to nodes that are gone; recall leaves them out"
                self.findings.add("edges", _whole(tier), tier, "untidy", says, MEND)
        for tier, ids in found.copies.items():
            says = f"{len(ids)} documents have a copy in a hotter tier, which counts"
            self.findings.add("copies", _whole(tier), tier, "untidy", says, "ringwood rotate")
        for name in found.behind:
            says = f"the next {name} would get an id that is taken"
            mend = "nothing: whoever opens the home next counts anew"
            self.findings.add("counters", _whole("hot"), "hot", "fault", says, mend)

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
            if file not in self._check.counts.files and self._is_stray(file):
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


def _whole(tier: Tier) -> str:
    return f"the {tier} tier"


def _lone(what: str, nodes: tuple[int, ...]) -> str:
    return f"{len(nodes)} {what} belong to nothing, the first of node {nodes[0]}"


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
