"""From the events in the spool to exchanges: who said what, and whether it is time to store it.

Pure. An exchange is what a person said and what the assistant answered. It stays in the spool until
it is closed, so that one stored early and then continued is stored again, whole, under the same
source key, and stays one document.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, groupby
from math import isfinite

from ringwood.capture.exchange import Event, conversation
from ringwood.capture.spool import stamp_of
from ringwood.text.redact import redact
from ringwood.types import Turn

_JOIN = "\n\n"
_SEAM_CHARS = 2_000
_NANOSECONDS = 1_000_000_000
_LAST_MOMENT = datetime(9999, 12, 31, tzinfo=UTC).timestamp()


@dataclass(frozen=True, slots=True)
class CaptureOptions:
    """When what was said is stored."""

    idle_s: float = 1.5
    """Quiet after an answer from which an exchange is stored, seconds: an assistant that works on
    speaks again sooner."""
    max_messages: int = 60
    """Messages of one exchange above which it is stored though it goes on."""
    max_open_s: float = 86_400.0
    """Quiet after which an exchange is closed, seconds: nobody goes on with it after a day."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """What a person said and what was answered, from the events that are in the spool."""

    host: str
    """Which program, for example `claude-code`."""
    session: str
    """The host's id of the conversation."""
    sequence: str
    """Names the exchange within it; the spool's stamp of the first event where the host has no
    name."""
    space: str | None
    """Key of the space it belongs to; None: `global`."""
    started_at: datetime
    """When the first of it was said. UTC."""
    heard_at: datetime
    """When the last of it came into the spool. UTC."""
    turns: tuple[Turn, ...]
    """What was said, neighbours of one speaker joined. None where only an end came: then there is
    nothing to store, only files to remove."""
    names: tuple[str, ...]
    """Its files in the spool, oldest first."""
    messages: int
    """Events with words in them, redelivered ones not counted."""
    masked: int
    """Secrets masked in it."""
    dropped: int
    """Parts taken out of it: private ones, and blocks of recalled memory."""
    closed: bool
    """Whether it is over: once it is stored, its files can go."""

    @property
    def source(self) -> str:
        """The source key of its document."""
        return f"{conversation(self.host, self.session)}:{self.sequence}"


def assemble(
    events: Iterable[tuple[str, Event]],
    now: datetime | None = None,
    options: CaptureOptions | None = None,
) -> list[Exchange]:
    """Put events together to exchanges, in the order in which these began.

    An exchange ends where a person speaks after an answer or a day's silence, or at an event that
    says so; events that bear the name of an earlier one still belong to that, and one with a new
    name never to one that is over. A redelivered event adds its file and no words. Streams of
    several conversations may be mixed.

    Args:
        events: file name and event, oldest first, as the spool orders them.
        now: closes what has been quiet for `max_open_s`; None: nothing is closed for its age.
        options: the bounds.
    """
    options = options or CaptureOptions()
    streams: dict[tuple[str, str], _Stream] = {}
    for name, event in events:
        key = (event.host, event.session)
        streams.setdefault(key, _Stream(options.max_open_s)).take(name, event)
    drafts = chain.from_iterable(stream.drafts for stream in streams.values())
    exchanges = [draft.exchange() for draft in sorted(drafts, key=lambda each: each.names[0])]
    if now is None:
        return exchanges
    return [_aged(each, now, options) for each in exchanges]


def is_due(exchange: Exchange, now: datetime, options: CaptureOptions) -> bool:
    """Say whether it is time to store an exchange: closed, answered and quiet, or long."""
    if exchange.closed or exchange.messages > options.max_messages:
        return True
    answered = bool(exchange.turns) and exchange.turns[-1].actor == "assistant"
    quiet_s = (now - exchange.heard_at).total_seconds()
    return answered and not 0.0 <= quiet_s < options.idle_s  # below 0 the clock was set back


def merge(stored: tuple[Turn, ...], heard: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """Return the turns of a document after more of its exchange was heard; nothing is lost.

    Usually what was heard is the whole exchange, and holds all that is stored. Where the earlier
    files are gone already (an event was delivered again, or came long after the end), what is new
    goes behind what is stored, and what is known adds nothing.
    """
    if all(_is_among(turn, heard) for turn in stored):
        return heard
    return stored + tuple(turn for turn in heard if not _is_among(turn, stored))


def _is_among(turn: Turn, others: tuple[Turn, ...]) -> bool:
    """Say whether one of the others holds these words, whole and by the same speaker."""
    words = f"{_JOIN}{turn.text.strip()}{_JOIN}"
    return any(
        words in f"{_JOIN}{other.text.strip()}{_JOIN}"
        for other in others
        if other.actor == turn.actor
    )


def _aged(exchange: Exchange, now: datetime, options: CaptureOptions) -> Exchange:
    """Close an exchange that nobody went on with for long."""
    quiet_s = (now - exchange.heard_at).total_seconds()
    return replace(exchange, closed=True) if quiet_s > options.max_open_s else exchange


class _Stream:
    """The exchanges of one conversation while its events are read."""

    def __init__(self, max_open_s: float) -> None:
        self.drafts: list[_Draft] = []
        self._max_open_s = max_open_s
        self._by_sequence: dict[str, _Draft] = {}
        self._seen: set[tuple[str, str, str]] = set()

    def take(self, name: str, event: Event) -> None:
        """Add an event to the exchange that it belongs to."""
        draft = self._draft_of(name, event)
        if draft is None:
            draft = _Draft(event)
            if self.drafts:
                self.drafts[-1].closed = True
            self.drafts.append(draft)
        draft.names.append(name)
        if event.kind == "end":
            draft.closed = True
        elif not self._is_repeated(event, draft):
            draft.said.append(event)
            if event.sequence:
                self._by_sequence.setdefault(event.sequence, draft)
                self._seen.add((event.sequence, event.kind, event.text))

    def _draft_of(self, name: str, event: Event) -> _Draft | None:
        """Find the exchange that an event goes on with; None where it begins one."""
        named = self._by_sequence.get(event.sequence) if event.sequence else None
        last = self.drafts[-1] if self.drafts else None
        if named is not None or last is None:
            return named
        if event.kind != "person":
            # What is answered or ended late has nowhere else to go, unless it says where.
            return None if event.sequence and last.closed else last
        quiet_s = (stamp_of(name) - stamp_of(last.names[-1])) / _NANOSECONDS
        is_over = last.closed or last.is_answered or quiet_s > self._max_open_s
        return None if is_over else last

    def _is_repeated(self, event: Event, draft: _Draft) -> bool:
        """Say whether a host delivered an event again.

        Without a name for it only a twin beside it tells: `continue` may be said twice.
        """
        if event.sequence:
            return (event.sequence, event.kind, event.text) in self._seen
        before = draft.said[-1] if draft.said else None
        return before is not None and (before.kind, before.text) == (event.kind, event.text)


class _Draft:
    """An exchange while its events are read."""

    def __init__(self, first: Event) -> None:
        self.first = first
        self.names: list[str] = []
        self.said: list[Event] = []
        self.closed = False

    @property
    def is_answered(self) -> bool:
        return bool(self.said) and self.said[-1].kind == "assistant"

    def exchange(self) -> Exchange:
        """Write down what is known of it by now.

        A prompt without words was private: what is answered to it may repeat it, and is left out.
        """
        turns, masked = _turns(_not_withheld(self.said))
        return Exchange(
            host=self.first.host,
            session=self.first.session,
            sequence=self.first.sequence or str(stamp_of(self.names[0])),
            space=self.first.space,
            started_at=_said_at(self.first.at, self.names[0]),
            heard_at=_heard_at(self.names[-1]),
            turns=turns,
            names=tuple(self.names),
            messages=len(self.said),
            masked=masked + sum(event.masked for event in self.said),
            dropped=sum(event.dropped for event in self.said),
            closed=self.closed,
        )


def _not_withheld(said: list[Event]) -> list[Event]:
    """Leave out prompts without words, and what was answered after the first of them."""
    first = next((at for at, e in enumerate(said) if e.kind == "person" and not e.text), len(said))
    return said[:first] + [each for each in said[first:] if each.text and each.kind == "person"]


def _turns(said: list[Event]) -> tuple[tuple[Turn, ...], int]:
    """Join neighbours of one speaker, masked once more: a secret may lie across two messages."""
    turns: list[Turn] = []
    masked = 0
    for kind, events in groupby(said, key=lambda event: event.kind):
        text = ""
        for event in events:
            text, more = _joined(text, event.text) if text else (event.text, 0)
            masked += more
        text, more = redact(text)
        masked += more
        turns.append(Turn("assistant" if kind == "assistant" else "person", text))
    return tuple(turns), masked


def _joined(before: str, after: str) -> tuple[str, int]:
    """Put two messages together, and mask a secret that only both together show.

    Only the last line of the one and the first of the other are looked at: a secret that is cut in
    two has no line end there. Where it shows, the cut goes with it.
    """
    last = before[max(before.rfind("\n") + 1, len(before) - _SEAM_CHARS) :]
    first = after.split("\n", 1)[0][:_SEAM_CHARS]
    seam, found = redact(last + first)
    if found and seam != redact(last)[0] + redact(first)[0]:
        return before[: len(before) - len(last)] + seam + after[len(first) :], found
    return before + _JOIN + after, 0


def _heard_at(name: str) -> datetime:
    return datetime.fromtimestamp(stamp_of(name) / _NANOSECONDS, UTC)


def _said_at(seconds: float, name: str) -> datetime:
    """Read the host's time; where it is none, the spool's."""
    if isfinite(seconds) and 0.0 < seconds < _LAST_MOMENT:
        return datetime.fromtimestamp(seconds, UTC)
    return _heard_at(name)
