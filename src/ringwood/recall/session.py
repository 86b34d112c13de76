"""What a conversation holds already, so that nothing is handed to it twice.

A block that was injected stays in the host's history, and so does what was said there. Both are
left out until the host compacts: then they are gone, and may be recalled again.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock

from ringwood import home as homes
from ringwood.engine.base import Reader
from ringwood.errors import StorageError
from ringwood.recall.ledger import Candidate
from ringwood.types import Node

_log = logging.getLogger(__name__)

STAGE = "session"
"""Where candidates are dropped that the conversation holds."""
KEEP_DAYS = 14
"""A conversation nobody has asked in for so long is not kept in mind."""
HELD = 64
"""Conversations that stay in memory: those asked in last. Others are read again when asked in."""

_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Known:
    """What a conversation holds."""

    session: str
    """`host:session`: the beginning of the source keys of what was said in it."""
    nodes: frozenset[int] = frozenset()
    """Ids of the nodes that were injected into it."""
    since: datetime | None = None
    """When the host last compacted: only what was said after it is still there. UTC."""


def leave_out_known(
    reader: Reader, candidates: list[Candidate], known: Known | None
) -> list[Candidate]:
    """Drop what was injected before, what holds it or stands right below it, and what was said."""
    if known is None:
        return candidates
    injected = reader.nodes(known.nodes)
    return [_judge(each, known, injected) if each.stage is None else each for each in candidates]


def _judge(candidate: Candidate, known: Known, injected: Mapping[int, Node]) -> Candidate:
    node, document = candidate.node, candidate.document
    if any(_shows(node, each) for each in injected.values()):
        return candidate.drop(STAGE, "injected into this conversation before")
    said = document.source is not None and document.source.startswith(f"{known.session}:")
    if said and (known.since is None or document.created_at > known.since):
        return candidate.drop(STAGE, "said in this conversation")
    return candidate


def _shows(node: Node, injected: Node) -> bool:
    """Say whether a node shows again what was injected: it is it, holds it, or is its paragraph."""
    if node.document != injected.document:
        return False
    holds = node.span[0] <= injected.span[0] and injected.span[1] <= node.span[1]
    return holds or node.parent == injected.id


class Sessions:
    """Remembers per conversation what it holds, on disk, so that a restart repeats nothing.

    One small file each, ids and a time in it and no text. Safe from several threads.
    """

    def __init__(self, home: str) -> None:
        """Name the home; its folder of sessions is made when there is something to remember."""
        self._home = home
        self._lock = Lock()
        self._known: dict[str, Known] = {}

    def known(self, session: str) -> Known:
        """Say what a conversation holds."""
        with self._lock:
            return self._look_up(session)

    def add(self, session: str, nodes: Iterable[int]) -> None:
        """Note nodes that were injected."""
        with self._lock:
            before = self._look_up(session)
            self._put(replace(before, nodes=before.nodes | frozenset(nodes)))

    def remove(self, session: str, nodes: Iterable[int]) -> None:
        """Note that nodes were not injected after all."""
        with self._lock:
            before = self._look_up(session)
            self._put(replace(before, nodes=before.nodes - frozenset(nodes)))

    def compacted(self, session: str, now: datetime) -> None:
        """Note that the host dropped what the conversation held."""
        with self._lock:
            self._put(Known(session, since=now))

    def _look_up(self, session: str) -> Known:
        if not self._known:
            self._prune()
        known = self._known.get(session) or self._read(session)
        self._hold(known)
        return known

    def _hold(self, known: Known) -> None:
        self._known.pop(known.session, None)  # the one asked in last stands last
        self._known[known.session] = known
        if len(self._known) > HELD:
            del self._known[next(iter(self._known))]

    def _put(self, known: Known) -> None:
        self._hold(known)
        since = None if known.since is None else known.since.timestamp()
        try:
            homes.note_session(self._home, known.session, sorted(known.nodes), since)
        except StorageError as error:  # no reason to withhold what was found
            _log.info("what a conversation holds was not noted: %s", error.message)

    def _read(self, session: str) -> Known:
        try:
            content = json.loads(Path(homes.session_path(self._home, session)).read_text("utf-8"))
            since = content["since"]
            return Known(
                session,
                frozenset(int(node) for node in content["nodes"]),
                None if since is None else datetime.fromtimestamp(since, UTC),
            )
        except (OSError, ValueError, KeyError, TypeError, OverflowError):  # not there, or not ours
            return Known(session)

    def _prune(self) -> None:
        """Delete what belongs to conversations that ended long ago."""
        oldest = time.time() - KEEP_DAYS * _DAY_S
        try:
            for file in Path(self._home, homes.SESSIONS_FOLDER).iterdir():
                if file.stat().st_mtime < oldest:
                    file.unlink(missing_ok=True)
        except OSError:
            return  # no folder yet, or somebody else prunes it
