"""Secrets masked before a text touches the disk. On a hook's path: standard library only.

The rules are facts about public key formats. They are a table: a new kind of secret is one more
row. Each holds

- the name that the mask gives, as in `[redacted: github token]`;
- hints, lower case: where none of them occurs in the text the rule is not even compiled;
- a pattern with exactly one group, the secret; what it matches around the group stays.

Two habits keep a pattern safe on hostile input and make masking idempotent. Runs are possessive, or
stop at a character that a trigger begins with, so that no text is read twice over. And a match ends
where no key can go on, so that what follows looks the same beside the secret and beside its mask.
"""

from __future__ import annotations

import functools
import re

# A key begins at the edge of a run of key characters, or after an escape in raw JSON ("\nghp_...").
_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
_REST = r"[A-Za-z0-9_-]*+"
_END = r"(?![A-Za-z0-9_-])"

# An assigned value is one run without white space. A reference (`${TOKEN}`, `<token>`), a call or
# subscript (`get_token()`, `env["TOKEN"]`), an address and a placeholder are no secrets; nor, after
# a colon, is what may be a word of prose, a type or a name: a secret there has a digit or a sign.
_KEY = r"(?i:password|passwd|passphrase|secret|token|api[_-]?key|(?:access|secret|private)[_-]?key)"
_ASSIGN = r"\\?[\"']?[ \t]{0,8}(?:=>|:=|[:=])[ \t]{0,8}"
_CHAR = r"[!#-%&*+\--:=?-Z^_a-z|~\\@]"
_NO_REFERENCE = r"(?!\$[{(A-Z]|[<{%]|https?:|[xX*.]{3}|(?i:your[-_ ]))"
_NO_CODE = r"(?![A-Za-z_][\w.]*+[(\[])"
_NO_WORD = rf"(?![A-Za-z_./-]*+(?!{_CHAR}))"
_NO_TYPE = (
    r"(?!(?i:string|text|number|bytes|null|none|true|false|required|optional|hidden"
    r"|password|secret|token)[\"'\\])"
)
_VALUE = _NO_REFERENCE + _NO_CODE + rf"({_CHAR}{{6,}}(?<![.:\\]))"
_ALONE = rf"(?={_CHAR}{{6,}}+(?:[\s\"']|$))"  # `KEY=value` as a shell or a URL has it

_WORDS = ("passw", "passphrase", "secret", "token", "key")
_QUOTED = r"([^\"'\s\\]{4,}+)(?=\\?[\"'])"

RULES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    (
        "private key",
        ("private key",),
        r"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?:[^-]|-(?!----)){0,20000}+-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"|(?:(?:\s|\\[nr])*+[A-Za-z0-9+/=]{40,}+)++))",
    ),
    (
        "credentials in url",
        ("://",),
        r"://[^\s/:@\"'<>]{0,128}+:(?!\$\{|<|\{|\*{3})([^\s/@\"'<>]++)(?=@)",
    ),
    ("aws access key", ("akia", "asia"), _START + r"((?:AKIA|ASIA)[A-Z0-9]{16})" + _END),
    ("github token", ("gh",), _START + r"(gh[opsur]_[A-Za-z0-9]{36,}+" + _REST + ")"),
    ("github token", ("github_pat_",), _START + r"(github_pat_[A-Za-z0-9_]{40,}+" + _REST + ")"),
    ("gitlab token", ("glpat-",), _START + r"(glpat-[A-Za-z0-9_-]{20,}+)"),
    ("slack token", ("xox",), _START + r"(xox[abeoprs]-[A-Za-z0-9-]{10,}+" + _REST + ")"),
    ("api key", ("sk-",), _START + r"(sk-(?=[A-Za-z_-]*+[0-9])[A-Za-z0-9_-]{20,}+)"),
    ("google api key", ("aiza",), _START + r"(AIza[A-Za-z0-9_-]{35,}+)"),
    ("huggingface token", ("hf_",), _START + r"(hf_[A-Za-z0-9]{30,}+" + _REST + ")"),
    (
        "jwt",
        ("eyj",),
        _START + r"(eyJ[A-Za-z0-9_-]{8,}+\.eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]*+)",
    ),
    ("secret", _WORDS, _KEY + _ASSIGN + r"\\?[\"']" + _NO_REFERENCE + _NO_TYPE + _QUOTED),
    ("secret", _WORDS, rf"{_KEY}(?:=(?!=){_ALONE}|{_ASSIGN}{_NO_WORD}){_VALUE}"),
    (
        "secret",
        ("密码", "口令", "令牌", "密钥"),
        r"(?:(?:密码|口令)[ \t]{0,8}[：:=]"
        rf"|(?:令牌|密钥)[ \t]{{0,8}}(?:=|[：:][ \t]{{0,8}}{_NO_WORD}))"
        rf"[ \t]{{0,8}}[\"'“「]?{_NO_REFERENCE}{_NO_CODE}({_CHAR}{{4,}}(?<![.:\\]))",
    ),
)
"""Every rule: the mask's name, its hints, its pattern."""


def redact(text: str) -> tuple[str, int]:
    """Mask the secrets in a text, and say how many were masked.

    A mask names the kind: `[redacted: github token]`. Everything else stays as it is. Linear in the
    length of the text, and idempotent: masking what is masked changes nothing.
    """
    lowered = text.lower()
    active = tuple(
        number
        for number, (_, hints, _) in enumerate(RULES)
        if any(hint in lowered for hint in hints)
    )
    if not active:
        return text, 0
    parts: list[str] = []
    kept = 0
    for match in _compiled(active).finditer(text):
        group = match.lastindex or 1
        start, end = match.span(group)
        parts += text[kept:start], f"[redacted: {RULES[active[group - 1]][0]}]"
        kept = end
    return "".join(parts) + text[kept:], len(parts) // 2


@functools.cache
def _compiled(active: tuple[int, ...]) -> re.Pattern[str]:
    """Compile some rules into one pattern: a text is read once, and no mask is read again."""
    return re.compile("|".join(RULES[number][2] for number in active))
