"""Secrets masked before a text touches the disk. On a hook's path: standard library only.

The rules are a table: a new kind of secret is one more row, in `key_formats.py` when it has a shape
of its own, in `told_secrets.py` when the words around it tell. Each row holds

- the name that the mask gives, as in `[redacted: github token]`;
- hints: where none of them occurs in the text the rule is not even compiled. A hint in small
  letters stands for any case;
- a pattern with exactly one group, the secret; what it matches around the group stays.

Two habits keep a pattern safe on hostile input and make masking idempotent. Runs are possessive,
bounded, or stop where another match could begin, so that no text is read over and over. And a match
ends where no key can go on, so that what follows looks the same beside the secret and beside its
mask. What is masked and what is not, with figures: docs/security.md.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from ringwood.text.key_formats import KEYS, SHAPED, Rule
from ringwood.text.told_secrets import TOLD

RULES: tuple[Rule, ...] = SHAPED + TOLD
"""Every rule: the mask's name, its hints, its pattern."""


def redact(text: str) -> tuple[str, int]:
    """Mask the secrets in a text, and say how many were masked.

    A mask names the kind: `[redacted: github token]`. Everything else stays as it is. Linear in the
    length of the text, and idempotent: masking what is masked changes nothing.
    """
    parts: list[str] = []
    kept = 0
    for number, match in _found(text):
        start, end = match.span(1)
        parts += text[kept:start], f"[redacted: {_name(number, match[1])}]"
        kept = end
    return "".join(parts) + text[kept:], len(parts) // 2


def _found(text: str) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield what the rules find by where the secrets begin, of two at one place the longer.

    What a rule needs to see around its secret may hold another one; the secrets themselves never
    overlap, and no rule reads a place twice.
    """
    lowered = text.lower()
    active = [number for number, rule in enumerate(RULES) if _is_hinted(rule, text, lowered)]
    ahead = {number: _compiled(number).search(text) for number in active}
    while waiting := [(m.start(1), -m.end(1), number) for number, m in ahead.items() if m]:
        _, _, first = min(waiting)
        if (found := ahead[first]) is not None:
            yield first, found
            for start, _, number in waiting:
                if start < found.end(1):
                    ahead[number] = _compiled(number).search(text, found.end(1))


def _is_hinted(rule: Rule, text: str, lowered: str) -> bool:
    return any(hint in (lowered if hint.islower() else text) for hint in rule[1])


@functools.cache
def _compiled(number: int) -> re.Pattern[str]:
    return re.compile(RULES[number][2], re.MULTILINE)


def _name(number: int, secret: str) -> str:
    """Name a secret by its shape, if it has one, else as the rule does that found it."""
    lowered = secret.lower()
    for key in KEYS:
        if _is_hinted(key, secret, lowered) and re.fullmatch(key[2], secret):
            return key[0]
    return RULES[number][0]
