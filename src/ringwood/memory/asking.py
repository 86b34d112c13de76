"""Asking: recalls that a person or an agent asked for, and those that a conversation is handed."""

from __future__ import annotations

import secrets
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from ringwood.errors import AddressError, UsageError
from ringwood.memory.base import Opened, instant
from ringwood.names import LAST_FORGET
from ringwood.recall.budget import Budget
from ringwood.recall.pipeline import Request, recall
from ringwood.recall.usage import LOG_KEEP, Use, unpack
from ringwood.text.clean import clean
from ringwood.text.echo import drop_blocks
from ringwood.text.private import drop_private
from ringwood.text.redact import redact
from ringwood.types import Recall


class Asking(Opened):
    """Finds what answers, and says why."""

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
            query: any text. Private parts of it are neither looked for nor logged.
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
            replace(request, as_of=instant(as_of)), budget, counted=counted and as_of is None
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
        keep_query: bool = True,
    ) -> Recall:
        """Recall for a conversation that did not ask: surer hits, and none that it holds already.

        Args:
            query: what the person said. Private parts of it, and blocks of recalled memory, are
                neither looked for nor logged.
            session: `host:session`.
            budget: upper bounds; the settings' unless given.
            timeout_s: how long to wait for the query's vector; the settings' unless given.
            keep_query: False where capture is paused: the log then says what was handed over, and
                not what was said.

        Raises:
            NoHomeError: when there is no home yet.
        """
        sessions = self._opened.sessions
        said, _ = drop_blocks(drop_private(query)[0])
        request = replace(
            self._request(said, self.config.floor.injected), known=sessions.known(session)
        )
        if timeout_s is not None:
            request = replace(request, query_timeout_s=timeout_s)
        answer = self._answer(request, budget, counted=True, keep_query=keep_query)
        if answer.hits:
            sessions.add(session, (int(hit.node) for hit in answer.hits))
        return answer

    def withdraw(self, answer: Recall, *, session: str) -> None:
        """Note that what was to be injected came too late: it may be another time."""
        if answer.hits:
            self._opened.sessions.remove(session, (int(hit.node) for hit in answer.hits))

    def compacted(self, session: str) -> None:
        """Note that a host dropped what a conversation held: it may be injected again."""
        self._opened.sessions.compacted(session, datetime.now(UTC))

    def _request(self, query: str, floor: float) -> Request:
        return Request(
            query=redact(clean(drop_private(query)[0])[0])[0],
            space=self.space,
            recall_id=secrets.token_hex(8),
            nonce=secrets.token_hex(8),
            now=datetime.now(UTC),
            floor=floor,
            query_timeout_s=self.config.embed.query_timeout_s,
        )

    def _answer(
        self,
        request: Request,
        budget: Budget | None,
        *,
        counted: bool,
        keep_query: bool = True,
    ) -> Recall:
        engine, choice, forgets = self._opened.engine(), self._opened.choice(), self._opened.forgets
        with engine.reading() as reader:
            last_forget = reader.meta(LAST_FORGET)
        options = replace(self.config.recall, budget=budget or self.config.budget)
        answer = recall(engine, choice.meaning, request, options)
        now = self._opened.choice()
        if now.remembered != choice.remembered:
            # The home went over to another embedder meanwhile: what it had may be gone already.
            choice, answer = now, recall(engine, now.meaning, request, options)
        answer = replace(answer, notes=(*choice.notes, *answer.notes))
        logged = answer if keep_query else replace(answer, query="")
        use = Use(logged, request.now, counted=counted, last_forget=last_forget)
        self._opened.keep(use, forgets=forgets)
        self._opened.wake()
        return answer

    def recent_recalls(self, limit: int = 10) -> list[dict[str, Any]]:
        """List the newest recalls in this space, newest first, as the JSON of the contract."""
        self._opened.write_uses()
        return self._opened.recent_recalls(self.space)[:limit]

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
