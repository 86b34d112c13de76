"""When two texts say the same: each is reduced to a key, and equal keys are the same text. Pure.

What may differ is listed; all else has to be equal, word by word and in this order. So a number, a
name, a negation, a unit, a weekday or a question mark keeps two texts apart without being known as
one, and sameness is transitive: a third text never joins two that differ. Measured on pairs in
`tests/upkeep/pairs`: bench/results/dream.md.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

Key = tuple[str, ...]
"""What a text says, reduced."""

_WIDTHS = frozenset({"<wide>", "<narrow>", "<noBreak>", "<compat>"})
"""Kinds of compatible characters that say the same. Not among them are raised digits, fractions and
digits in circles: 10⁵ is not 105."""
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n.*?\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_MACHINE_LINE = re.compile(
    r"^(?:updated|modified|lastmod|last[_ -]modified|mtime)(?:[_ -]at)?[ \t]*:.*\n",
    re.IGNORECASE | re.MULTILINE,
)
"""Fields of a front matter that programs write on every save. A date stays: two meetings without
news are two meetings."""
_COPY = re.compile(r"[ _-]*(?:\(\d{1,3}\)|\bcopy(?: \d{1,3})?|副本)\Z", re.IGNORECASE)
"""What a file manager adds to the name of a copy."""

_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_CJK = f"{_HAN}\u3040-\u30ff\u31f0-\u31ff\uac00-\ud7af"
_BEGINS_NAME = re.compile(r"[/\\A-Za-z0-9_]")
"""What follows the dots of `../a`, `./a` and `.env`."""
_DENIAL = re.compile(r"(?:\b(?:no|not|never)|[不没别无否勿])\s*\Z", re.IGNORECASE)
"""A mark after it ends what is denied: `No, restart it` is not `No restart it`."""
_DENIAL_CHARS = 8
_ONE_CJK = re.compile(f"[{_CJK}]")
_CODE = r"^(?P<fence>`{3,}|~{3,})[\s\S]*?(?:^(?P=fence)[`~]*[ \t]*$|\Z)|`+[^`\n]+`+"
_TOKEN = re.compile(
    rf"""
    (?P<code> {_CODE} )
    | (?P<task> \[[\ xX]\] )
    | (?P<url> \b[a-z][a-z0-9+.-]{{1,20}}://[^\s{_CJK}]+ )
    | (?P<cjk> [{_CJK}] )
    | (?P<word> [^\W{_CJK}]+ (?: [.,:/@'’+&=-] [^\W{_CJK}]+ )* [+#]* )
    | (?P<heading> ^[ ]{{0,3}}\#{{1,6}}(?=\s) )
    | (?P<bullet> ^[ \t]*[-*+](?=\s) )
    | (?P<dash> [-−–—]+ )
    | (?P<stars> \*+ )
    | (?P<bang> !+ )
    | (?P<stop> [.,;:…。，、；："“”'‘’«»「」『』《》()（）]+ )
    | (?P<sign> \S )
    """,
    re.VERBOSE | re.MULTILINE,
)
_END = frozenset(".,;:!…。，、；：！")
"""Marks that say nothing at the end of a text. A question mark says that it is a question."""

_DROPPED = frozenset({"the", "please", "kindly", "also"})
_IRREGULAR = {
    "cannot": ("can", "not"),
    "can't": ("can", "not"),
    "won't": ("will", "not"),
    "shan't": ("shall", "not"),
    "let's": ("let", "us"),
    "it's": ("it", "is"),
    "that's": ("that", "is"),
    "there's": ("there", "is"),
    "i'm": ("i", "am"),
    "i've": ("i", "have"),
    "i'll": ("i", "will"),
    "an": ("a",),
}
_ENDINGS = {"n't": "not", "'re": "are", "'ve": "have", "'ll": "will"}
_BRITISH = re.compile(r"is(e|ed|es|ing|er|ers|ation|ations)\Z")
_BRITISH_OUR = re.compile(r"\b(behavi|col|fav|flav|harb|hon|lab|neighb|rum|hum|vap)our")
_MEASURE = re.compile(
    r"([-+]?\d[\d.,]*)((?:[kKMGTP]i?[Bb](?:/s)?|ns|us|ms|s|min|h|km|cm|mm|m|kg|g|px|[aApP][mM]))"
)
_LONG_CHARS = 7
"""Letters from which on a word with `-ise` is one with `-ize`: `raised` and `wise` are none."""
_UNIT_CHARS = 4
"""A word of so few letters after a number is a unit, whose case counts: 10 Mb are not 10 MB."""
_FOLDED_CHARS = 3
"""Letters from which on the case of a word says nothing; below, `us` and `US` are two."""
_SHORT = frozenset(
    "a i i'm an as at be by do he if in is it me my no of on or so to up us we".split()  # noqa: SIM905 - as a list it takes a page
)
"""Short words that may begin a sentence. All in capitals they are something else: IT, US, OR."""

_POSSESSIVE = re.compile(rf"(?<=[们我你您他她它])的(?=[{_HAN}])(?!的[是不没对错很])")
_ASKED_POLITELY = re.compile(r"(?:(?<=[\s，。；：、,.;:！!])|\A)请(?![求客假教示问帖柬战])")
_SIGHED = re.compile(r"[啊呀哦](?=\s*(?:[，。；！,.;!]|\Z))")
_USED = re.compile(r"使用(?![户者率权量])")
_STRONG = re.compile(rf"(?<!\*)\*\*([{_CJK}](?:[^*\n]*[{_CJK}])?)\*\*(?!\*)")
"""Emphasis in a script without blanks, where nothing else tells it from a power."""
_HIDDEN = "\ue000"
"""Stands for what is taken as it is written."""
_PIECE = re.compile(
    rf"{_CODE}|{_HIDDEN}|[^\s`{_HIDDEN}，。；：！？、“”‘’「」『』《》（）]+", re.MULTILINE
)
_NAMED = re.compile(r"[`/\\_=@#\ue000]|~{3}|\.(?=[A-Za-z0-9])")
"""What only code, paths, addresses and names of files hold."""


def exact_key(text: str) -> Key:
    """Reduce a text to its words and marks.

    Width, white space, plain letter case and marks at the end say nothing; code says what it says,
    blank by blank. Of a front matter, what programs write into it on every save says nothing.

    Returns:
        Empty for a text without a word: it says nothing that could be said twice.
    """
    found = list(_tokens(_plain(text)))
    while found and found[-1][0] in ("stop", "bang") and set(found[-1][1]) <= _END:
        found.pop()
    words = [token for kind, token in _in_case(found)]
    return tuple(words) if _has_word(found) else ()


def near_key(text: str) -> Key:
    """Reduce a text to what it says, a few ways of saying it apart.

    Also without weight are marks within and around, `the`, `please`, `also`, contractions,
    `a` and `an`, `and` and `&`, hyphens between words, British spelling, a blank before a unit, and
    in Chinese a polite 请, a sigh, and 的 after a pronoun. `exact_key` tells the rest.
    """
    found = list(_tokens(_spoken(_plain(text))))
    if not _has_word(found):
        return ()
    return tuple(_reduced(_in_case([each for each in found if _has_weight(each[0])])))


def title_key(title: str, text: Key, *, file: bool) -> Key:
    """Reduce a title to what it adds to a text; empty for one that is made of its first words.

    Args:
        title: of the document.
        text: `near_key` of its text.
        file: whether it may be the name of a file: that of a copy counts as that of the original.
    """
    key = near_key(_COPY.sub("", title) if file else title.rstrip("…"))
    return () if key == text[: len(key)] else key


def _plain(text: str) -> str:
    """Bring widths and composition to one form, and drop what programs wrote."""
    text = unicodedata.normalize("NFC", text.replace("\r\n", "\n")).lstrip("\ufeff")
    text = "".join(c if c.isascii() else _narrow(c) for c in text)
    head = _FRONT_MATTER.match(text)
    if head is None:
        return text
    return _MACHINE_LINE.sub("", head[0]) + text[head.end() :]


def _spoken(text: str) -> str:
    """Put ways of saying it in Chinese aside, but in code and in names of files and pages."""
    hidden: list[str] = []

    def hide(piece: re.Match[str]) -> str:
        if not _NAMED.search(piece[0]):
            return piece[0]
        hidden.append(piece[0])
        return _HIDDEN

    text = _ASKED_POLITELY.sub("", _PIECE.sub(hide, text))
    text = _USED.sub("用", _SIGHED.sub("", text))
    text = _STRONG.sub(r"\1", _POSSESSIVE.sub("", text).replace("您", "你"))
    shown = iter(hidden)
    return re.sub(_HIDDEN, lambda _: next(shown), text)


@cache
def _narrow(char: str) -> str:
    tag, _, _ = unicodedata.decomposition(char).partition(" ")
    return unicodedata.normalize("NFKC", char) if tag in _WIDTHS else char


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """Yield kind and text of every token."""
    for found in _TOKEN.finditer(text):
        kind, token = str(found.lastgroup), found[0]
        if kind in ("fence", "code"):
            yield "code", "\n".join(line.rstrip() for line in token.splitlines())
        elif kind == "task":
            yield "sign", token.lower()
        elif kind in ("dash", "stars", "bang", "stop"):
            yield _mark(kind, token, text, found.start(), found.end())
        else:
            yield kind, token


def _is_open(text: str, place: int) -> bool:
    """Say whether no word with blanks around it goes on up to a place."""
    return place == 0 or not text[place - 1].isalnum() or bool(_ONE_CJK.match(text, place - 1))


def _mark(kind: str, token: str, text: str, start: int, end: int) -> tuple[str, str]:
    """Tell a dash from a minus, an emphasis from a product, an exclamation from a negation."""
    if kind == "stop":
        begins = token.endswith(".") and _BEGINS_NAME.match(text, end) and _is_open(text, start)
        denied = _DENIAL.search(text[max(0, start - _DENIAL_CHARS) : start]) and text[end:].strip()
        return ("sign" if begins or denied else kind, token)
    before = start > 0 and (text[start - 1].isalnum() or text[start - 1] == "_")
    after = end < len(text) and not text[end].isspace()
    joined = after and (text[end].isalnum() or text[end] in "_.=")
    if kind == "dash":
        # A script without blanks has none before a minus either: 温度为-5度.
        within = before and not (_ONE_CJK.match(text, start - 1) and after and text[end].isdigit())
        before = within and "−" not in token
        if before and token == "-" and not after and text[start - 1].isascii():
            return "sign", "minus"  # of a grade or a charge: A- is not A
        return ("sign", "minus") if joined and not before else ("stop", "-")
    if kind == "stars":
        emphasis = before != (after and text[end].isalnum())
        return ("stop", "") if emphasis else ("sign", token)
    return ("sign", token) if joined else ("bang", token)


def _has_weight(kind: str) -> bool:
    return kind not in ("stop", "bang", "heading", "bullet")


def _has_word(found: Iterable[tuple[str, str]]) -> bool:
    return any(kind in ("word", "cjk", "code", "url") for kind, _ in found)


def _in_case(found: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Fold the case of words where it says nothing."""
    words = [token for kind, token in found if kind == "word"]
    shouted = sum(len(each) >= _FOLDED_CHARS for each in words) > 1 and not any(
        c.islower() for each in words for c in each
    )
    number_before = False
    for kind, token in found:
        if kind != "word":
            yield kind, token.strip() if kind in ("heading", "bullet") else token
        else:
            yield kind, _folded(token.replace("’", "'"), shouted=shouted, unit=number_before)
        number_before = kind == "word" and token[0].isdigit()


def _folded(word: str, *, shouted: bool, unit: bool) -> str:
    letters = word.replace("'", "").replace("-", "")
    if not letters.isalpha():
        return word
    if unit and len(letters) <= _UNIT_CHARS and not shouted:
        return word.lower() if word.lower() in ("am", "pm") else word
    low = word.casefold()
    if shouted or len(letters) >= _FOLDED_CHARS or (low in _SHORT and word == word.capitalize()):
        return low
    return word


def _reduced(found: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield what is left of words when their ways of being said are put aside."""
    last = ""
    for kind, token in found:
        said = _said(token) if kind == "word" else ("and",) if token == "&" else (token,)
        for each in said:
            if each not in _DROPPED or (each == "please" and last == "to"):
                yield each
            last = each


def _said(word: str) -> Sequence[str]:
    """Give the plain words of one that is contracted, hyphenated or spelt the other way."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if measured := _MEASURE.fullmatch(word):
        unit = measured[2]
        return measured[1], unit.lower() if unit.lower() in ("am", "pm") else unit
    for ending, plain in _ENDINGS.items():
        if word.endswith(ending) and len(word) > len(ending) + 1:
            return word.removesuffix(ending), plain
    parts = word.split("-")
    if len(parts) > 1 and all(part.isalpha() and len(part) > 1 for part in parts):
        return [_american(part) for part in parts]
    return (_american(word),)


def _american(word: str) -> str:
    if not word.isalpha():
        return word
    if len(word) >= _LONG_CHARS:
        word = _BRITISH.sub(r"iz\1", word)
    return _BRITISH_OUR.sub(r"\1or", word)
