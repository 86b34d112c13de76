"""Passages that repeat what was recalled are no news. Pure.

An assistant quotes what it was handed. Kept again, the quotation would be found beside its source,
be handed over with it, and be quoted once more.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

MIN_CHARS = 24
"""Shorter passages are everybody's: `Yes, exactly.`"""

_NOISE = re.compile(r"[\s\"'`*_>#~“”‘’„«»「」『』()\[\]-]+|^\d+[.)]\s*")

_SENTENCE = re.compile(r"[^.!?。！？]*(?:[.!?。！？]+\s*|\Z)", re.DOTALL)


def drop_quotes(text: str, recalled: Sequence[str]) -> tuple[str, int]:
    """Take out the lines and sentences that stand in recalled texts; say how many.

    Args:
        text: what was said.
        recalled: texts that were handed over before.
    """
    source = "\n".join(_plain(each) for each in recalled)
    if not source or not text:
        return text, 0
    kept: list[str] = []
    dropped = 0
    for line in text.splitlines(keepends=True):
        if _repeats(line, source):
            dropped += 1
            continue
        for sentence in _SENTENCE.findall(line):
            if _repeats(sentence, source):
                dropped += 1
            else:
                kept.append(sentence)
    return ("".join(kept), dropped) if dropped else (text, 0)


def _repeats(passage: str, source: str) -> bool:
    plain = _plain(passage)
    return len(plain) >= MIN_CHARS and plain in source


def _plain(text: str) -> str:
    return _NOISE.sub("", unicodedata.normalize("NFKC", text).casefold())
