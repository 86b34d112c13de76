"""Front matter: a YAML or TOML mapping at the very start of a text.

Every value is read as a string. A YAML loader that builds objects turns `on` into True and
`12:30:45` into 45045, recurses, and expands an alias bomb; so YAML is read as events, within
bounds, and what is no plain mapping stays text of the document.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time
from itertools import accumulate

import regex
import yaml

from ringwood.parse.paths import one_line

MAX_CHARS = 64_000
"""Longer front matter is text: in real files it ends below 3 kB, and the YAML scanner is slow."""
MAX_DEPTH = 8
"""Collections nested deeper make front matter text; real ones hold two levels."""

_OPENING = regex.compile(r"(---|\+\+\+)[ \t]*(?:\r\n|\r|\n)")
_CLOSING: Mapping[str, regex.Pattern[str]] = {
    "---": regex.compile(r"(?<=[\r\n])(?:---|\.\.\.)[ \t]*(?=[\r\n]|\Z)"),
    "+++": regex.compile(r"(?<=[\r\n])\+\+\+[ \t]*(?=[\r\n]|\Z)"),
}
_YAML_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_DATE_SLASHES = regex.compile(r"^(\d{4})[/.](\d\d)[/.](\d\d)\b")
_ZONE_GAP = regex.compile(r"\s+(?=[+-]\d\d:?\d\d$|Z$)")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What stands before the Markdown of a text."""

    end: int = 0
    """Offset behind the closing fence; 0 without front matter."""
    meta: Mapping[str, str] = field(default_factory=dict)
    """Scalars by key, in order: `a.b` in nested mappings, lists joined by `, `, nothing empty."""
    title: str | None = None
    """`title`, on one line."""
    created: datetime | None = None
    """`date`, else `created`, when it reads as a date. UTC; without a zone taken as UTC."""


class _NoMetadata(ValueError):
    """What stands between the fences is no mapping that we read."""


def read_front_matter(text: str) -> FrontMatter:
    """Return the front matter at offset 0 of `text`; an empty one where there is none.

    `---` begins YAML, which `---` or `...` ends; `+++` begins and ends TOML. No mapping, an alias,
    a repeated key, too long, too deep or not well-formed: then it is none.
    """
    opening = _OPENING.match(text)
    if opening is None:
        return FrontMatter()
    closing = _CLOSING[opening[1]].search(text, opening.end())
    if closing is None or closing.end() > MAX_CHARS:
        return FrontMatter()
    inner = text[opening.end() : closing.start()]
    try:
        pairs = list(_yaml_pairs(inner) if opening[1] == "---" else _toml_pairs(inner))
    except (yaml.YAMLError, ValueError, OverflowError):  # the last from an escape beyond Unicode
        return FrontMatter()
    return _front_matter(closing.end(), pairs)


def _front_matter(end: int, pairs: Iterable[tuple[str, str]]) -> FrontMatter:
    values: dict[str, list[str]] = {}
    for key, value in pairs:
        words = one_line(value)
        if words:
            values.setdefault(one_line(key), []).append(words)
    meta = {key: ", ".join(words) for key, words in values.items()}
    known = {key.casefold(): value for key, value in meta.items()}
    created = _moment(known.get("date", "")) or _moment(known.get("created", ""))
    return FrontMatter(end, meta, known.get("title"), created)


def _moment(value: str) -> datetime | None:
    """Read an ISO date or time, with some of what people write instead; None when it is none."""
    iso = _ZONE_GAP.sub("", _DATE_SLASHES.sub(r"\1-\2-\3", value))
    try:
        moment = datetime.fromisoformat(iso)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


@dataclass(slots=True)
class _Collection:
    """A YAML collection that has begun."""

    name: str
    keys: set[str] | None
    """The keys so far; None: a list."""
    key: str | None = None
    """A key that waits for its value."""


def _yaml_pairs(block: str) -> Iterator[tuple[str, str]]:
    """Yield name and scalar of everything in a YAML mapping."""
    events = yaml.parse(block, Loader=yaml.BaseLoader)
    inside: list[_Collection] = []
    documents = 0
    for event in events:
        if isinstance(event, yaml.AliasEvent):
            raise _NoMetadata("an alias")
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
        if isinstance(event, yaml.CollectionStartEvent):
            inside.append(_collection(inside, isinstance(event, yaml.MappingStartEvent)))
        elif isinstance(event, yaml.CollectionEndEvent):
            inside.pop()
            if inside:
                inside[-1].key = None
        elif isinstance(event, yaml.ScalarEvent):
            yield from _scalar(inside, event)
    if documents != 1:
        raise _NoMetadata("not one document")


def _collection(inside: list[_Collection], mapping: bool) -> _Collection:
    if not inside:
        if not mapping:
            raise _NoMetadata("a list")
        return _Collection("", set())
    around = inside[-1]
    if len(inside) >= MAX_DEPTH or (around.keys is not None and around.key is None):
        raise _NoMetadata("too deep, or a collection as a key")
    return _Collection(_joined(around), set() if mapping else None)


def _scalar(inside: list[_Collection], event: yaml.ScalarEvent) -> Iterator[tuple[str, str]]:
    if not inside:
        raise _NoMetadata("a scalar")
    around = inside[-1]
    if around.keys is not None and around.key is None:
        if event.value in around.keys:
            raise _NoMetadata("a repeated key")
        around.keys.add(event.value)
        around.key = event.value
        return
    if event.style is not None or event.value not in _YAML_NULLS:
        yield _joined(around), event.value
    around.key = None


def _joined(around: _Collection) -> str:
    if around.key is None:
        return around.name
    return f"{around.name}.{around.key}" if around.name else around.key


def _toml_pairs(block: str) -> Iterator[tuple[str, str]]:
    """Yield name and scalar of everything in a TOML document."""
    steps = ({"[": 1, "{": 1, "]": -1, "}": -1}.get(char, 0) for char in block)
    if max(accumulate(steps, initial=0)) > MAX_DEPTH:
        raise _NoMetadata("too deep")  # tomllib recurses
    waiting: list[tuple[str, object]] = [("", tomllib.loads(block.replace("\r", "\n")))]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, dict):
            inner = [(f"{name}.{key}" if name else key, item) for key, item in value.items()]
            waiting.extend(reversed(inner))
        elif isinstance(value, list):
            waiting.extend((name, item) for item in reversed(value))
        elif isinstance(value, bool):
            yield name, str(value).lower()
        elif isinstance(value, datetime | time):
            yield name, value.isoformat()
        else:
            yield name, str(value)
