"""Keeping: texts, notes and exchanges come in, and go for good."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from itertools import takewhile
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep

from ringwood import home as homes
from ringwood.capture import spool
from ringwood.capture.buffer import Exchange, assemble, is_due
from ringwood.errors import AddressError, StorageError, UsageError
from ringwood.memory.base import Opened, instant
from ringwood.recall import browse
from ringwood.recall.browse import Reach
from ringwood.text.clean import clean
from ringwood.text.redact import redact
from ringwood.types import Actor, Receipt
from ringwood.upkeep.dreaming.merge import finish
from ringwood.write.draft import Draft
from ringwood.write.exchanges import Retry, TakenIn, store_exchanges
from ringwood.write.forget import Forgotten, forget_documents, forget_node, remove_document
from ringwood.write.importer import ImportPlan, import_notes
from ringwood.write.ingest import ingest
from ringwood.write.paths import slug_path
from ringwood.write.receipt import ImportReport, read_again, read_receipt

_log = logging.getLogger(__name__)

DUE_S = 1.0
"""How long leaving a memory goes on with what others captured meanwhile, seconds."""


TURN_S = 10.0
"""How long forgetting waits for another process that empties the spool, seconds: as long as that
may take for some hundred exchanges."""
TURN_PAUSE_S = 0.05
"""Pause before it asks again, seconds."""

_IN_THE_SPOOL = (
    "Captured events that cannot be stored or read lie in the home's spool, and may hold words of"
    " it: `ringwood stats` lists them."
)


class Keeping(Opened):
    """Takes texts in and forgets them."""

    def store(  # noqa: PLR0913 - the contract's keywords
        self,
        text: str,
        *,
        title: str | None = None,
        path: str | None = None,
        source: str | None = None,
        replace: str | None = None,
        importance: float | None = None,
        at: datetime | None = None,
        actor: Actor = "person",
    ) -> Receipt:
        """Keep a text: durable and findable by words on return, vectors follow.

        Args:
            text: any text; Markdown structure becomes nodes.
            title: instead of what the text says of its title.
            path: instead of the title's slug, for example `/decisions/database`.
            source: key under which a later store replaces this text.
            replace: address of what this text takes the place of: a document, or a node with all
                below it. It stays in its space.
            importance: 0..1; 0.5 unless set.
            at: when it was said or written; now unless set. Without a zone it is local time, here
                and wherever a time is given.
            actor: who wrote it; front ends set it, callers need not.

        Raises:
            UsageError: when the text is empty, a number is out of range, or another document has
                the source key.
            AddressError: when nothing has the address to replace.
            StorageError: when the disk refuses; then nothing was stored.
        """
        if not text.strip():
            raise UsageError("There is no text to store.", mend="give some text")
        if importance is not None and not 0.0 <= importance <= 1.0:
            raise UsageError(f"importance is 0 to 1, not {importance}.", mend="--importance 0.5")
        engine = self._opened.engine(create=True)
        edited = None
        if replace is not None:
            with engine.reading() as reader:
                node = browse.resolve(reader, replace, self.space)
                edited = reader.documents([node.document])[node.document]
        draft = Draft(
            text=text,
            space=self._writing_space() if edited is None else edited.space,
            actor=actor,
            title=_masked(title) if title else None,
            path=None if path is None else slug_path(_masked(path)),
            source=None if source is None else _masked(source),
            replaces=None if edited is None else edited.id,
            part=None if edited is None else node.id,
            importance=importance,
            created_at=instant(at),
        )
        outcome = self._opened.together.ingest(
            draft, lambda drafts: ingest(engine, drafts, self._opened.intake())
        )
        self._opened.wake()
        identity = self._opened.choice().remembered.identity
        with engine.reading() as reader:
            return read_receipt(reader, outcome, identity)

    def import_notes(  # noqa: PLR0913 - the contract's keywords
        self,
        paths: Sequence[Path],
        *,
        since: datetime | None = None,
        again: bool = False,
        prune: bool = False,
        dry_run: bool = False,
        on_file: Callable[[int, int], None] = lambda done, total: None,
        wait: Callable[[], None] = lambda: None,
    ) -> ImportReport:
        """Import files and folders of notes; the same again adds nothing.

        Args:
            paths: files and folders.
            since: only files changed since then.
            again: let forgotten notes back in.
            prune: remove notes whose file is gone.
            dry_run: write nothing.
            on_file: told how many of how many files were read.
            wait: called before counting, to let vectors follow.

        Raises:
            UsageError: when a path does not exist.
            StorageError: when the disk refuses; earlier batches are stored.
        """
        if dry_run and not homes.exists(self.home):
            return self._import_into_nothing(paths, since, on_file)
        engine = self._opened.engine(create=True)
        intake = replace(self._opened.intake(), again=again, dry_run=dry_run)
        space = self.space if dry_run else self._writing_space()
        plan = ImportPlan(paths, space, intake, instant(since))
        imported = import_notes(engine, plan, self.config.notes, on_file)
        with engine.reading() as reader:
            gone = list(reader.documents(imported.gone).values())
        if prune and not dry_run:
            for document in gone:
                remove_document(self._opened.erasure(), document)
        self._opened.wake()
        wait()
        choice = self._opened.choice()
        with engine.reading() as reader:
            nodes, vectors, edges = reader.counts(
                reader.node_ids(imported.documents), choice.remembered.identity
            )
        return ImportReport(
            imported=imported,
            nodes=nodes,
            vectors=vectors,
            edges=edges,
            pruned=len(gone) if prune and not dry_run else 0,
            gone=() if prune else tuple(each.source or "" for each in gone),
            waiting=vectors < nodes and choice.state == "pending",
        )

    def _import_into_nothing(
        self, paths: Sequence[Path], since: datetime | None, on_file: Callable[[int, int], None]
    ) -> ImportReport:
        """Say what an import would do where there is no home, and make none."""
        with (
            TemporaryDirectory() as scratch,
            type(self)(scratch, space=self.space, embedder="words", wait_s=0.0) as nothing,
        ):
            nothing.create()
            return nothing.import_notes(paths, since=since, dry_run=True, on_file=on_file)

    def take_in(self, *, everything: bool = False, within_s: float = inf) -> TakenIn:
        """Store the captured exchanges that are due, and say what became of them.

        Nothing is lost and nothing doubled when this is killed at any point, called twice or by two
        processes at once: an exchange leaves the spool when it is over and stored. One that is
        stored and may go on stays there, and is not stored again before it does.

        Args:
            everything: also those that may go on, as if they were over.
            within_s: begin with no further one after so many seconds.

        Raises:
            StorageError: when the spool cannot be read or emptied, or no home can be made.
        """
        if not spool.waiting(self.home):
            return TakenIn()
        with spool.draining(self.home) as ours:
            names = spool.waiting(self.home)
            if not ours:
                return TakenIn(waiting=len(names), elsewhere=True)
            read = ((name, spool.read(self.home, name)) for name in names)
            events = ((name, event) for name, event in read if event is not None)
            now, options = datetime.now(UTC), self.config.capture
            exchanges = assemble(events, now, options)
            stored = self._opened.stored
            due = [
                each
                for each in exchanges
                if everything or (is_due(each, now, options) and each.names not in stored)
            ]
            until = monotonic() + within_s
            retry = Retry(self.config.upkeep.retry_s, now, everything)
            in_time = takewhile(lambda _: monotonic() < until, due)
            taken = self.store_exchanges(in_time, retry=retry)
            over = [each for each in taken.done if each.closed or everything]
            spool.remove(self.home, [name for each in over for name in each.names])
            there = {each.names for each in exchanges if not each.closed}
            self._opened.stored = there & (stored | {each.names for each in taken.done})
            return replace(taken, waiting=len(spool.waiting(self.home)))

    def _take_in_all(self) -> int:
        """Store all that waits in the spool, also where another process is at it just now.

        Returns:
            How many events are left there: they cannot be stored, or it was never our turn.
        """
        until = monotonic() + TURN_S
        while True:
            taken = self.take_in(everything=True)
            if taken.failed or not taken.waiting or monotonic() > until:
                return taken.waiting
            sleep(TURN_PAUSE_S)

    def store_exchanges(
        self,
        exchanges: Iterable[Exchange],
        *,
        dry_run: bool = False,
        again: bool = False,
        retry: Retry | None = None,
    ) -> TakenIn:
        """Store exchanges of hosts, each in its own space; the same again adds nothing.

        Args:
            exchanges: in the order in which they began.
            dry_run: write nothing.
            again: let forgotten ones back in.
            retry: what to do about those that failed before; None: try all, and note nothing.
        """
        engine = self._opened.engine(create=True)
        intake = replace(self._opened.intake(), dry_run=dry_run, again=again)
        self._opened.write_uses()
        # Read once for all of a space: unpacking the log costs more than storing an exchange.
        recalled = cache(self._opened.recalled)
        taken = store_exchanges(engine, exchanges, intake, recalled, retry=retry)
        self._opened.wake()
        return taken

    def receipt(self, receipt: Receipt) -> Receipt:
        """Read a receipt's figures back again, after vectors have followed."""
        identity = self._opened.choice().remembered.identity
        with self._opened.engine().reading() as reader:
            return read_again(reader, receipt, identity)

    def missing_vectors(self) -> int:
        """Count the nodes that have no vector yet; 0 where words are all."""
        if not homes.exists(self.home) or not self._opened.choice().embeds:
            return 0
        identity = self._opened.choice().remembered.identity
        with self._opened.engine().reading() as reader:
            there = reader.coverage(identity, tiers=self._embedded_tiers)
        return there.nodes - there.vectors

    def forget(
        self,
        address: str | None = None,
        *,
        document: str | None = None,
        source: str | None = None,
        space: str | None = None,
        reach: Reach = "home",
        dry_run: bool = False,
    ) -> Forgotten:
        """Remove a text with all that was derived from it, for good.

        Args:
            address: a node, which means its whole subtree.
            document: a document by id.
            source: a document by source key.
            space: everything in a space.
            reach: how far an address may lead.
            dry_run: remove nothing, only say what would go.

        Raises:
            UsageError: unless exactly one of the four is given.
            AddressError: when there is no such thing.
        """
        given = [each for each in (address, document, source, space) if each is not None]
        if len(given) != 1:
            raise UsageError(
                "Say one thing to forget: an address, a document, a source or a space.",
                mend="ringwood forget ADDRESS",
            )
        # What waits in the spool is to be forgotten, too.
        left = 0 if dry_run else self._take_in_all()
        erasure = self._opened.erasure(dry_run=dry_run)
        if not dry_run:
            # A dream that was killed leaves mirror files of texts that it merged into others.
            finish(erasure.engine, erasure.mirror_root)
        with erasure.engine.reading() as reader:
            if address is not None:
                node = browse.resolve(reader, address, self.space, reach)
            elif space is not None:
                documents = list(reader.roots(space))
                if not documents:
                    raise AddressError(f"Space {space} holds nothing.", mend="ringwood spaces")
            else:
                key = None if source is None else _masked(source)
                documents = [
                    browse.find_document(reader, self.space, identity=document, source=key)
                ]
        with nullcontext() if dry_run else self._opened.forgetting():
            if address is not None:
                report = forget_node(erasure, node.id)
            else:
                report = forget_documents(erasure, documents)
        self._opened.wake()
        if left or spool.set_aside(self.home):
            return replace(report, notes=(_IN_THE_SPOOL,))
        return report

    def close(self) -> None:
        """Store what others captured meanwhile, for a second at most, then close as any memory."""
        try:
            if self._opened.is_open and not self._is_view:
                self.take_in(within_s=min(self.wait_s, DUE_S))
        except StorageError as error:
            _log.info("what was captured stays in the spool: %s", error.message)
        finally:
            super().close()


def _masked(name: str) -> str:
    """Repair a title, a path or a key and mask the secrets in it.

    An address with a token in it names the same thing when the token is renewed.
    """
    return redact(clean(name)[0])[0]
