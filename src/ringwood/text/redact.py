"""Secrets masked before a text touches the disk. On a hook's path: standard library only.

The rules are facts about public key formats. They are a table: a new kind of secret is one more
row. Each holds

- the name that the mask gives, as in `[redacted: github token]`;
- hints, lower case: where none of them occurs in the text the rule is not even compiled;
- a pattern with exactly one group, the secret; what it matches around the group stays.

Two habits keep a pattern safe on hostile input and make masking idempotent. Runs are possessive, or
stop where another match could begin, so that no text is read over and over. And a match ends where
no key can go on, so that what follows looks the same beside the secret and beside its mask.
"""

from __future__ import annotations

import functools
import re

_PRIVATE_KEY = (
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:[^-\[]|-(?!----)){0,20000}+-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"|(?:(?:\s|\\[nr])*+[A-Za-z0-9+/=]{40,}+)++)"  # cut off before its end
)

# A key begins at the edge of a run of key characters, or after an escape in raw JSON ("\nghp_..."),
# and takes the rest of the run with it; five hyphens are the edge of a private key.
_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt])|(?<=-----))"
_ANY = r"(?:[A-Za-z0-9_]|-(?!----))"
_KEYS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("aws access key", ("akia", "asia"), r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("github token", ("gh",), rf"gh[opsur]_[A-Za-z0-9]{{36,}}+{_ANY}*+"),
    ("github token", ("github_pat_",), rf"github_pat_[A-Za-z0-9_]{{40,}}+{_ANY}*+"),
    ("gitlab token", ("glpat-",), rf"glpat-{_ANY}{{20,}}+"),
    ("slack token", ("xox",), rf"xox[abeoprs]-{_ANY}{{10,}}+"),
    ("api key", ("sk-",), rf"sk-(?=[A-Za-z_-]*+[0-9]){_ANY}{{20,}}+"),
    ("google api key", ("aiza",), rf"AIza{_ANY}{{35,}}+"),
    ("huggingface token", ("hf_",), rf"hf_[A-Za-z0-9]{{30,}}+{_ANY}*+"),
    ("jwt", ("eyj",), rf"eyJ{_ANY}{{8,}}+\.eyJ{_ANY}{{8,}}+\.{_ANY}*+"),
)

# An assigned value is one run without white space. A key of a known kind goes under its own name. A
# reference (`${TOKEN}`, `<token>`), a call or subscript (`get_token()`, `env["TOKEN"]`), an address
# and a placeholder are no secrets; nor, after a colon, is what may be a word of prose, a type or a
# name: a secret there has a digit or a sign.
_WORD = (
    r"(?i:password|passwd|passphrase|secret|token|api[_-]?key|(?:access|secret|private)[_-]?key)"
)
_WORD_HINTS = ("passw", "passphrase", "secret", "token", "key")
_ASSIGN = r"\\?[\"']?[ \t]{0,8}(?:=>|:=|[:=])[ \t]{0,8}"
_CHAR = r"[!#-%&*+\--:=?-Z^_a-z|~\\@]"
_NO_KEY = rf"(?!-----|{'|'.join(pattern for _, _, pattern in _KEYS)})"
_NO_REFERENCE = r"(?!\$[{(A-Z]|[<{%]|https?:|[xX*.]{3}|(?i:your[-_ ]))"
_NO_CODE = r"(?![A-Za-z_][\w.]*+[(\[])"
_NO_PROSE = rf"(?![A-Za-z_./-]*+(?!{_CHAR}))"
_NO_TYPE = (
    r"(?!(?i:string|text|number|bytes|null|none|true|false|required|optional|hidden"
    r"|password|secret|token)[\"'\\])"
)
_QUOTED = rf"{_NO_KEY}{_NO_REFERENCE}{_NO_TYPE}([^\"'\s\\]{{4,}}+)(?=\\?[\"'])"
_BARE = rf"{_NO_KEY}{_NO_REFERENCE}{_NO_CODE}({_CHAR}{{4,}}(?<![.:\\]))"
_ALONE = rf"(?={_CHAR}{{6,}}+(?:[\s\"']|$))"  # `KEY=value` as a shell or a URL has it

RULES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("private key", ("private key",), f"({_PRIVATE_KEY})"),
    (
        "credentials in url",
        ("://",),
        r"://[^\s/:@\"'<>]{0,128}+:(?!\$\{|<|\{|\*{3})([^\s/@\"'<>]++)(?=@)",
    ),
    *((name, hints, f"{_START}({pattern})") for name, hints, pattern in _KEYS),
    ("secret", _WORD_HINTS, rf"{_WORD}{_ASSIGN}\\?[\"']{_QUOTED}"),
    (
        "secret",
        _WORD_HINTS,
        rf"{_WORD}(?:=(?!=){_ALONE}|{_ASSIGN}{_NO_PROSE})(?={_CHAR}{{6}}){_BARE}",
    ),
    (
        "secret",
        ("密码", "口令", "令牌", "密钥"),
        r"(?:(?:密码|口令)[ \t]{0,8}[：:=]"
        rf"|(?:令牌|密钥)[ \t]{{0,8}}(?:=|[：:][ \t]{{0,8}}{_NO_PROSE}))"
        rf"[ \t]{{0,8}}[\"'“「]?{_BARE}",
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
