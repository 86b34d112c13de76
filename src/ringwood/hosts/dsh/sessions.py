"""Read what was said from the session files of DSH: back-fill, and what the child was not told.

`<dsh home>/sessions/<folder>/<id>/session.v4.jsonl.zstd` holds a header and then every event of a
session, one JSON object a line, in frames of zstd that are appended while it runs. Of these only
the words of the person and of the assistant become exchanges, under the same keys as the plugin
gives them, so that a session captured live and read again is the same documents.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import Any, BinaryIO

import zstandard

from ringwood.capture.buffer import Exchange, assemble
from ringwood.capture.exchange import Event, admit

HOST = "dsh"
"""How its exchanges are keyed."""

_MAGIC = b"\x28\xb5\x2f\xfd"
_MAX_LINE = 64 * 1024 * 1024
"""Bytes of one line: the longest that was seen is a hundredth of it."""
_PIECE = 1024 * 1024
"""Bytes of one that is passed over, at a time."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Said:
    """Somebody's words, or the end of a turn."""

    kind: str
    """`person`, `assistant` or `end`."""
    sequence: str
    """Number of the event that began the exchange."""
    text: str
    """The words."""
    at: float
    """When, in seconds since 1970, UTC."""


@dataclass(slots=True)
class Tally:
    """What was read, and what was left out of it and why. Mutable: reading fills it."""

    rows: int = 0
    """Events read."""
    said: int = 0
    """Messages of person and assistant among them."""
    skipped: Counter[str] = field(default_factory=Counter)
    """Events left out, by reason."""


def session_files(dsh_home: Path, since: float = 0.0) -> list[Path]:
    """List the session files that were written since a moment, the oldest first."""
    found = []
    for pattern in ("session.v*.jsonl.zstd", "session.v*.jsonl", "session.jsonl.zstd"):
        for file in (dsh_home / "sessions").glob(f"*/*/{pattern}"):
            try:
                written = file.stat().st_mtime
            except OSError:
                continue  # removed while we looked
            if written >= since:
                found.append((written, file))
    return [file for _, file in sorted(found)]


def read_exchanges(
    file: Path,
    tally: Tally,
    *,
    is_paused: Callable[[str], bool] = lambda directory: False,
    wanted: Callable[[str], bool] = lambda session: True,
) -> Iterator[Exchange]:
    """Read the exchanges of one session as capture would have kept them, in their order.

    Those of a sub-agent's session, of a folder where capture is paused and of a session that is not
    wanted are counted in the tally and left out. Holds one exchange at a time in memory.

    Args:
        file: a session file; it may be written to meanwhile, or end in the middle.
        tally: told what was read and left out.
        is_paused: says whether nothing is captured in a directory.
        wanted: says whether a session is wanted, by its id.

    Raises:
        OSError: when the file cannot be read.
    """
    with file.open("rb") as raw:
        rows = _rows(raw, tally)
        header = next(rows, {})
        reason = _refusal(header, is_paused, wanted)
        if reason is not None:
            tally.skipped[reason] += 1 + sum(1 for _ in rows)
            return
        session, directory = str(header["id"]), _text(header.get("cwd"))
        heard: list[tuple[str, Event]] = []
        for said in _said(header, rows, tally):
            event = admit(
                host=HOST,
                session=session,
                sequence=said.sequence,
                kind=said.kind,
                text=said.text,
                at=said.at,
                directory=directory,
            )
            if event is None or not (event.text or event.kind == "end"):
                tally.skipped["nothing left to keep"] += 1
            if event is None:
                continue
            if heard and heard[0][1].sequence != event.sequence:
                yield from _assembled(heard)
                heard = [_named(event, 0)]
            else:
                heard.append(_named(event, len(heard)))
        yield from _assembled(heard)


def _named(event: Event, number: int) -> tuple[str, Event]:
    """Name an event as the spool would, for the order in which it was said."""
    return f"{int(event.at * 1e9):020d}-{number:06d}", event


def _assembled(heard: Iterable[tuple[str, Event]]) -> Iterator[Exchange]:
    yield from (exchange for exchange in assemble(heard) if exchange.turns)


def _refusal(
    header: Row, is_paused: Callable[[str], bool], wanted: Callable[[str], bool]
) -> str | None:
    """Say why nothing of a session is read; None when it is."""
    if header.get("type") != "session" or not header.get("id"):
        return "no session"
    if is_delegated(header):
        return "a sub-agent's session"
    if is_paused(_text(header.get("cwd"))):
        return "capture is paused there"
    return None if wanted(str(header["id"])) else "not asked for"


def is_delegated(header: Mapping[str, Any]) -> bool:
    """Say whether an agent talks in a session instead of a person. A person's branch is no such."""
    if header.get("origin") == "subagent" or (header.get("delegationDepth") or 0) > 0:
        return True
    branched = header.get("isSeeded") or header.get("seedLength")
    return header.get("parentSession") is not None and not branched


def _said(header: Row, rows: Iterable[Row], tally: Tally) -> Iterator[Said]:
    """Pick the words of person and assistant out of the events, and the ends of turns.

    An exchange bears the number of its first message: the plugin does the same.
    """
    opened: str | None = None
    for number, row in enumerate(_own(header, rows, tally)):
        kind, data = row.get("type"), row.get("data")
        at = _number(row.get("time"), header.get("createdAt")) / 1000
        if kind == "turn/start":
            opened = None
        elif kind == "turn/end" and opened is not None:
            yield Said("end", opened, "", at)
            opened = None
        speaker, text, reason = _words(kind, data if isinstance(data, dict) else {})
        if reason is not None:
            tally.skipped[reason] += 1
            continue
        tally.said += 1
        opened = opened or str(int(_number(row.get("seq"), number)))
        yield Said(speaker, opened, text, at)


def _words(kind: object, data: Row) -> tuple[str, str, str | None]:
    """Return who says what in an event, or why it is nobody's words."""
    if kind == "user/message":
        source = data.get("source")
        who = source.get("kind") if isinstance(source, dict) else None
        if who != "user":
            return "", "", f"a message from {str(who)[:40]}, not from a person"
        speaker, content = "person", data.get("content")
    elif kind == "assistant/message":
        message = data.get("message")
        holder = message if isinstance(message, dict) else data  # the older form has no message
        speaker, content = "assistant", holder.get("content")
    else:
        return "", "", "no message"
    text = _join(content)
    return (speaker, text, None) if text.strip() else ("", "", "a message without words")


def _join(content: object) -> str:
    """Join the text parts of a message as the plugin does; reasoning and calls are no words."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = [part for part in content if isinstance(part, dict) and part.get("type") == "text"]
    return "\n\n".join(_text(part.get("text")) for part in parts)


def _own(header: Row, rows: Iterable[Row], tally: Tally) -> Iterator[Row]:
    """Leave out what a session that branched off another one holds of that."""
    length = header.get("seedLength")
    copied = bool(length or header.get("isSeeded"))
    for number, row in enumerate(rows):
        if copied and length:
            copied = _number(row.get("seq"), number) < length
        elif copied and row.get("type") == "session/end-seed":
            copied = False
        if copied:
            tally.skipped["copied from the session it branched off"] += 1
        else:
            yield row


def _rows(raw: BufferedReader, tally: Tally) -> Iterator[Row]:
    """Read one object a line; what is damaged is counted, and a frame cut off ends the file."""
    for line in _lines(raw, tally):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if isinstance(row, dict):
            tally.rows += 1
            yield row
        else:
            tally.skipped["a damaged line"] += 1


def _lines(raw: BufferedReader, tally: Tally) -> Iterator[bytes]:
    packed = raw.peek(len(_MAGIC)).startswith(_MAGIC)
    stream = BufferedReader(_Unpacked(raw)) if packed else raw
    try:
        while line := stream.readline(_MAX_LINE):
            if len(line) < _MAX_LINE:
                yield line
                continue
            while line and not line.endswith(b"\n"):
                line = stream.readline(_PIECE)
            tally.skipped["a line too long"] += 1
    except zstandard.ZstdError:
        tally.skipped["a damaged line"] += 1  # and whatever follows: its length is not known


class _Unpacked(RawIOBase):
    """The content of frames of zstd, one after the other: a damaged one hides none before it."""

    def __init__(self, packed: BinaryIO) -> None:
        self._reader = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - any writable buffer
        return self._reader.readinto1(buffer)


def _number(value: object, otherwise: object) -> float:
    for each in (value, otherwise):
        if isinstance(each, int | float) and not isinstance(each, bool):
            return each
    return 0.0


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
