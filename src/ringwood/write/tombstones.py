"""Hashes of what a person forgot, so that no import, back-fill, capture or retry brings it back.

A tombstone holds no text. Hashes are of normalised text (NFKC, case folded, white space collapsed),
so that a changed line end or a different indentation does not bring a forgotten text back.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

SHORT_CHARS = 24
"""Texts shorter than this say too little to be forgotten everywhere ("- done"): they are forgotten
under their own source key only."""


def source_hash(source: str) -> str:
    """Hash a source key: everything that comes from it is to stay away."""
    return _digest("source", source)


def text_hash(text: str, source: str | None) -> str:
    """Hash a text: it is to stay away wherever it comes from, a short one under its source only."""
    normal = re.sub(r"\s+", " ", unicodedata.normalize("NFKC", text).casefold()).strip()
    if len(normal) < SHORT_CHARS:
        return _digest("short", f"{source or ''}\0{normal}")
    return _digest("text", normal)


def _digest(kind: str, value: str) -> str:
    return hashlib.sha256(f"{kind}\0{value}".encode()).hexdigest()
