"""What is open while a memory is: the database, the embedder, the worker, and uses to write down.

Each opens on first use and stays open until `close`. Nothing here knows what a caller wants of it.
"""

from __future__ import annotations

import logging
import os
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Lock, RLock
from typing import Any

from ringwood import home as homes
from ringwood.config import Config, credential
from ringwood.embed.base import Embedder
from ringwood.embed.choose import Choice, Remembered, choose, choose_next
from ringwood.embed.meaning import Meaning
from ringwood.embed.open import open_embedder
from ringwood.engine.base import Engine
from ringwood.engine.sqlite import open_engine
from ringwood.errors import StorageError, UsageError
from ringwood.lease import Lease
from ringwood.mounts import require_local
from ringwood.recall.session import Sessions
from ringwood.recall.usage import LOG_KEEP, Use, unpack, write_uses
from ringwood.upkeep.aging import rotate
from ringwood.upkeep.dreaming import merge
from ringwood.upkeep.lease import holding
from ringwood.upkeep.switching.reindex import Reindex
from ringwood.write.draft import Intake
from ringwood.write.forget import Erasure
from ringwood.write.remembered import remember, remembered, wanted
from ringwood.write.retry import Piece
from ringwood.write.together import Together
from ringwood.write.troubles import note_trouble, settle
from ringwood.write.worker import Task, Worker

_log = logging.getLogger(__name__)

_JOIN_S = 5.0
"""How long closing waits for the batch under way: the bundled model takes a tenth of it."""

_DRAFT_S = 60.0
"""Age of a small file's draft from which on nobody is at it, seconds: writing takes a moment."""
_USES = Piece("recall log")
"""What is noted when recalls cannot be logged."""
RECENT_LOGS = 64
"""Recalls in which an answer is looked for as a quotation: an hour of talk holds a few."""


class OpenHome:
    """One home and what is open of it. Safe from several threads, and in a forked child."""

    def __init__(self, home: str, config: Config, embedder: str | Embedder | None) -> None:
        """Name the home and what is to be used; nothing is opened."""
        self._home = home
        self._config = config
        self._asked_embedder = embedder
        self._closed = False
        self._engine: Engine | None = None
        self._chosen: Choice | None = None
        self._left: list[Embedder] = []  # opened for a choice that holds no more
        self._under_way: Reindex | None = None
        self.stored: set[tuple[str, ...]] = set()
        """Exchanges that are stored as they are and may go on, by their files in the spool."""
        self._begin()
        _live.add(self)

    def _begin(self) -> None:
        """Have no worker, nothing to write down, and locks that nobody holds."""
        self.sessions = Sessions(self._home)
        """What conversations hold already."""
        self.together = Together()
        """Where threads meet that store at once."""
        self._lock = RLock()  # of everything below but the log
        self._log_lock = Lock()  # held while uses are written, and while a text is forgotten
        self._worker: Worker | None = None
        self._tidied = False
        self._uses: list[Use] = []
        self._forgets = 0

    # -- the database and the embedder -----------------------------------------------------------

    def engine(self, *, create: bool = False) -> Engine:
        """Return the database, opened.

        Raises:
            NoHomeError: when there is none and `create` is False.
            NetworkError: when it lies on a network file system and may not.
            UsageError: when this was closed.
        """
        with self._lock:
            if self._closed:
                raise UsageError("This memory is closed.", mend="open it again")
            if self._engine is None:
                require_local(self._home, self._config.home)
                if create:
                    homes.create_home(self._home)
                else:
                    homes.require(self._home)
                self._engine = open_engine(
                    Path(self._home),
                    warm_path=_path(self._config.tiers.warm_path),
                    cold_path=_path(self._config.tiers.cold_path),
                    create=create,
                )
            return self._engine

    @property
    def is_open(self) -> bool:
        """Whether the database was opened and not closed yet."""
        return self._engine is not None and not self._closed

    def choice(self) -> Choice:
        """Return the embedder and how meanings are compared. Asks no server.

        Decided anew when the home went over to another embedder, in whichever process; and, for an
        embedder on a server, until the home knows it: any process may be the one that meets it.
        """
        with self._lock:
            chosen = self._chosen
            if self._closed and chosen is not None:
                return chosen  # of the worker, which is on its way out
            with self.engine().reading() as reader:
                known = remembered(reader)
            if chosen is None or not _holds(chosen, known):
                self._leave(chosen)
                chosen = self._choose(self.asked, known)
            elif chosen.unsettled is not None:
                chosen = replace(self._choose(chosen.unsettled, known), owned=chosen.owned)
            self._chosen = chosen
            return chosen

    @property
    def asked(self) -> str | Embedder | None:
        """The embedder that a caller or a setting names; None: what the home was filled with."""
        return self._asked_embedder or self._config.embed.embedder

    def open_next(self, asked: str | Embedder) -> Choice:
        """Open an embedder that the home is to go over to; the caller closes what is owned.

        Raises:
            UsageError: when there is no embedder of this name.
            EmbedderError: when it is not to be had, or its server does not answer well.
        """
        with self.engine().reading() as reader:
            known = [each for each in (wanted(reader), remembered(reader)) if each is not None]
        calibrated = self._config.embed.calibration
        return choose_next(asked, known, calibrated=calibrated, opener=self.embedder_named)

    def take_over(self, asked: str | Embedder, opened: Choice) -> None:
        """Go by an embedder that the home went over to here, and close it when the time comes.

        Who named none before follows the home wherever it goes next.
        """
        with self._lock:
            self._leave(self._chosen)
            self._chosen = opened
            if self.asked is not None or not isinstance(asked, str):
                self._asked_embedder = asked

    @property
    def under_way(self) -> Reindex | None:
        """The reindex that is done in the background here, a step at a time."""
        return self._under_way

    @under_way.setter
    def under_way(self, reindex: Reindex | None) -> None:
        with self._lock:
            if self._under_way is not None:
                self._leave(self._under_way.target)
            self._under_way = reindex

    def _leave(self, choice: Choice | None) -> None:
        """Let a choice go. Its embedder is closed at the end: others may be in a call of it."""
        if choice is not None and choice.owned is not None:
            self._left.append(choice.owned)

    def meaning(self) -> Meaning | None:
        """Return how meanings are compared; an embedder on a server is asked first who it is.

        That may take a while, so it is for the worker: no lock is held meanwhile.

        Raises:
            EmbedderError: when the server does not answer well.
        """
        choice = self.choice()
        if choice.unsettled is None:
            return choice.meaning
        choice.unsettled.meet()
        with self.engine().reading() as reader:
            filled = remembered(reader) is not None
        if filled:
            self._remember(self.choice().remembered)
        return self.choice().meaning

    def _choose(self, asked: str | Embedder | None, known: Remembered | None) -> Choice:
        calibrated = self._config.embed.calibration
        return choose(asked, known, calibrated=calibrated, opener=self.embedder_named)

    def embedder_named(self, name: str) -> Embedder | None:
        """Make an embedder by its name, with this home's settings and keys; None for `words`.

        Raises:
            UsageError: when there is no such embedder.
            EmbedderError: when it cannot be had.
        """
        key_of = partial(credential, self._home)
        return open_embedder(name, options=self._config.embed, key_of=key_of)

    def intake(self) -> Intake:
        """Say how texts are taken in; the first of them fixes the home's embedder."""
        self._remember(self.choice().remembered)
        return Intake(datetime.now(UTC), self.choice().state, self._config.parse)

    def _remember(self, chosen: Remembered) -> None:
        """Write down which embedder the home's vectors are of, unless it is there already."""
        engine = self.engine()
        with engine.reading() as reader:
            news = _is_news(chosen, remembered(reader))
        if not news:
            return
        with engine.writing() as writer, engine.reading() as reader:
            if _is_news(chosen, remembered(reader)):
                remember(writer, chosen)

    def erasure(self, *, dry_run: bool = False) -> Erasure:
        """Say where and how texts are forgotten."""
        choice = self.choice()
        return Erasure(
            engine=self.engine(),
            mirror_root=self._mirror_root,
            embedder=choice.remembered.identity,
            intake=Intake(datetime.now(UTC), choice.state, self._config.parse),
            dry_run=dry_run,
        )

    @property
    def _mirror_root(self) -> str:
        return str(Path(self._home) / homes.MIRROR_FOLDER)

    # -- the worker ------------------------------------------------------------------------------

    def wake(self) -> None:
        """Let the worker see to what is waiting; nothing happens once this was closed."""
        with self._lock:
            if self._closed or not self.engine().writable:
                return
            if self._worker is None:
                task = Task(
                    engine=self.engine(),
                    meaning=self.meaning,
                    mirror_root=self._mirror_root,
                    link=self._config.link,
                    mirror=self._config.mirror,
                    worker=self._config.worker,
                    retry_s=self._config.upkeep.retry_s,
                    before=self._before_work,
                )
                self._worker = Worker(task, self.lease())
            self._worker.wake()

    def _before_work(self) -> None:
        """Write down uses, and clear what whoever died left behind: drafts, moves, merges."""
        self.write_uses()
        if not self._tidied:
            homes.remove_drafts(self._home, time.time() - _DRAFT_S)
            self._tidied = True
        engine = self.engine()
        if rotate.is_unfinished(engine):
            with holding(self._home, rotate.ROTATION) as held:
                if held:
                    rotate.finish(engine, datetime.now(UTC))
        if merge.is_unfinished(engine):
            with holding(self._home, merge.DREAM) as held:
                if held:
                    merge.finish(engine, self._mirror_root)

    def lease(self) -> Lease:
        """Return a new contender for the right to embed in this home."""
        return Lease(Path(self._home) / homes.EMBEDDING_LOCK)

    def wait(self, timeout_s: float, on_tick: Callable[[int], None] = lambda done: None) -> bool:
        """Wait for the worker; False when time ran out or something is to be tried again."""
        worker = self._worker
        return worker is None or (worker.wait(timeout_s, on_tick) and not worker.errors)

    @property
    def troubles(self) -> tuple[str, ...]:
        """What the worker could not do, in sentences."""
        worker = self._worker
        return () if worker is None else worker.errors

    # -- uses ------------------------------------------------------------------------------------

    @property
    def forgets(self) -> int:
        """How often a text was forgotten here: a recall that began before the last is not kept."""
        return self._forgets

    def keep(self, use: Use, *, forgets: int) -> None:
        """Keep a use to be written down, unless something was forgotten since it began."""
        with self._lock:
            if forgets == self._forgets:
                self._uses = [*self._uses, use][-LOG_KEEP:]

    def write_uses(self) -> None:
        """Log recalls and count accesses; what cannot be written now waits for the next time."""
        with self._log_lock:
            with self._lock:
                engine, uses, self._uses = self._engine, self._uses, []
            if engine is None or not uses:
                return
            try:
                write_uses(engine, uses)
                settle(engine, _USES)
            except StorageError as error:
                _log.info("recalls were not logged yet: %s", error.message)
                with suppress(StorageError):
                    note_trouble(engine, _USES, error.message, self._config.upkeep.retry_s)
                with self._lock:
                    self._uses = [*uses, *self._uses][-LOG_KEEP:]

    def recalled(self, space: str) -> tuple[str, ...]:
        """Return the texts of the newest recalls in a space, each once, as they were logged."""
        hits = (hit for log in self.recent_recalls(space) for hit in log["hits"])
        return tuple(dict.fromkeys(hit["text"] for hit in hits))

    def recent_recalls(self, space: str) -> list[dict[str, Any]]:
        """Return what the newest `RECENT_LOGS` recalls logged, those in a space, newest first."""
        with self.engine().reading() as reader:
            logs = [unpack(payload) for payload in reader.recent_logs(RECENT_LOGS)]
        return [log for log in logs if log["space"] == space]

    @contextmanager
    def forgetting(self) -> Iterator[None]:
        """Keep the log as it is meanwhile, and then nothing that may quote what was forgotten."""
        with self._log_lock:
            try:
                yield
            finally:
                with self._lock:
                    self._forgets += 1
                    self._uses = []
                homes.drop_briefs(self._home)

    # -- closing ---------------------------------------------------------------------------------

    def close(self, wait_s: float) -> None:
        """Wait up to `wait_s` for the worker, write down what was used, and let go. Idempotent."""
        try:
            self.wait(wait_s)
        finally:
            with self._lock:
                self._closed = True
                worker, engine = self._worker, self._engine
                self._leave(self._chosen)
                self.under_way = None
            if worker is not None:
                worker.stop()
            while self._left:
                self._left.pop().close()  # a batch under way ends at once
            if worker is not None:
                worker.join(_JOIN_S)
            if engine is not None:
                self.write_uses()
                engine.close()

    def _after_fork_in_child(self) -> None:
        """Leave thread and uses to the parent; a thread that is not here may hold the locks."""
        self._begin()


def _holds(choice: Choice, known: Remembered | None) -> bool:
    """Say whether a choice still fits what the home is filled with.

    One whose server nobody had met when it was made holds as long as the home keeps the name.
    """
    if known is None or known.accepts(choice.remembered):
        return True
    return choice.unsettled is not None and choice.remembered.name == known.name


def _is_news(chosen: Remembered, known: Remembered | None) -> bool:
    """Say whether a home is to be told which embedder its vectors are of."""
    if known is None:
        return True
    if known == chosen:
        return bool(chosen.record) and not known.record
    return known.accepts(chosen)


def _path(given: str | None) -> Path | None:
    return None if given is None else Path(given).expanduser()


_live: weakref.WeakSet[OpenHome] = weakref.WeakSet()


def _forget_threads() -> None:
    """Let every open home of a forked child start a worker of its own."""
    for opened in list(_live):
        opened._after_fork_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)
