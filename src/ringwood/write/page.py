"""A page of the mirror: our front matter, then a document's text, untouched.

The front matter holds all that the text does not say by itself, so that a home can be made again
from its pages alone. What is read back is data from a disk that anybody may have edited: only the
form that we write is taken, and every value is checked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import cast, get_args

from ringwood.text.stamps import read_stamp, write_stamp
from ringwood.types import Actor, Document
from ringwood.write.draft import sha256_of

NOTICE = "Written by Ringwood; edits here are not read back. Change the source instead."
MAX_HEAD_CHARS = 64_000
"""A head that ends later is none of ours: the longest path and source key take a quarter of it."""

_LARGEST = 2**63 - 1
_EXCHANGE = "exchange"
_LATEST = datetime(9000, 1, 1, tzinfo=UTC)
"""No honest stamp is later; one near the calendar's end breaks whoever adds a day to it."""


class PageError(ValueError):
    """A file is no page of ours; the message says why, for people."""


@dataclass(frozen=True, slots=True)
class Page:
    """One document as the mirror holds it."""

    document: Document
    """Its card. `sha256` is what the head says; `is_whole` compares."""
    text: str
    """What stands below the head."""
    key: str | None = None
    """The key of its space; None where the head names none."""
    exchange: bool = False
    """Whether the text is what two said to each other."""
    titled: bool = True
    """Whether the head names the title; older ones do not."""

    @property
    def is_whole(self) -> bool:
        """Whether the text is the one that the head names."""
        return sha256_of(self.text) == self.document.sha256


def write_page(page: Page) -> str:
    """Write a page; `read_page` gives the same back."""
    document = page.document
    card = {
        "ringwood": NOTICE,
        "id": str(document.id),
        "space": document.space,
        "key": page.key or "",
        "path": document.path,
        "title": document.title,
        "source": document.source or "",
        "actor": document.actor,
        "form": _EXCHANGE if page.exchange else "",
        "importance": repr(document.importance),
        "created": write_stamp(document.created_at),
        "stored": write_stamp(document.stored_at),
        "changed": write_stamp(document.changed_at),
        "sha256": document.sha256,
    }
    needed = ("source", "ringwood")
    lines = [f"{key}: {_quoted(value)}" for key, value in card.items() if value or key in needed]
    return "---\n" + "\n".join(lines) + "\n---\n" + page.text


def read_page(content: str) -> Page:
    """Read a page back.

    Raises:
        PageError: when it is none that we wrote, or a value does not fit.
    """
    end = content.find("\n---\n", 0, MAX_HEAD_CHARS)
    if not content.startswith("---\n") or end < 0:
        raise PageError("it has no head of ours")
    card = _card(content[4:end])
    space, path = _needed(card, "space"), _needed(card, "path")
    if not all(path[1:].split("/")) or path[0] != "/" or {".", ".."} & set(path.split("/")):
        raise PageError(f"{path[:80]!r} is no path")
    actor = card.get("actor", "")
    if actor not in get_args(Actor):
        raise PageError(f"{actor[:80]!r} wrote nothing that we keep")
    sha256 = _needed(card, "sha256")
    if not re.fullmatch("[0-9a-f]{64}", sha256):
        raise PageError("its sha256 is none")
    created = _moment(card, "created")
    document = Document(
        id=_number(card),
        space=space,
        source=card.get("source") or None,
        path=path,
        title=card.get("title", ""),
        sha256=sha256,
        actor=cast(Actor, actor),
        importance=_importance(card),
        created_at=created,
        stored_at=_moment(card, "stored"),
        changed_at=_moment(card, "changed") if "changed" in card else created,
    )
    return Page(
        document=document,
        text=content[end + 5 :],
        key=card.get("key") or None,
        exchange=card.get("form") == _EXCHANGE,
        titled="title" in card,
    )


def same_document(page: Page, document: Document, text: str) -> bool:
    """Say whether a page holds a document as it is now; stamps that older heads lack aside."""
    known = replace(page.document, title=document.title) if not page.titled else page.document
    parts = ("id", "space", "path", "title", "source", "actor", "sha256")
    same = all(getattr(known, name) == (getattr(document, name) or None) for name in parts)
    return same and page.text == text


def _quoted(value: str) -> str:
    """Write a YAML double-quoted scalar."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'


def _card(head: str) -> dict[str, str]:
    card: dict[str, str] = {}
    for line in head.split("\n"):
        found = re.fullmatch(r'([a-z0-9]+): "((?:[^"\\]|\\.)*)"', line)
        if found is None:
            raise PageError("its head was changed")
        if found[1] in card:
            raise PageError(f"its head says {found[1]} twice")
        card[found[1]] = re.sub(r"\\(U[0-9a-f]{8}|.)", _unescaped, found[2])
    if "ringwood" not in card:
        raise PageError("it has no head of ours")
    return card


def _unescaped(found: re.Match[str]) -> str:
    escape = found[1]
    if escape in ('"', "\\"):
        return escape
    point = int(escape[1:], 16) if len(escape) == 9 else 0x110000
    if point > 0x10FFFF or 0xD800 <= point <= 0xDFFF:
        raise PageError("its head holds what is no character")
    return chr(point)


def _needed(card: dict[str, str], name: str) -> str:
    if not card.get(name):
        raise PageError(f"its head names no {name}")
    return card[name]


def _number(card: dict[str, str]) -> int:
    given = _needed(card, "id")
    number = int(given) if re.fullmatch("[0-9]{1,19}", given) else 0
    if not 0 < number < _LARGEST:
        raise PageError(f"{given[:80]!r} is no id")
    return number


def _importance(card: dict[str, str]) -> float:
    given = card.get("importance", "0.5")
    if not re.fullmatch(r"[0-9.e-]{1,30}", given):
        raise PageError(f"{given[:80]!r} is no importance")
    try:
        value = float(given)
    except ValueError as error:
        raise PageError(f"{given!r} is no importance") from error
    return min(1.0, max(0.0, value))


def _moment(card: dict[str, str], name: str) -> datetime:
    given = _needed(card, name)
    try:
        moment = read_stamp(given)
    except ValueError as error:
        raise PageError(f"{given[:80]!r} is no time of ours") from error
    if moment > _LATEST:
        raise PageError(f"{given[:80]!r} is no time of ours")
    return moment
