"""What is open of a home: a pool of readers, one writer a tier behind the gate, across forks."""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import apsw

from ringwood.engine.sqlite import files, removals
from ringwood.engine.sqlite.compaction import bound_log, log_of
from ringwood.engine.sqlite.connection import (
    BUSY_TIMEOUT_S,
    Identity,
    connect_to_write,
    full_disk_told,
    identity_of,
    is_damage,
    is_writable,
    meaning_of,
    no_home,
    not_ours,
    not_text,
    remaining,
    transaction,
)
from ringwood.engine.sqlite.files import Attached
from ringwood.engine.sqlite.gate import Gate, gate_for
from ringwood.engine.sqlite.home_writing import number_of_space
from ringwood.engine.sqlite.rows import RowError
from ringwood.engine.sqlite.tier import TierWriter
from ringwood.engine.sqlite.tiers import TiersReader
from ringwood.engine.sqlite.vector_copy import Horizon, VectorCopy, horizon_of
from ringwood.errors import HomeError, StorageError, UsageError
from ringwood.types import TIERS, Tier

_log = logging.getLogger(__name__)

_MAX_IDLE_READERS = 8
"""Connections kept open between readings."""
_SETTLING_TIMEOUT_S = 1.0
"""How long opening waits for a writer, to remove what was forgotten from a tier that is back."""
_CLOSING_TIMEOUT_S = 0.1
"""How long closing waits for a writer of this process, which else closes its connections itself."""


class Connected:
    """Connections to the files of a home, handed out to read and to write with."""

    def __init__(
        self, paths: Mapping[Tier, Path], gate: Gate, attached: Attached | None = None
    ) -> None:
        self._paths = paths
        self._start(gate)
        if attached is not None:
            self._idle.append(attached)
        _engines.add(self)

    def _start(self, gate: Gate) -> None:
        self._gate = gate
        self._lock = threading.Lock()  # of everything below but the writers, which the gate guards
        self._closed = False
        self._idle: list[Attached] = []
        self._damaged: set[Identity] = set()
        self._copies: dict[tuple[int, Identity, str], VectorCopy] = {}
        self._writers: dict[Tier, tuple[Identity, apsw.Connection]] = {}
        self._is_behind = False  # whether a tier that is back holds what is to be removed

    # -- reading -------------------------------------------------------------------------------

    @contextmanager
    def reading(self) -> Iterator[TiersReader]:
        """Open a snapshot over all tiers; see `Engine`."""
        with self._translated():
            attached, horizons = self._begin()
            try:
                yield TiersReader(
                    attached.connection,
                    attached.missing,
                    horizons,
                    lambda tier, embedder: self._copy_of(attached, tier, embedder),
                    self._sizes,
                )
            finally:
                self._give_back(attached)

    @contextmanager
    def _connected(self) -> Iterator[apsw.Connection]:
        """Hold a snapshot over all tiers, for a query that is no reader's."""
        with self._translated():
            attached, _ = self._begin()
            try:
                yield attached.connection
            finally:
                self._give_back(attached)

    def _begin(self) -> tuple[Attached, list[Horizon]]:
        """Start a transaction and pin each file's snapshot, hot first: the hottest copy wins.

        A tier from which something is still to be removed counts as missing.
        """
        behind: tuple[Tier, ...] = ()
        while True:
            attached = self._take(behind)
            try:
                with full_disk_told(attached.connection):
                    attached.connection.execute("BEGIN")
                    horizons = [horizon_of(attached.connection, tier) for tier in range(len(TIERS))]
                    behind = removals.tiers_behind(attached.connection)
            except BaseException:
                attached.connection.close()
                raise
            if all(tier in attached.missing for tier in behind):
                return attached, horizons
            self._is_behind = True
            self._give_back(attached)

    def _take(self, without: Collection[Tier] = ()) -> Attached:
        """Get a connection over the files that lie there now, but for some of them."""
        present = files.identities_of(self._paths, without)
        with self._lock:
            self._check_open()
            # A file that was found damaged counts as not there until another takes its place.
            present = tuple(None if i in self._damaged else i for i in present)
            while self._idle:
                attached = self._idle.pop()
                if attached.identities == present:
                    return attached
                attached.connection.close()
        if present[0] is None:
            raise no_home(self._paths["hot"].parent)
        return files.attach_all(self._paths, present)

    def _give_back(self, attached: Attached) -> None:
        try:
            if attached.connection.in_transaction:
                attached.connection.execute("ROLLBACK")
        except apsw.Error:
            attached.connection.close()
            return
        # A tier that is there and could not be opened may be had the next time.
        is_whole = not any(attached.identities[TIERS.index(tier)] for tier in attached.missing)
        with self._lock:
            if is_whole and not self._closed and len(self._idle) < _MAX_IDLE_READERS:
                self._idle.append(attached)
                return
        attached.connection.close()

    def _copy_of(self, attached: Attached, tier: int, embedder: str) -> VectorCopy:
        key = (tier, attached.identities[tier], embedder)
        with self._lock:
            if key not in self._copies:
                self._copies = {
                    other: copy
                    for other, copy in self._copies.items()
                    if other[0] != tier or other[1] == key[1]
                }
                self._copies[key] = VectorCopy(tier, embedder)
            return self._copies[key]

    def _sizes(self, tier: Tier) -> tuple[int, int]:
        path = self._paths[tier]
        log = files.size_of(log_of(path))
        return files.size_of(path) + log, log

    # -- writing -------------------------------------------------------------------------------

    @contextmanager
    def writing(
        self, tier: Tier = "hot", *, timeout_s: float | None = None
    ) -> Iterator[TierWriter]:
        """Begin a transaction on one tier; see `Engine`."""
        deadline = time.monotonic() + (BUSY_TIMEOUT_S if timeout_s is None else timeout_s)
        with self._gated(deadline), self._translated(tier):
            connection = self._writer(tier)
            with transaction(connection, timeout_s=remaining(deadline)):
                yield TierWriter(connection, tier, self._number_in_hot)
            bound_log(connection, self._paths[tier])

    @contextmanager
    def _gated(self, deadline: float) -> Iterator[None]:
        gate = self._gate
        gate.acquire(remaining(deadline))
        try:
            if self._is_behind:
                self._remove_listed(remaining(deadline))
            yield
        finally:
            if self._closed:
                self._close_writers()
            gate.release()

    def _writer(self, tier: Tier) -> apsw.Connection:
        """Get the write connection of a tier; the gate is held."""
        self._check_open()
        path = self._paths[tier]
        present = identity_of(path)
        known, connection = self._writers.get(tier, (None, None))
        if connection is not None and known == present:
            return connection
        if connection is not None:
            connection.close()
            del self._writers[tier]
        with self.reading() as reader:
            if tier in reader.missing_tiers:
                raise files.missing(tier, path)
        connection = self._able_to_write(tier)
        self._writers[tier] = (present, connection)
        return connection

    def _able_to_write(self, tier: Tier) -> apsw.Connection:
        """Open a tier to write; what is idle makes way where SQLite would only read by it."""
        path = self._paths[tier]
        with suppress(apsw.ReadOnlyError):
            return connect_to_write(path)
        for engine in list(_engines):
            if engine._gate is self._gate:  # the same home, and its writers are idle, too
                engine._make_way(tier)
        try:
            return connect_to_write(path)
        except apsw.ReadOnlyError as error:
            if not is_writable(path):
                raise
            raise apsw.CantOpenError("a reader has it that could open it only in part") from error

    def _make_way(self, tier: Tier) -> None:
        """Close what is idle and has a tier open; the gate is held."""
        self._close_idle()
        _, connection = self._writers.pop(tier, (None, None))
        if connection is not None:
            connection.close()

    def _number_in_hot(self, space: str) -> int:
        connection = self._writer("hot")
        with transaction(connection, timeout_s=BUSY_TIMEOUT_S):
            return number_of_space(connection, space)

    # -- tiers that are back -------------------------------------------------------------------

    def settle(self) -> None:
        """Remove from tiers that are back what was forgotten while they were away.

        Costs a look into hot where nothing was. What cannot be done now is done with the next
        write; until then such a tier counts as missing.
        """
        with suppress(apsw.Error, HomeError):
            attached = self._take()
            try:
                behind = removals.tiers_behind(attached.connection)
            finally:
                self._give_back(attached)
            if any(tier not in attached.missing for tier in behind):
                self._is_behind = True
                with self._gated(time.monotonic() + _SETTLING_TIMEOUT_S):
                    pass  # whoever has the gate does it first

    def _remove_listed(self, timeout_s: float) -> None:
        """Bring tiers that are back up to date; the gate is held. It fails without failing."""
        self._is_behind = False
        try:
            hot = self._writer("hot")
            attached = self._take()
            self._give_back(attached)
            for tier in removals.tiers_behind(hot):
                if tier in attached.missing or not is_writable(self._paths[tier]):
                    continue
                with closing(self._able_to_write(tier)) as colder:
                    number = self._number_in_hot
                    removals.remove_listed(hot, colder, tier, number, timeout_s=timeout_s)
                _log.info("the %s tier is back: what was forgotten was removed there", tier)
        except (apsw.Error, StorageError) as error:
            _log.warning("a tier that is back waits, since nothing is removed there yet: %s", error)

    # -- closing ------------------------------------------------------------------------------

    def close(self) -> None:
        """Close every connection; one that is in use closes when it is done. Idempotent."""
        _engines.discard(self)
        with self._lock:
            self._closed = True
            self._copies.clear()
        self._close_idle()
        if self._gate.try_turn(_CLOSING_TIMEOUT_S):
            self._close_writers()
            self._gate.end_turn()

    def _close_idle(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for attached in idle:
            attached.connection.close()

    def _close_writers(self) -> None:
        for _, connection in self._writers.values():
            connection.close()
        self._writers.clear()

    def _check_open(self) -> None:
        if self._closed:
            raise UsageError("this memory is closed", mend="open it again")

    @contextmanager
    def _translated(self, tier: Tier | None = None) -> Iterator[None]:
        what = self._paths[tier] if tier else self._paths["hot"].parent
        try:
            yield
        except apsw.Error as error:
            if is_damage(error) and tier is None:
                self._note_damage()
            raise meaning_of(error, what) from error
        except UnicodeDecodeError as error:
            raise not_text(what) from error
        except RowError as error:
            raise not_ours(what, error) from error

    def _note_damage(self) -> None:
        """Find out which colder tier broke: later readings go on without it."""
        for tier in TIERS[1:]:
            path = self._paths[tier]
            if files.exists(path) and not files.is_sound(path):
                _log.error("the %s tier is damaged: going on without it", tier)
                with self._lock:
                    self._damaged.add(identity_of(path))

    # -- forking -------------------------------------------------------------------------------
    # SQLite keeps one record per process of the locks it holds, and a child inherits the record
    # without the locks. So nothing idle is left open across a fork: the child, and the parent
    # too, open what they need anew. What was in use by another thread cannot be closed; the child
    # lets it leak, since closing it would drop locks.

    def _before_fork(self) -> None:
        self._lock.acquire()
        for attached in self._idle:
            attached.connection.close()
        self._idle.clear()
        self._holds_turn = self._gate.try_turn(0.0)
        if self._holds_turn:
            self._close_writers()

    def _after_fork_in_parent(self) -> None:
        if self._holds_turn:
            self._gate.end_turn()
        self._lock.release()

    def _after_fork_in_child(self) -> None:
        if self._writers:
            _leaked.append(self._writers)
        with suppress(StorageError):  # a home that is gone says so when it is used
            self._start(gate_for(self._gate.path))


_engines: weakref.WeakSet[Connected] = weakref.WeakSet()
_forking: list[Connected] = []
_leaked: list[object] = []


def _before_fork() -> None:
    _forking.extend(_engines)
    for engine in _forking:
        engine._before_fork()


def _after_fork_in_parent() -> None:
    while _forking:
        _forking.pop()._after_fork_in_parent()


def _after_fork_in_child() -> None:
    while _forking:
        _forking.pop()._after_fork_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
