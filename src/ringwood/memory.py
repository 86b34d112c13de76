"""Memory: the one object a front end holds. Opens lazily, stores, recalls, forgets, catches up."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import takewhile
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from types import TracebackType
from typing import Any, Self

from ringwood import config as settings
from ringwood import home as homes
from ringwood.capture import spool
from ringwood.capture.buffer import Exchange, assemble, is_due
from ringwood.capture.consent import is_paused_everywhere
from ringwood.capture.space import free_name, space_key, space_slug
from ringwood.embed.base import Embedder
from ringwood.engine.base import Totals
from ringwood.errors import AddressError, StorageError, UsageError
from ringwood.names import GLOBAL
from ringwood.open_home import OpenHome
from ringwood.recall import browse
from ringwood.recall.browse import NodeView, Reach, TreeLine
from ringwood.recall.budget import Budget
from ringwood.recall.pipeline import Request, recall
from ringwood.recall.usage import LOG_KEEP, Use, unpack
from ringwood.text.clean import clean
from ringwood.text.redact import redact
from ringwood.types import Actor, Document, Recall, Receipt
from ringwood.upkeep.dream import Dreamed, Plan, Progress, dream
from ringwood.upkeep.rotate import Rotated, rotate
from ringwood.write.exchanges import TakenIn, store_exchanges
from ringwood.write.forget import Forgotten, forget_documents, forget_node, remove_document
from ringwood.write.importer import ImportPlan, import_notes
from ringwood.write.ingest import Draft, ingest
from ringwood.write.paths import slug_path
from ringwood.write.receipt import ImportReport, read_again, read_receipt

_log = logging.getLogger(__name__)

DUE_S = 1.0
"""How long leaving a memory goes on with what others captured meanwhile, seconds."""


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
    spooled: int
    """Captured events that wait to be stored."""
    set_aside: tuple[tuple[str, str], ...]
    """Captured events that cannot be read, each with its reason."""
    paused: bool
    """Whether capture is paused everywhere."""


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
        self._key = None if directory is None or space is not None else space_key(directory)
        self._opened = OpenHome(self.home, self.config, embedder)
        self._is_view = False

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

    def within(
        self, *, space: str | None = None, directory: str | None = None, key: str | None = None
    ) -> Memory:
        """Return this memory as seen from another space; all that is open is shared.

        Closing the view does nothing: it lives as long as the memory it came from.

        Args:
            space: a space by name.
            directory: a working directory whose space is meant.
            key: a space by its key, as `capture.space.space_key` gives it. None of the three:
                `global`.
        """
        view = copy(self)
        view._is_view = True
        view._named_space = space
        view._key = key if directory is None else space_key(directory)
        return view

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
            title=clean(title)[0] if title else None,
            path=None if path is None else slug_path(clean(path)[0]),
            source=None if source is None else clean(source)[0],
            replaces=None if edited is None else edited.id,
            importance=importance,
            created_at=_instant(at),
        )
        [outcome] = ingest(engine, [draft], self._opened.intake())
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
        plan = ImportPlan(paths, space, intake, _instant(since))
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
            Memory(scratch, space=self.space, embedder="words", wait_s=0.0) as nothing,
        ):
            nothing.create()
            return nothing.import_notes(paths, since=since, dry_run=True, on_file=on_file)

    def take_in(self, *, everything: bool = False, within_s: float = inf) -> TakenIn:
        """Store the captured exchanges that are due, and say what became of them.

        Nothing is lost and nothing doubled when this is killed at any point, called twice or by two
        processes at once: an exchange leaves the spool when it is over and stored.

        Args:
            everything: also those that may go on, as if they were over.
            within_s: begin with no further one after so many seconds.
        """
        if not spool.waiting(self.home):
            return TakenIn()
        with spool.draining(self.home) as ours:
            names = spool.waiting(self.home)
            if not ours:
                return TakenIn(waiting=len(names))
            read = ((name, spool.read(self.home, name)) for name in names)
            events = ((name, event) for name, event in read if event is not None)
            now, options = datetime.now(UTC), self.config.capture
            exchanges = assemble(events, now, options)
            due = (each for each in exchanges if everything or is_due(each, now, options))
            until = monotonic() + within_s
            taken = self.store_exchanges(takewhile(lambda _: monotonic() < until, due))
            over = (each for each in taken.done if each.closed or everything)
            spool.remove(self.home, [name for each in over for name in each.names])
            return replace(taken, waiting=len(spool.waiting(self.home)))

    def store_exchanges(
        self, exchanges: Iterable[Exchange], *, dry_run: bool = False, again: bool = False
    ) -> TakenIn:
        """Store exchanges of hosts, each in its own space; the same again adds nothing.

        Args:
            exchanges: in the order in which they began.
            dry_run: write nothing.
            again: let forgotten ones back in.
        """
        engine = self._opened.engine(create=True)
        intake = replace(self._opened.intake(), dry_run=dry_run, again=again)
        self._opened.write_uses()
        taken = store_exchanges(engine, exchanges, intake, self._opened.recalled)
        self._opened.wake()
        return taken

    def wait(
        self, timeout_s: float | None = None, on_tick: Callable[[int], None] = lambda done: None
    ) -> bool:
        """Wait for vectors and mirror; False when time ran out or something is to be tried again.

        Args:
            timeout_s: how long at most; None: `wait_s`.
            on_tick: told the number of nodes embedded so far, about ten times a second.
        """
        return self._opened.wait(self.wait_s if timeout_s is None else timeout_s, on_tick)

    def receipt(self, receipt: Receipt) -> Receipt:
        """Read a receipt's figures back again, after vectors have followed."""
        identity = self._opened.choice().remembered.identity
        with self._opened.engine().reading() as reader:
            return read_again(reader, receipt, identity)

    def missing_vectors(self) -> int:
        """Count the nodes that have no vector yet; 0 where words are all."""
        if not homes.exists(self.home) or self._opened.choice().meaning is None:
            return 0
        with self._opened.engine().reading() as reader:
            tiers = dict(reader.totals().tiers)
        if self.config.tiers.drop_cold_vectors:
            tiers.pop("cold", None)
        return sum(tier.nodes - tier.vectors for tier in tiers.values())

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
        request = self._request(query, self.config.floor.asked if floor is None else floor)
        return self._answer(
            replace(request, as_of=_instant(as_of)), budget, counted=counted and as_of is None
        )

    def warm(self) -> None:
        """Open what a recall needs, so that the first is as quick as the next. Idempotent.

        Raises:
            NoHomeError: when there is no home yet.
        """
        engine, meaning = self._opened.engine(), self._opened.choice().meaning
        recall(engine, meaning, self._request("warm", 1.0), self.config.recall)
        self._opened.wake()

    def inject(
        self,
        query: str,
        *,
        session: str,
        budget: Budget | None = None,
        timeout_s: float | None = None,
    ) -> Recall:
        """Recall for a conversation that did not ask: surer hits, and none that it holds already.

        Args:
            query: what the person said.
            session: `host:session`.
            budget: upper bounds; the settings' unless given.
            timeout_s: how long to wait for the query's vector; the settings' unless given.

        Raises:
            NoHomeError: when there is no home yet.
        """
        sessions = self._opened.sessions
        request = replace(
            self._request(query, self.config.floor.injected), known=sessions.known(session)
        )
        if timeout_s is not None:
            request = replace(request, query_timeout_s=timeout_s)
        answer = self._answer(request, budget, counted=True)
        if answer.hits:
            sessions.add(session, (int(hit.node) for hit in answer.hits))
        return answer

    def compacted(self, session: str) -> None:
        """Note that a host dropped what a conversation held: it may be injected again."""
        self._opened.sessions.compacted(session, datetime.now(UTC))

    def _request(self, query: str, floor: float) -> Request:
        return Request(
            query=redact(clean(query)[0])[0],
            space=self.space,
            recall_id=secrets.token_hex(8),
            nonce=secrets.token_hex(8),
            now=datetime.now(UTC),
            floor=floor,
            query_timeout_s=self.config.embed.query_timeout_s,
        )

    def _answer(self, request: Request, budget: Budget | None, *, counted: bool) -> Recall:
        engine, choice, forgets = self._opened.engine(), self._opened.choice(), self._opened.forgets
        options = replace(self.config.recall, budget=budget or self.config.budget)
        answer = recall(engine, choice.meaning, request, options)
        answer = replace(answer, notes=(*choice.notes, *answer.notes))
        self._opened.keep(Use(answer, request.now, counted=counted), forgets=forgets)
        self._opened.wake()
        return answer

    def explain(self, recall_id: str) -> dict[str, Any]:
        """Return a logged recall as the JSON of the contract.

        Raises:
            AddressError: when the log does not hold it.
        """
        engine = self._opened.engine()
        self._opened.write_uses()
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
        key = None if self._named_space is not None else self._key
        if key is None:
            return self._named_space or GLOBAL
        if not homes.exists(self.home):
            return space_slug(key)
        with self._opened.engine().reading() as reader:
            return reader.space_of_key(key) or free_name(space_slug(key), reader.spaces())

    def _writing_space(self) -> str:
        """Return the space to write to, registered under its key."""
        key = None if self._named_space is not None else self._key
        if key is None:
            return self.space
        engine = self._opened.engine(create=True)
        with engine.reading() as reader:
            known = reader.space_of_key(key)
        if known is not None:
            return known
        with engine.writing() as writer:
            return writer.register_space(key, space_slug(key))

    def read(self, address: str, *, reach: Reach = "home") -> NodeView:
        """Fetch the node at an address with its surroundings.

        Raises:
            AddressError: when nothing within reach has this address.
        """
        with self._opened.engine().reading() as reader:
            return browse.view(reader, address, self.space, reach)

    def tree(self, address: str | None = None, *, depth: int = 2) -> list[TreeLine]:
        """Walk a subtree, or all documents of the space.

        Raises:
            AddressError: when nothing has this address.
        """
        with self._opened.engine().reading() as reader:
            return list(browse.tree(reader, address, self.space, depth))

    def recent(self, *, since: datetime | None = None, limit: int = 20) -> tuple[Document, ...]:
        """List the newest documents of the space and of `global`."""
        spaces = tuple(dict.fromkeys((self.space, GLOBAL)))
        with self._opened.engine().reading() as reader:
            return reader.recent_documents(spaces, since=_instant(since), limit=limit)

    def spaces(self) -> dict[str, int]:
        """Count the documents of every space."""
        with self._opened.engine().reading() as reader:
            return dict(reader.totals().spaces)

    def stats(self) -> Stats:
        """Count what there is, and say what is degraded."""
        choice = self._opened.choice()
        with self._opened.engine().reading() as reader:
            totals = reader.totals()
            unmirrored = len(reader.unmirrored(1000)) if self.config.mirror.enabled else 0
            missing = reader.missing_tiers
        return Stats(
            home=self.home,
            space=self.space,
            totals=totals,
            embedder=choice.remembered.name,
            identity=choice.remembered.identity or None,
            notes=(*choice.notes, *self._opened.troubles),
            unmirrored=unmirrored,
            missing_tiers=missing,
            spooled=len(spool.waiting(self.home)),
            set_aside=tuple(spool.set_aside(self.home)),
            paused=is_paused_everywhere(self.home),
        )

    # -- forgetting ------------------------------------------------------------------------------

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
        if not dry_run:
            self.take_in(everything=True)  # what waits in the spool is to be forgotten too
        erasure = self._opened.erasure(dry_run=dry_run)
        with erasure.engine.reading() as reader:
            if address is not None:
                node = browse.resolve(reader, address, self.space, reach)
            elif space is not None:
                documents = list(reader.roots(space))
                if not documents:
                    raise AddressError(f"Space {space} holds nothing.", mend="ringwood spaces")
            else:
                key = None if source is None else clean(source)[0]
                documents = [
                    browse.find_document(reader, self.space, identity=document, source=key)
                ]
        with nullcontext() if dry_run else self._opened.forgetting():
            if address is not None:
                report = forget_node(erasure, node.id)
            else:
                report = forget_documents(erasure, documents)
        self._opened.wake()
        return report

    # -- upkeep ----------------------------------------------------------------------------------

    def rotate(
        self,
        *,
        dry_run: bool = False,
        on_document: Callable[[int, int], None] = lambda done, total: None,
    ) -> Rotated:
        """Move documents of every space to the tier of their age. Safe to cut short.

        Args:
            dry_run: move nothing, only say what is due.
            on_document: told how many of how many documents are done.

        Raises:
            NoHomeError: when there is no home yet.
            StorageError: when the disk refuses; what was moved before stays moved.
        """
        engine, now = self._opened.engine(), datetime.now(UTC)
        return rotate(engine, self.config.tiers, now, dry_run=dry_run, on_document=on_document)

    def dream(
        self,
        *,
        dry_run: bool = False,
        everything: bool = False,
        wait_s: float | None = None,
        on_nodes: Progress = lambda space, done, total: None,
    ) -> Dreamed:
        """Compare all with all in every space: similar edges and duplicates. Safe to cut short.

        Args:
            dry_run: write nothing, only say what would change.
            everything: compare spaces too that are too large to do so unasked.
            wait_s: how long to wait first for vectors that are to come; None: `wait_s`.
            on_nodes: told the space, and how many of how many nodes are compared.

        Raises:
            NoHomeError: when there is no home yet.
            StorageError: when the disk refuses; spaces that were done before stay done.
        """
        engine, choice = self._opened.engine(), self._opened.choice()
        if not dry_run:
            self._opened.wake()
            self.wait(wait_s)
        plan = Plan(choice.meaning, self.config.link, self.config.dream, everything, dry_run)
        done = dream(engine, plan, on_nodes)
        return replace(done, notes=(*choice.notes, *done.notes))

    # -- opening and closing ---------------------------------------------------------------------

    def create(self) -> None:
        """Make the home if there is none. Idempotent."""
        self._opened.engine(create=True)

    def close(self) -> None:
        """Wait up to `wait_s` for vectors, write down what was used, and let go. Idempotent.

        Whatever is asked of a closed memory raises `UsageError`.
        """
        if self._is_view:
            return
        try:
            if self._opened.is_open:
                self.take_in(within_s=min(self.wait_s, DUE_S))
        except StorageError as error:
            _log.info("what was captured stays in the spool: %s", error.message)
        finally:
            self._opened.close(self.wait_s)

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


def _instant(moment: datetime | None) -> datetime | None:
    """Turn a time into UTC; one without a zone is local time, as a person means it."""
    try:
        return None if moment is None else moment.astimezone(UTC)
    except (OverflowError, ValueError) as error:
        raise UsageError(f"{moment} lies beyond the calendar.", mend="give another time") from error
