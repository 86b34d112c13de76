"""An open home: what is open of it, the worker that sees to what waits, and closing."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from threading import RLock

from ringwood import home as homes
from ringwood.config import Config
from ringwood.embed.base import Embedder
from ringwood.lease import Lease
from ringwood.open_home.embedding import Embedding
from ringwood.open_home.uses import Uses
from ringwood.recall.session import Sessions
from ringwood.upkeep.aging import rotate
from ringwood.upkeep.dreaming import merge
from ringwood.upkeep.lease import holding
from ringwood.write.draft import Intake
from ringwood.write.forget import Erasure
from ringwood.write.together import Together
from ringwood.write.worker import Task, Worker

_JOIN_S = 5.0
"""How long closing waits for the batch under way: the bundled model takes a tenth of it."""

_DRAFT_S = 60.0
"""Age of a small file's draft from which on nobody is at it, seconds: writing takes a moment."""


class OpenHome(Embedding, Uses):
    """One home and what is open of it. Safe from several threads, and in a forked child."""

    def __init__(self, home: str, config: Config, embedder: str | Embedder | None) -> None:
        """Name the home and what is to be used; nothing is opened."""
        super().__init__(home, config, embedder)
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
        self._lock = RLock()
        self._begin_uses()
        self._worker: Worker | None = None
        self._tidied = False

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

    # -- closing ---------------------------------------------------------------------------------

    def close(self, wait_s: float) -> None:
        """Wait up to `wait_s` for the worker, write down what was used, and let go. Idempotent."""
        try:
            self.wait(wait_s)
        finally:
            with self._lock:
                self._closed = True
                worker, engine = self._worker, self._engine
                self._leave_all()
            if worker is not None:
                worker.stop()
            self._close_left()
            if worker is not None:
                worker.join(_JOIN_S)
            if engine is not None:
                self.write_uses()
                engine.close()

    def _after_fork_in_child(self) -> None:
        """Leave thread and uses to the parent; a thread that is not here may hold the locks."""
        self._begin()


_live: weakref.WeakSet[OpenHome] = weakref.WeakSet()


def _forget_threads() -> None:
    """Let every open home of a forked child start a worker of its own."""
    for opened in list(_live):
        opened._after_fork_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)
