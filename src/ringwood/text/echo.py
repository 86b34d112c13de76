"""The words of our own frame, and whatever else must be known to recognise our own recall blocks.

A recall block comes back: a host hands the prompt over, the assistant quotes it, a user pastes it.
Recognising it, so that it is never remembered as something new, lives here; so does the frame's
tag, which the frame is built with and which recalled text must not forge.

On a hook's path: standard library only, patterns compiled on first use. Words are in small letters;
a hyphen stands for any hyphen, underscore or space, or for none.
"""

from __future__ import annotations

import functools
import re

from ringwood.names import POLICY

FRAME_TAG = "memory-recall"
"""The tag around every block of recalled memory. A nonce beside it tells one block from another."""

FRAME_WORDS = (
    FRAME_TAG,
    "system-reminder",
    "im-start",
    "im-end",
    "im-sep",
    "function-call",
    "function-result",
    "tool-call",
    "tool-result",
    "tool-output",
    "tool-use",
    "start-header-id",
    "end-header-id",
    "eot-id",
    "begin-of-text",
    "end-of-text",
    "begin-of-sentence",
    "end-of-sentence",
    "start-of-turn",
    "end-of-turn",
)
"""Words of no ordinary tag: whatever begins with one counts (`function_calls`, `im_start|user`)."""

ROLE_WORDS = (
    "system",
    "developer",
    "user",
    "assistant",
    "human",
    "instructions",
    "inst",
    "sys",
    "tool",
    "invoke",
)
"""Words that open a turn or a call as a whole tag: `<system>`, `<|user|>`."""

BRACKETED_WORDS = (FRAME_TAG, "system-reminder", "system", "assistant", "human", "inst", "sys")
"""Words that do so in square brackets: `[INST]`. `[user]` and `[tool]` head honest settings."""

LABELS = ("system", "assistant", "human")
"""Words that make a line a speaker's when it begins with one: `Human:`, `### System`."""

CAPITAL_LABELS = ("user", "developer", "tool")
"""The same, where the capital tells them from a setting's key: `User:`, but not `user: root`."""


# A piece of a block that can be told from what people write: kind, start, end, nonce.
#   block    the tag and the policy line      end     `end <nonce>`
#   tag      the tag alone                    close   the closing tag
#   policy   the policy line alone            head    the first line of an entry
#                                             stub    a head that was cut off
_Mark = tuple[str, int, int, str]

_HYPHENS = "-_\u2010\u2011\u2013"
_HINTS = ("recalled", *(FRAME_TAG.replace("-", hyphen) for hyphen in ("", *_HYPHENS)))
_BEGINNING = POLICY[:15]
_FAR = 200  # characters of one line that are looked at around a mark


def drop_blocks(text: str) -> tuple[str, int]:
    """Take our own blocks of recalled memory out of a text, and say how many.

    Also nested ones, quoted, indented, fenced or escaped ones, ones with invisible characters in
    the tag, without their tags, or cut off. Of a block that was cut off before its end, each entry
    goes up to the next blank line: what stands behind that may be the person's own. Somebody who
    only speaks of the tag is left alone. Linear in the length of the text, and a text without a
    block is returned as it is.
    """
    plain = text if text.isascii() else _unseen().sub("", text)
    lowered = plain.lower()
    if not any(hint in lowered for hint in _HINTS):
        return text, 0
    spans = _Blocks(plain).spans()
    if not spans:
        return text, 0
    if len(plain) < len(text):
        unseen = _unseen()
        seen = [at for at, character in enumerate(text) if not unseen.match(character)]
        spans = [(seen[start], seen[end - 1] + 1) for start, end in spans]
    kept: list[str] = []
    at = 0
    for start, end in spans:
        kept.append(text[at:start])
        at = end
    return "".join(kept) + text[at:], len(spans)


class _Blocks:
    """Finds the blocks in a text without invisible characters."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._marks: list[_Mark] = [
            (match.lastgroup or "", match.start(), match.end(), _nonce_in(match))
            for match in _marks().finditer(text)
        ]
        self._partners = self._pair()
        self._begins = [False] * (len(self._marks) + 1)
        for number in range(len(self._marks) - 1, -1, -1):
            self._begins[number] = self._does_begin(number)

    def spans(self) -> list[tuple[int, int]]:
        """Return where blocks stand, in order; what lies inside another is part of it."""
        found: list[tuple[int, int]] = []
        entries: int | None = None  # where a block goes on whose beginning is gone
        at = 0
        for number, (kind, start, _, _) in enumerate(self._marks):
            if start < at:
                continue
            if self._begins[number]:
                end = self._end_of(number)
            elif kind == "end" and self._precedes(number, "close"):
                start, end = start if entries is None else entries, self._marks[number + 1][2]
            else:
                entries = start if kind == "head" and entries is None else entries
                continue
            found.append(self._with_surroundings(start, end))
            at, entries = end, None
        return found

    def _pair(self) -> dict[int, int]:
        """Match what begins a block with what ends it: by nonce, else as brackets match."""
        partners: dict[int, int] = {}
        by_nonce: dict[str, list[int]] = {}
        brackets: list[int] = []
        for number, (kind, _, _, nonce) in enumerate(self._marks):
            if kind in ("block", "tag", "policy"):
                by_nonce.setdefault(nonce, []).append(number)
                if kind == "block" or (kind == "tag" and nonce and self._is_line(number)):
                    brackets.append(number)
            elif kind == "end" and by_nonce.get(nonce):
                partners[by_nonce[nonce].pop()] = number
            elif kind == "close" and self._is_line(number):
                if number and self._marks[number - 1][0] == "end":
                    continue  # it goes with that end
                while brackets and brackets[-1] in partners:
                    brackets.pop()
                if brackets:
                    partners[brackets.pop()] = number
        return partners

    def _does_begin(self, number: int) -> bool:
        """Say whether a mark begins a block, where that is known of all that follow."""
        kind, _, _, nonce = self._marks[number]
        if kind not in ("block", "tag", "policy"):
            return False
        if kind == "block" or number in self._partners or (kind == "policy" and nonce):
            return True
        goes_on = number + 1 < len(self._marks) and (
            self._begins[number + 1] or self._marks[number + 1][0] == "head"
        )
        return goes_on and self._precedes(number)

    def _end_of(self, number: int) -> int:
        """Return where a block ends: with its own end, else with the last entry that is known."""
        partner = self._partners.get(number)
        if partner is not None:
            with_tag = self._marks[partner][0] == "end" and self._precedes(partner, "close")
            return self._marks[partner + with_tag][2]
        end = self._marks[number][2]
        following = number + 1
        while following < len(self._marks):
            kind, start, stop, _ = self._marks[following]
            if start < end:
                following += 1
                continue
            if not self._is_blank(end, start):
                break
            if following in self._partners and self._begins[following]:
                end = self._end_of(following)
            elif kind == "head":
                end = self._end_of_entry(following)
            elif kind in ("stub", "end", "close") or self._begins[following]:
                end = stop
            else:
                break
            following += 1
        return end

    def _end_of_entry(self, number: int) -> int:
        """Return where an entry ends of which nothing tells: at a blank line, or the next mark."""
        start = self._marks[number][2]
        is_last = number + 1 == len(self._marks)
        limit = len(self._text) if is_last else self._marks[number + 1][1]
        blank = _blank_line().search(self._text, start, limit)
        return blank.start() if blank else limit

    def _with_surroundings(self, start: int, end: int) -> tuple[int, int]:
        """Take with a block the quotation marks before its first line, and a fence around it."""
        text = self._text
        begin = self._line_start(start)
        margin = text[begin:start]
        second = text.find("\n", start, end) + 1
        quoted = second > 0 and margin != "" and self._is_blank(begin, start)
        if quoted and text.startswith(margin.rstrip() or margin, second):
            start = begin
        opening = _fence_before().search(text, max(0, start - _FAR), start)
        if opening and text[end : end + _FAR].lstrip(" \t\r\n>").startswith(opening["fence"]):
            start = opening.start("line")
            end = text.index(opening["fence"], end) + len(opening["fence"])
        return start, end

    def _precedes(self, number: int, kind: str = "") -> bool:
        """Say whether nothing stands between a mark and the next, and this is of a kind."""
        if number + 1 >= len(self._marks):
            return False
        following, start, _, _ = self._marks[number + 1]
        return kind in ("", following) and self._is_blank(self._marks[number][2], start)

    def _is_line(self, number: int) -> bool:
        """Say whether a mark has its line to itself."""
        _, start, end, _ = self._marks[number]
        stop = self._text.find("\n", end, end + _FAR)
        if stop < 0:
            stop = min(len(self._text), end + _FAR)
        return self._is_blank(self._line_start(start), start) and self._is_blank(end, stop)

    def _line_start(self, at: int) -> int:
        return max(self._text.rfind("\n", max(0, at - _FAR), at) + 1, at - _FAR, 0)

    def _is_blank(self, start: int, end: int) -> bool:
        """Say whether nothing is there but white space and marks of quoting."""
        return _blank().fullmatch(self._text, start, end) is not None


def _nonce_in(match: re.Match[str]) -> str:
    found = _nonce().search(match[0])
    return found[0].lower() if found else ""


@functools.cache
def _marks() -> re.Pattern[str]:
    """Compile what the marks of a block look like: each bounded, so that reading stays linear."""
    less = rf"(?:[<(\[{{‹＜〈《«]|{_entity('lt', 60)})"
    more = rf"(?:[>)\]}}›＞〉》»]|{_entity('gt', 62)}|$)"
    quote = rf"(?:[^\w\s&]|{_entity('quot', 34)}){{0,4}}"
    margin = rf"^(?:[ \t>]|{_entity('gt', 62)})*+"
    gap = rf"(?:[\s>]|{_entity('gt', 62)}|\\[nrt]){{1,40}}?"  # a quoted line may be wrapped
    word = FRAME_TAG.replace("-", f"[{_HYPHENS}]?")
    tag = rf"{less}\s{{0,3}}{word}(?![\w-])[^<>\n]{{0,{_FAR}}}?{more}"

    policy = gap.join(map(re.escape, POLICY.split()))
    ending = gap.join(("It", "ends", "after", "the", "line"))
    ending = rf"{gap}(?:{ending}{gap}{quote}end{gap}[0-9a-f]{{16,}}{quote}|I(?:t[^\n]{{0,80}})?$)"

    # Cut off after the first words of the policy line, within them, or right behind the tag.
    begun = rf"{_BEGINNING}[^\n]{{0,{_FAR}}}"
    within = functools.reduce(lambda rest, letter: f"{letter}(?:{rest})?", _BEGINNING[::-1], "")
    nothing = r"(?=\n[ \t\r>]*(?:\n|\Z)|\Z)"
    cut = rf"{margin}{less}\s{{0,3}}{word} nonce[^<>\n]{{0,{_FAR}}}?{more}[ \t\r]*"
    cut += rf"(?:\n[ \t>]*{within}[ \t\r]*(?=\n|\Z)|{nothing})"

    stub = r"(?: [\d-]{0,10}(?: [a-z]{0,12}(?: \S{0,500})?)?)?$"
    kinds = {
        "block": rf"{tag}(?:{gap})?(?:{policy}(?:{ending})?|{begun})|{cut}",
        "tag": tag,
        "close": rf"{less}\s{{0,3}}[/\\]\s{{0,3}}{word}\s{{0,3}}{more}",
        "policy": rf"{policy}(?:{ending})?",
        "end": r"(?:(?<=\\n)|(?<![\w\"'“‘`])(?<!quot;)(?<!#34;))end [0-9a-f]{16,}(?!\w)",
        "head": rf"{margin}\[\d{{1,3}}\] \d{{4}}-\d\d-\d\d [a-z]{{3,12}} \S{{1,500}}?:/",
        "stub": rf"{margin}\[\d{{0,3}}\]?{stub}",
    }
    either = "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in kinds.items())
    return re.compile(either, re.IGNORECASE | re.MULTILINE)


def _entity(name: str, code: int) -> str:
    return rf"&(?:amp;)*+(?:{name}|\#0*+{code}|\#x0*+{code:x});"


@functools.cache
def _unseen() -> re.Pattern[str]:
    return re.compile(
        "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
        "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
    )


@functools.cache
def _nonce() -> re.Pattern[str]:
    return re.compile(r"(?<!\w)[0-9a-f]{16,}(?!\w)", re.IGNORECASE)


@functools.cache
def _blank() -> re.Pattern[str]:
    return re.compile(r"(?:[\s>`~*|]|&(?:amp;)*+gt;|\\[nrt])*+")


@functools.cache
def _blank_line() -> re.Pattern[str]:
    return re.compile(r"\n[ \t\r>]*+\n")


@functools.cache
def _fence_before() -> re.Pattern[str]:
    return re.compile(r"(?:^|\n)(?P<line>[ \t>]*(?P<fence>`{3,}|~{3,})[^\n`]*\n[ \t>]*)\Z")
