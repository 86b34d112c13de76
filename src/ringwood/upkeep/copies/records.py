"""The lines of an export: what each holds, written and read.

A line is one JSON object whose `row` says which kind it is. The columns and their order are those
of `engine.transfer.COLUMNS`; here stands how each value looks as JSON, and what is accepted of it.
Nothing that is read is trusted: an export may have been edited, cut off, or made to harm.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import Any, NamedTuple, get_args

import regex

from ringwood.engine.transfer import COLUMNS, Row
from ringwood.recall.browse import is_space_name
from ringwood.text.stamps import read_stamp, write_stamp
from ringwood.types import TIERS, Actor, Kind, State

LARGEST_ID = 2**53
"""Ids and counts lie below: what every program reads exactly from JSON."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_HEX = re.compile(r"[0-9a-f]{1,128}")
_NAME = re.compile(r"[a-z][a-z_]{0,31}")
_PATH = regex.compile(r"(?:/[\p{L}\p{M}\p{N}-]+(?:~[0-9]+)?){1,64}")
"""What slugs are made of: no dot, no separator of any system, no control character."""
_KEPT_COLUMNS = 15
"""Of a node of an earlier version."""


class Form(NamedTuple):
    """How values of a column look in a line."""

    write: Callable[[Any], Any]
    """Value to JSON."""
    read: Callable[[Any], Any]
    """JSON to value; raises ValueError or TypeError where it does not fit."""


def _same(value: Any) -> Any:  # noqa: ANN401 - as it is, whatever it is
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("it is no text")
    value.encode()  # no lone surrogates: the database takes none
    return value


def _fitting(pattern: re.Pattern[str] | regex.Pattern[str], what: str) -> Callable[[object], str]:
    def read(value: object) -> str:
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise ValueError(f"it is no {what}")
        return value

    return read


def _one_of(*known: str) -> Callable[[object], str]:
    def read(value: object) -> str:
        if value not in known:
            raise ValueError(f"it is none of {', '.join(known)}")
        return str(value)

    return read


def _space(value: object) -> str:
    if not isinstance(value, str) or not is_space_name(value):
        raise ValueError("no space can be called so")
    return value


def _count(value: object) -> int:
    if type(value) is not int or not 0 <= value < LARGEST_ID:
        raise ValueError("it is no whole number in range")
    return value


def _id(value: object) -> int:
    if _count(value) == 0:
        raise ValueError("ids begin at 1")
    return _count(value)


def _number(value: object) -> float:
    if type(value) not in (int, float) or not isfinite(value):  # type: ignore[arg-type]
        raise ValueError("it is no number")
    return float(value)  # type: ignore[arg-type]


def _share(value: object) -> float:
    if not 0.0 <= _number(value) <= 1.0:
        raise ValueError("it lies outside 0 to 1")
    return _number(value)


def _write_stamp(value: int) -> str:
    return write_stamp(_EPOCH + value * _MICROSECOND)


def _stamp(value: object) -> int:
    return (read_stamp(_text(value)) - _EPOCH) // _MICROSECOND


def _blob(value: object) -> bytes:
    return b64decode(_text(value), validate=True)


def _digest(value: object) -> bytes:
    if len(_blob(value)) != 16:
        raise ValueError("it is no digest")
    return _blob(value)


def _floats(value: object) -> bytes:
    if not _blob(value) or len(_blob(value)) % 4:
        raise ValueError("it is no row of numbers")
    return _blob(value)


def _kept(value: object) -> list[list[Any]]:
    """Check the nodes of an earlier version, which are kept packed."""
    if not isinstance(value, list) or not all(
        isinstance(row, list) and len(row) == _KEPT_COLUMNS for row in value
    ):
        raise ValueError("these are no nodes of an earlier version")
    for row in value:
        number, parent, position, kind, title, path, *bounds, script, length, access = row[:13]
        _id(number), _or_none(_id)(parent), _count(position), _KIND(kind), _text(title)
        _PATH_TEXT(path), [_count(bound) for bound in bounds], _text(script), _count(length)
        _count(access), _or_none(_ACTOR)(row[13]), _or_none(_text)(row[14])
    return value


def _or_none(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else read(value)


_KIND = _one_of(*get_args(Kind))
_ACTOR = _one_of(*get_args(Actor))
_PATH_TEXT = _fitting(_PATH, "path of a node")


def _plain(read: Callable[[Any], Any]) -> Form:
    return Form(_same, read)


def _optional(form: Form) -> Form:
    return Form(_or_none(form.write), _or_none(form.read))


def _write_blob(value: bytes) -> str:
    return b64encode(value).decode("ascii")


TEXT, NAME, HEX = _plain(_text), _plain(_fitting(_NAME, "name")), _plain(_fitting(_HEX, "digest"))
ID, COUNT, NUMBER, SHARE = map(_plain, (_id, _count, _number, _share))
SPACE, PATH = _plain(_space), _plain(_PATH_TEXT)
STAMP, BLOB = Form(_write_stamp, _stamp), Form(_write_blob, _blob)

FORMS: Mapping[str, Mapping[str, Form]] = {
    "counter": {"name": _plain(_one_of("document", "node", "space")), "next": ID},
    "setting": {"key": NAME, "value": TEXT},
    "space": {"number": ID, "name": SPACE, "key": _optional(TEXT)},
    "tombstone": {"space": TEXT, "hash": TEXT, "at": STAMP},
    "mean": {
        "space": SPACE,
        "embedder": TEXT,
        "script": TEXT,
        "nodes": COUNT,
        "values": Form(_write_blob, _floats),
        "median": _optional(NUMBER),
        "p999": _optional(NUMBER),
    },
    "dream": {"id": ID, "begun_at": STAMP, "finished_at": _optional(STAMP)},
    "step": {
        "id": ID,
        "dream": ID,
        "kind": NAME,
        "space": SPACE,
        "document": _optional(ID),
        "survivor": _optional(ID),
        "open": COUNT,
        "payload": BLOB,
    },
    "merged": {
        "document": ID,
        "space": SPACE,
        "source": _optional(TEXT),
        "sha256": HEX,
        "hash": TEXT,
        "survivor": ID,
        "survivor_sha256": HEX,
    },
    "apart": {"space": SPACE, "key": HEX},
    "document": {
        "id": ID,
        "tier": _plain(_one_of(*TIERS)),
        "space": SPACE,
        "source": _optional(TEXT),
        "path": PATH,
        "title": TEXT,
        "sha256": HEX,
        "actor": _plain(_ACTOR),
        "importance": SHARE,
        "created_at": STAMP,
        "stored_at": STAMP,
        "changed_at": STAMP,
        "state": _plain(_one_of(*get_args(State))),
        "error": _optional(TEXT),
        "seen": COUNT,
        "text": TEXT,
    },
    "version": {"until": STAMP, "sha256": HEX, "text": TEXT, "nodes": _optional(_plain(_kept))},
    "node": {
        "id": ID,
        "parent": _optional(ID),
        "kind": _plain(_KIND),
        "title": TEXT,
        "path": PATH,
        "start": COUNT,
        "end": COUNT,
        "own_start": COUNT,
        "own_end": COUNT,
        "access": COUNT,
        "actor": _optional(_plain(_ACTOR)),
        "text": _optional(TEXT),
    },
    "vector": {"node": ID, "embedder": TEXT, "digest": Form(_write_blob, _digest), "values": BLOB},
    "edge": {"source": ID, "target": ID, "kind": NAME, "weight": NUMBER},
    "alias": {"space": SPACE, "path": PATH, "node": ID, "until": STAMP},
}
"""How every column looks, kind by kind, in the order of `COLUMNS`."""


def line_of(record: Mapping[str, object]) -> bytes:
    """Write a line. The same record gives the same bytes."""
    line = json.dumps(record, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return line.encode() + b"\n"


def record_of(row: Row) -> dict[str, object]:
    """Turn a row into what its line holds."""
    forms = FORMS[row.kind]
    written = zip(forms.items(), row.values, strict=True)
    return {"row": row.kind, **{name: form.write(value) for (name, form), value in written}}


def row_of(record: Mapping[str, object]) -> Row:
    """Read a row out of what a line holds.

    Raises:
        ValueError: when it holds anything else than a row as `record_of` writes them.
    """
    kind = record.get("row")
    if not isinstance(kind, str) or kind not in FORMS:
        raise ValueError(f"there is no kind of row called {str(kind)[:40]!r}")
    if record.keys() != {"row", *COLUMNS[kind]}:
        raise ValueError(f"a {kind} has exactly these: {', '.join(COLUMNS[kind])}")
    values = []
    for name, form in FORMS[kind].items():
        try:
            values.append(form.read(record[name]))
        except (ValueError, TypeError, OverflowError) as error:
            raise ValueError(f"{name} of the {kind} does not fit: {error}") from error
    return Row(kind, tuple(values))
