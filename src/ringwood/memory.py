"""Memory: the one object a front end holds. Opens lazily, stores, recalls, forgets, catches up."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any, Self

from ringwood import config as settings
from ringwood import home as homes
from ringwood.capture.space import space_key, space_slug
from ringwood.embed.base import Embedder
from ringwood.embed.choose import Choice, Remembered, choose
from ringwood.embed.lease import EmbeddingLease
from ringwood.engine.base import Engine, Reader, Totals
from ringwood.engine.sqlite import open_engine
from ringwood.errors import AddressError, StorageError, UsageError
from ringwood.recall import browse
from ringwood.recall.browse import NodeView, TreeLine
from ringwood.recall.budget import Budget
from ringwood.recall.pipeline import Request, recall
from ringwood.recall.usage import LOG_KEEP, Use, unpack
from ringwood.text.clean import clean
from ringwood.text.redact import redact
from ringwood.types import GLOBAL, Actor, Document, Recall, Receipt
from ringwood.write.forget import (
    Erasure,
    Forgotten,
    forget_documents,
    forget_node,
    remove_document,
)
from ringwood.write.importer import Imported, ImportPlan, import_notes
from ringwood.write.ingest import Draft, Ingested, Intake, ingest, slug_path
from ringwood.write.worker import Task, Worker

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ImportReport:
    """An import, as read back from the store."""

    imported: Imported
    """What was done."""
    nodes: int
    """Nodes of the new and changed documents."""
    vectors: int
    """Of those, nodes with a vector."""
    edges: int
    """Edges that touch them."""
    pruned: int
    """Documents that were removed because their file is gone."""
    gone: tuple[str, ...]
    """Source keys of files that are gone and were kept."""
    waiting: bool
    """Whether vectors are still to come."""


@dataclass(frozen=True, slots=True)
class Stats:
    """What a home holds and how it does."""

    home: str
    """Its folder."""
    space: str
    """The space that was asked in."""
    totals: Totals
    """Counts, read back."""
    embedder: str
    """The embedder's name."""
    identity: str | None
    """Under which vectors are stored; None by words alone."""
    notes: tuple[str, ...]
    """What is degraded, in sentences."""
    unmirrored: int
    """Documents that the mirror does not hold yet, counted up to 1000."""
    missing_tiers: tuple[str, ...]
    """Tiers that cannot be opened."""


class Memory:
    """A person's memory in one home. Safe from several threads; a context manager.

    Opening costs nothing and makes nothing: storing makes the home, reading one that is not there
    raises `NoHomeError`. Leaving the context waits up to `wait_s` for vectors that are to come;
    whoever opens the home next takes up what is left.
    """

    def __init__(
        self,
        home: str | Path | None = None,
        *,
        space: str | None = None,
        directory: str | None = None,
        embedder: str | Embedder | None = None,
        wait_s: float = 10.0,
    ) -> None:
        """Prepare; see `open`."""
        if space is not None and not browse.is_space_name(space):
            raise UsageError(
                f"{space!r} is no name for a space: an address could not lead back to it.",
                mend="use letters, digits and hyphens",
            )
        self.home = homes.locate(None if home is None else str(home))
        self.config = settings.load(self.home)
        self.wait_s = wait_s
        self._named_space = space
        self._directory = directory
        self._asked_embedder = embedder
        self._lock = RLock()
        self._engine: Engine | None = None
        self._worker: Worker | None = None
        self._chosen: Choice | None = None
        self._uses: list[Use] = []

    @classmethod
    def open(
        cls,
        home: str | Path | None = None,
        space: str | None = None,
        embedder: str | Embedder | None = None,
        *,
        directory: str | None = None,
        wait_s: float = 10.0,
    ) -> Memory:
        """Open a home.

        Args:
            home: its folder; None: `RINGWOOD_HOME`, else the platform's data folder.
            space: where texts belong and are looked for, besides `global`. None: `global`, or the
                space of `directory`.
            embedder: a name (`bundled`, `words`, `hashing`) or an object. None: what the home was
                made with, else `bundled`.
            directory: a working directory whose space is meant when `space` is None.
            wait_s: how long leaving the context waits for vectors, seconds.

        Raises:
            ConfigError: when the home's settings do not fit.
            UsageError: when a space cannot be called so.
        """
        return cls(home, space=space, embedder=embedder, directory=directory, wait_s=wait_s)

    # -- storing ---------------------------------------------------------------------------------

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
            replace: address of a document whose text this is from now on; it stays in its space.
            importance: 0..1; 0.5 unless set.
            at: when it was said or written; now unless set. Without a zone it is local time, here
                and wherever a time is given.
            actor: who wrote it; front ends set it, callers need not.

        Raises:
            UsageError: when the text is empty or a number is out of range.
            AddressError: when nothing has the address to replace.
            StorageError: when the disk refuses; then nothing was stored.
        """
        if not text.strip():
            raise UsageError("There is no text to store.", mend="give some text")
        if importance is not None and not 0.0 <= importance <= 1.0:
            raise UsageError(f"importance is 0 to 1, not {importance}.", mend="--importance 0.5")
        engine = self._open(create=True)
        edited = None if replace is None else self._document_at(replace)
        draft = Draft(
            text=text,
            space=self._writing_space() if edited is None else edited.space,
            actor=actor,
            title=clean(title)[0] if title else None,
            path=None if path is None else slug_path(clean(path)[0]),
            source=None if source is None else clean(source)[0],
            replaces=None if edited is None else edited.id,
            importance=importance,
            created_at=_instant(at),
        )
        [outcome] = ingest(engine, [draft], self._intake())
        self._wake()
        return self._receipt(outcome)

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
        engine = self._open(create=True)
        intake = replace(self._intake(), again=again, dry_run=dry_run)
        plan = ImportPlan(paths, self._writing_space(), intake, _instant(since))
        imported = import_notes(engine, plan, self.config.notes, on_file)
        with engine.reading() as reader:
            gone = list(reader.documents(imported.gone).values())
        if prune and not dry_run:
            for document in gone:
                remove_document(self._erasure(), document)
        self._wake()
        wait()
        identity = self._choose().remembered.identity
        with engine.reading() as reader:
            counts = reader.counts(reader.node_ids(imported.documents), identity)
        return ImportReport(
            imported=imported,
            nodes=counts[0],
            vectors=counts[1],
            edges=counts[2],
            pruned=len(gone) if prune and not dry_run else 0,
            gone=() if prune else tuple(each.source or "" for each in gone),
            waiting=counts[1] < counts[0] and self._choose().state == "pending",
        )

    def wait(
        self, timeout_s: float | None = None, on_tick: Callable[[int], None] = lambda done: None
    ) -> bool:
        """Wait for vectors and mirror; False when time ran out or something is to be tried again.

        Args:
            timeout_s: how long at most; None: `wait_s`.
            on_tick: told the number of nodes embedded so far, about ten times a second.
        """
        if self._worker is None:
            return True
        done = self._worker.wait(self.wait_s if timeout_s is None else timeout_s, on_tick)
        return done and not self._worker.errors

    def receipt(self, receipt: Receipt) -> Receipt:
        """Read a receipt's figures back again, after vectors have followed."""
        if not receipt.document:
            return receipt
        again = self._receipt(Ingested(int(receipt.document), "new"))
        state = receipt.state if receipt.state == "existing" else again.state
        return replace(again, state=state, redacted=receipt.redacted, repaired=receipt.repaired)

    def missing_vectors(self) -> int:
        """Count the nodes that have no vector yet; 0 where words are all."""
        choice = self._choose()
        if choice.meaning is None:
            return 0
        with self._open().reading() as reader:
            tiers = reader.totals().tiers.values()
        return sum(tier.nodes - tier.vectors for tier in tiers)

    # -- recalling -------------------------------------------------------------------------------

    def recall(
        self,
        query: str,
        *,
        budget: Budget | None = None,
        floor: float | None = None,
        as_of: datetime | None = None,
        counted: bool = True,
    ) -> Recall:
        """Find what answers a query; empty hits when nothing has enough evidence.

        Args:
            query: any text.
            budget: upper bounds; the settings' unless given.
            floor: evidence a hit needs, 0..1; the settings' for asked recalls unless given.
            as_of: only what was written until then.
            counted: count the hits as used, which ranks them a little higher next time.

        Raises:
            NoHomeError: when there is no home yet.
            UsageError: when `floor` is out of range.
        """
        if floor is not None and not 0.0 <= floor <= 1.0:
            raise UsageError(f"floor is 0 to 1, not {floor}.", mend="--floor 0.3")
        engine = self._open()
        choice = self._choose()
        options = self.config.recall
        now = datetime.now(UTC)
        request = Request(
            query=redact(clean(query)[0])[0],
            space=self.space,
            recall_id=secrets.token_hex(8),
            nonce=secrets.token_hex(8),
            now=now,
            floor=options.floor.asked if floor is None else floor,
            as_of=_instant(as_of),
            query_timeout_s=self.config.embed.query_timeout_s,
        )
        answer = recall(
            engine, choice.meaning, request, replace(options, budget=budget or options.budget)
        )
        answer = replace(answer, notes=(*choice.notes, *answer.notes))
        with self._lock:
            self._uses.append(Use(answer, now, counted=counted and as_of is None))
        self._wake()
        return answer

    def explain(self, recall_id: str) -> dict[str, Any]:
        """Return a logged recall as the JSON of the contract.

        Raises:
            AddressError: when the log does not hold it.
        """
        engine = self._open()
        self._write_uses()
        with engine.reading() as reader:
            payload = reader.recall_log(recall_id)
        if payload is None:
            raise AddressError(
                f"The log holds no recall {recall_id}: the newest {LOG_KEEP} are kept, and"
                " forgetting a text forgets the recalls that showed it.",
                mend="ringwood recall QUERY --why",
            )
        return unpack(payload)

    # -- looking ---------------------------------------------------------------------------------

    @property
    def space(self) -> str:
        """The name of the space that texts belong to and are looked for in."""
        if self._named_space is not None:
            return self._named_space
        key = None if self._directory is None else space_key(self._directory)
        if key is None:
            return GLOBAL
        if not homes.exists(self.home):
            return space_slug(key)
        with self._open().reading() as reader:
            known = reader.space_of_key(key)
            if known is not None:
                return known
            taken = reader.spaces()
        name, number = space_slug(key), 1
        while (name if number == 1 else f"{name}~{number}") in taken:
            number += 1
        return name if number == 1 else f"{name}~{number}"

    def read(self, address: str) -> NodeView:
        """Fetch the node at an address with its surroundings.

        Raises:
            AddressError: when nothing has this address.
        """
        with self._open().reading() as reader:
            return browse.view(reader, address, self.space)

    def tree(self, address: str | None = None, *, depth: int = 2) -> list[TreeLine]:
        """Walk a subtree, or all documents of the space.

        Raises:
            AddressError: when nothing has this address.
        """
        with self._open().reading() as reader:
            return list(browse.tree(reader, address, self.space, depth))

    def recent(self, *, since: datetime | None = None, limit: int = 20) -> tuple[Document, ...]:
        """List the newest documents of the space and of `global`."""
        spaces = tuple(dict.fromkeys((self.space, GLOBAL)))
        with self._open().reading() as reader:
            return reader.recent_documents(spaces, since=_instant(since), limit=limit)

    def spaces(self) -> dict[str, int]:
        """Count the documents of every space."""
        with self._open().reading() as reader:
            return dict(reader.totals().spaces)

    def stats(self) -> Stats:
        """Count what there is, and say what is degraded."""
        engine = self._open()
        choice = self._choose()
        with engine.reading() as reader:
            totals = reader.totals()
            unmirrored = len(reader.unmirrored(1000)) if self.config.mirror.enabled else 0
            missing = reader.missing_tiers
        worker_notes = self._worker.errors if self._worker is not None else ()
        return Stats(
            home=self.home,
            space=self.space,
            totals=totals,
            embedder=choice.remembered.name,
            identity=choice.remembered.identity or None,
            notes=(*choice.notes, *worker_notes),
            unmirrored=unmirrored,
            missing_tiers=missing,
        )

    # -- forgetting ------------------------------------------------------------------------------

    def forget(
        self,
        address: str | None = None,
        *,
        document: str | None = None,
        source: str | None = None,
        space: str | None = None,
        dry_run: bool = False,
    ) -> Forgotten:
        """Remove a text with all that was derived from it, for good.

        Args:
            address: a node, which means its whole subtree.
            document: a document by id.
            source: a document by source key.
            space: everything in a space.
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
        erasure = replace(self._erasure(), dry_run=dry_run)
        engine = erasure.engine
        with engine.reading() as reader:
            if address is not None:
                node = browse.resolve(reader, address, self.space)
            elif space is not None:
                documents = list(reader.roots(space))
            else:
                documents = [_named(reader, document, source, self.space)]
        if address is not None:
            report = forget_node(erasure, node.id)
        else:
            report = forget_documents(erasure, documents)
        with self._lock:
            self._uses.clear()
        self._wake()
        return report

    # -- opening and closing ---------------------------------------------------------------------

    def create(self) -> None:
        """Make the home if there is none. Idempotent."""
        self._open(create=True)

    def close(self) -> None:
        """Wait up to `wait_s` for vectors, write down what was used, and let go. Idempotent."""
        with self._lock:
            worker, engine, choice = self._worker, self._engine, self._chosen
        try:
            if worker is not None:
                worker.wait(self.wait_s)
        finally:
            if worker is not None:
                worker.stop()
            if choice is not None and choice.owned is not None:
                choice.owned.close()
            if worker is not None:
                worker.join(5.0)
            if engine is not None:
                self._write_uses()
                engine.close()
            with self._lock:
                self._worker = self._engine = self._chosen = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            self.wait_s = 0.0
        self.close()

    def _open(self, *, create: bool = False) -> Engine:
        with self._lock:
            if self._engine is None:
                if create:
                    homes.create_home(self.home)
                else:
                    homes.require(self.home)
                self._engine = open_engine(
                    Path(self.home),
                    warm_path=_path(self.config.tiers.warm_path),
                    cold_path=_path(self.config.tiers.cold_path),
                    create=create,
                )
            return self._engine

    def _choose(self) -> Choice:
        """Decide the embedder once, and remember it in a home that holds nothing yet."""
        with self._lock:
            if self._chosen is None:
                engine = self._open()
                with engine.reading() as reader:
                    name, identity = reader.meta("embedder"), reader.meta("embedder_identity")
                remembered = None if name is None else Remembered(name, identity or "")
                asked = self._asked_embedder or self.config.embed.embedder
                self._chosen = choose(asked, remembered, calibrated=self.config.embed.calibration)
            return self._chosen

    def _intake(self) -> Intake:
        """Say how texts are taken in; the first of them fixes the home's embedder."""
        choice = self._choose()
        with self._open().reading() as reader:
            known = reader.meta("embedder") is not None
        if not known:
            with self._open().writing() as writer:
                writer.set_meta("embedder", choice.remembered.name)
                writer.set_meta("embedder_identity", choice.remembered.identity)
        return Intake(datetime.now(UTC), choice.state, self.config.parse)

    def _writing_space(self) -> str:
        """Return the space to write to, registered under its key."""
        key = None if self._directory is None else space_key(self._directory)
        if self._named_space is not None or key is None:
            return self.space
        with self._open(create=True).writing() as writer:
            return writer.register_space(key, space_slug(key))

    def _wake(self) -> None:
        with self._lock:
            if self._worker is None:
                task = Task(
                    engine=self._open(),
                    meaning=self._choose().meaning,
                    mirror_root=str(Path(self.home) / homes.MIRROR_FOLDER),
                    link=self.config.link,
                    mirror=self.config.mirror,
                    worker=self.config.worker,
                    before=self._write_uses,
                )
                self._worker = Worker(task, EmbeddingLease(Path(self.home) / homes.EMBEDDING_LOCK))
        self._worker.wake()

    def _write_uses(self) -> None:
        """Log recalls and count accesses; what cannot be written now waits for the next time."""
        with self._lock:
            uses, self._uses = self._uses, []
        if not uses:
            return
        engine = self._open()
        try:
            for use in uses:
                use.write(engine)
        except StorageError as error:
            _log.info("a recall was not logged: %s", error.message)
            with self._lock:
                self._uses = [*uses[-LOG_KEEP:], *self._uses]

    def _receipt(self, outcome: Ingested) -> Receipt:
        """Read back what a store came to."""
        if outcome.document is None:
            return Receipt("", "", "", "forgotten", 0, 0, 0, outcome.redacted, outcome.repaired)
        with self._open().reading() as reader:
            [document] = reader.documents([outcome.document]).values()
            counts = reader.counts(
                reader.node_ids([document.id]), self._choose().remembered.identity
            )
        return Receipt(
            document=str(document.id),
            path=document.path,
            address=browse.address(document.space, document.path),
            state="existing" if outcome.outcome == "existing" else document.state,
            nodes=counts[0],
            vectors=counts[1],
            edges=counts[2],
            redacted=outcome.redacted,
            repaired=outcome.repaired,
        )

    def _document_at(self, address: str) -> Document:
        with self._open().reading() as reader:
            node = browse.resolve(reader, address, self.space)
            return reader.documents([node.document])[node.document]

    def _erasure(self) -> Erasure:
        engine, choice = self._open(), self._choose()
        return Erasure(
            engine=engine,
            mirror_root=str(Path(self.home) / homes.MIRROR_FOLDER),
            embedder=choice.remembered.identity,
            intake=Intake(datetime.now(UTC), choice.state, self.config.parse),
        )


def _path(given: str | None) -> Path | None:
    return None if given is None else Path(given).expanduser()


def _instant(moment: datetime | None) -> datetime | None:
    """Turn a time into UTC; one without a zone is local time, as a person means it."""
    try:
        return None if moment is None else moment.astimezone(UTC)
    except OverflowError as error:
        raise UsageError(f"{moment} lies beyond the calendar.", mend="give another time") from error


def _named(reader: Reader, document: str | None, source: str | None, space: str) -> Document:
    """Find a document by id or by source key."""
    if document is not None:
        found = (
            reader.document(int(document)) if document.isascii() and document.isdigit() else None
        )
    else:
        found = reader.document_by_source(space, clean(source or "")[0])
    if found is None:
        wanted = f"id {document}" if document is not None else f"source {source}"
        raise AddressError(f"No document has the {wanted}.", mend="ringwood recent")
    return found
