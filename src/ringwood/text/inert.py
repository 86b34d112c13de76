"""Recalled text made unable to pass for our frame, a chat role or a system line.

The order is the point; two others were measured and let hundreds of forged tags through.

1. Invisible and control characters go first, so that nothing is hidden in the middle of a word.
2. Then the skeleton of the text is looked at: what it reads as, once decoded and folded.
3. Only around a word of the frame or of a role is the text changed: entities decoded, brackets
   made round. Everything else comes out equal: code, comparisons, arrows, other HTML.

It runs over a block as a whole, after assembly: a tag split over two memories comes together there.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

import regex

from ringwood.text import echo
from ringwood.text.skeleton import break_entities, decoded, fold, skeleton, traced
from ringwood.types import Span

_LINE_END = regex.compile(r"\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")

# What joins or colours is kept where it does so: joiners inside emoji, and between letters of the
# scripts whose words are spelled with them; the selector behind an emoji or inside a keycap.
# Signs that are format characters to Unicode but visible (the Arabic number sign) are kept too.
_JOINED = (
    r"[\p{Arabic}\p{Syriac}\p{Mongolian}\p{Nko}\p{Mandaic}\p{Devanagari}\p{Bengali}\p{Gurmukhi}"
    r"\p{Gujarati}\p{Oriya}\p{Tamil}\p{Telugu}\p{Kannada}\p{Malayalam}\p{Sinhala}\p{Khmer}]"
)
_INVISIBLE = regex.compile(
    r"(?<=\p{Extended_Pictographic}\ufe0f|[\p{Extended_Pictographic}\p{Emoji_Modifier}])\u200d"
    r"(?=\p{Extended_Pictographic})(*SKIP)(*FAIL)"
    rf"|(?<={_JOINED})[\u200c\u200d](?={_JOINED})(*SKIP)(*FAIL)"
    r"|(?<=\p{Extended_Pictographic})[\ufe0e\ufe0f](*SKIP)(*FAIL)"
    r"|(?<=[0-9\#*])\ufe0f(?=\u20e3)(*SKIP)(*FAIL)"
    r"|[[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}]"
    r"--[\n\t\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd]]",
    regex.V1,
)

# `&#108𝟏` is `l1` to who decodes first and `й` to who folds first: it is made neither.
_AMBIGUOUS = regex.compile(
    r"&(?=\#[xX]?[0-9a-fA-F]++\p{M}*+[[\p{L}\p{N}]--[\p{ASCII}\p{Han}]])", regex.V1
)

_ROUNDED = {"<": "(", "[": "(", ">": ")", "]": ")", "|": ""}
_DASH = "—"
_ROUNDS = 4


def inert(text: str) -> str:
    """Return the text with nothing in it that could be taken for a frame, a role or a system line.

    Never longer than the text, idempotent, and equal to it where it holds no such thing and no
    invisible character. Line ends come out as newlines.
    """
    for _ in range(_ROUNDS):
        text = _visible(text)
        folded = skeleton(text)
        if folded is None:
            text = break_entities(text)
            continue
        if not _danger().search(folded):
            return text
        safer = _defused(text)
        if safer == text:
            return text
        text = safer
    return _visible("".join(_rounded(character) for character in break_entities(text)))


def _visible(text: str) -> str:
    return _AMBIGUOUS.sub("+", _INVISIBLE.sub("", _LINE_END.sub("\n", text)))


def _defused(text: str) -> str:
    """Change the text around every word that makes it dangerous, and nowhere else."""
    folded, spans = traced(text)
    edits: dict[Span, str] = {}
    for match in _danger().finditer(folded):
        if match["tag"]:
            _round_tag(match, text, spans, edits)
        elif match["capital"] and not _has_capital(match, text, spans):
            continue
        elif match["colon"]:
            edits[spans[match.start("colon")]] = _DASH
        else:
            marks = range(match.start("marks"), match.end("marks"))
            edits |= dict.fromkeys((spans[position] for position in marks), "")
            edits[spans[marks[0]]] = "("
            last = spans[match.end("title") - 1]
            edits[last] = text[slice(*last)] + ")"
    parts: list[str] = []
    kept = 0
    for (start, stop), replacement in sorted(edits.items()):
        parts += text[kept:start], replacement
        kept = stop
    return "".join(parts) + text[kept:]


def _round_tag(
    match: regex.Match[str], text: str, spans: list[Span], edits: dict[Span, str]
) -> None:
    """Make the brackets in front of a word round, and the one that closes its tag."""
    end = match.end()
    closing = _CLOSING.match(match.string, end)
    behind = range(closing.start("marks"), closing.end()) if closing else range(0)
    for position in (*range(match.start(), end), *behind):
        start, stop = spans[position]
        edits[start, stop] = _rounded(text[start:stop])


def _has_capital(match: regex.Match[str], text: str, spans: list[Span]) -> bool:
    first, last = spans[match.start("capital")], spans[match.end("capital") - 1]
    return any(map(str.isupper, decoded(text[first[0] : last[1]]) or ""))


def _rounded(piece: str) -> str:
    """Decode a piece of text and make its brackets round."""
    plain = decoded(piece)
    if plain == piece and len(piece) > 1:  # an entity that marks or other forms of letters hide
        plain = skeleton(piece)
    return "".join(_ROUNDED.get(fold(character), character) for character in plain or "")


_CLOSING = regex.compile(r"[^<>]*?(?P<marks>\|{0,4}+>++)")


@functools.cache
def _danger() -> regex.Pattern[str]:
    """Compile what is looked for in a skeleton.

    A frame word counts behind any angle, a role word only where it makes a whole tag: `a < user`
    and `<user@example.org>` are no tags. An arrow's head is no angle.
    """
    frame, role = _any(echo.FRAME_WORDS), _any(echo.ROLE_WORDS)
    bracketed = _any(echo.BRACKETED_WORDS)
    label = rf"(?:{_any(echo.LABELS)}|(?P<capital>{_any(echo.CAPITAL_LABELS)}))"
    name = r"(?:[a-z]{1,12}:)?"
    less = "(?<!<)<++"  # a run of angles is read once, from its first
    gap = r"[\s/\\|]*+"
    alternatives = (
        rf"(?:{less}|(?<![-=>])>++)[\s/\\|!?\-]*+{name}{frame}",
        rf"{less}{gap}{name}{role}(?=[\s/\\|]*+>|\s++[a-z:-]++\s*+=)",
        rf"{less}[/\\|]*+{name}{role}(?=\s[^<>]*+>)",
        rf"{less}\|++[\w-]{{1,40}}+\|*+(?=\s*+>)",
        rf"(?<!\[)\[++{gap}{bracketed}{gap}\]++",
    )
    line = r"^(?:[ ]*+>)*+[ \t]*+"
    return regex.compile(
        rf"(?P<tag>{'|'.join(alternatives)})"
        rf"|{line}(?:\#++[ \t]*+)?+[*\-]{{0,3}}+{label}[*\-]{{0,3}}+[ \t]*+(?P<colon>:)"
        rf"|{line}(?P<marks>\#[\# \t]++)[*\-]{{0,3}}(?P<title>{label}[*\-]{{0,3}})[ \t]*+$",
        regex.MULTILINE,
    )


def _any(words: Iterable[str]) -> str:
    """Match any of the words in a skeleton, also with its letters spread by white space."""
    read_as = {"-": r"[\s\-]{0,3}", "l": r"[l|]"}
    spread = (
        r"\s{0,2}".join(read_as.get(letter, letter) for letter in fold(word))
        for word in sorted(words, key=len, reverse=True)
    )
    return f"(?:{'|'.join(spread)})"
