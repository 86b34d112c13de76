"""Names: slugs, first words, and paths that are unique in a document."""

from __future__ import annotations

import unicodedata

import regex

_SEPARATORS = regex.compile(r"[^\p{L}\p{M}\p{N}]+")
_LEADING_MARKS = regex.compile(r"^[\p{M}-]+")
_CONTROL = regex.compile(r"[\p{Cc}\p{Cs}\u2028\u2029]+")
_GRAPHEME = regex.compile(r"\X")
_DEVICES = frozenset(
    ["con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))]
)
"""File names that Windows keeps for itself."""

_WIDE = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_WORD = regex.compile(rf"([{_WIDE}]\p{{M}}*)|[^\s{_WIDE}]+")
"""One character, group 1, of a script that puts no space between words; else a word."""

_TAG = regex.compile(r"</[a-z][a-z0-9-]*>|(?<!\w)<[a-z][a-z0-9-]*(?:\s[^<>]*)?/?>|<!--|-->")
_LINK = regex.compile(r"!?\[([^\[\]]*)\](?:\([^()\s]*(?:\s+\"[^\"]*\")?\)|\[[^\[\]]*\])")
_MARKUP = regex.compile(r"(?<=\S)[*`]+|[*`]+(?=\S)|(?<!\w)_+|_+(?!\w)|~~|\\(?=[!-/:-@\[-`{-~])")

UNTITLED = "untitled"
"""The name of what has no letter or digit to be named by."""

_FIRST_WORDS = 24
"""Weight of the first words: a word is four, a character of a script without spaces one."""
_FIRST_CHARS = 80
"""Length of the first words, which may be a URL."""

_READ_CHARS = 1_000
"""Names are made from this much of a text: first words lie within it, hostile titles do not."""


def slug(title: str, max_chars: int = 60) -> str:
    """Return one part of a path: letters and digits of any script, case-folded, joined by `-`.

    At most `max_chars` (>= 8) characters, cut at a word where one ends within them and never
    inside a grapheme. Never empty (`untitled`), never a dot, a separator or `~`; a device name of
    Windows gets a `-` behind it.
    """
    folded = unicodedata.normalize("NFKC", title[:_READ_CHARS]).casefold()
    joined = _SEPARATORS.sub("-", unicodedata.normalize("NFKC", folded))
    name = _cut(_LEADING_MARKS.sub("", joined).strip("-"), max_chars) or UNTITLED
    return f"{name}-" if name in _DEVICES else name


def _cut(name: str, max_chars: int) -> str:
    if len(name) <= max_chars:
        return name
    word_end = name.rfind("-", 0, max_chars + 1)
    return name[:word_end] if word_end > 0 else clip_graphemes(name, max_chars)


def clip_graphemes(text: str, max_chars: int) -> str:
    """Return the longest beginning of `text` that ends between graphemes within `max_chars`."""
    if len(text) <= max_chars:
        return text
    end = 0
    for grapheme in _GRAPHEME.finditer(text):
        if grapheme.end() > max_chars:
            break
        end = grapheme.end()
    return text[:end]


_DANGLING = " ,:，：、"


def first_words(text: str) -> str:
    """Return the first six words or 24 characters of a script without spaces, on one line.

    Tags, link targets, emphasis and a comma or colon at the end are left out where that leaves
    anything. A table says its heads.
    """
    if text.startswith("|"):
        text = text.split("\n", 1)[0].replace("|", " ")
    words = _words(plain(text)) or _words(text[:_READ_CHARS])
    return words.rstrip(_DANGLING) or words


def plain(text: str) -> str:
    """Return the beginning of `text` without tags, link targets and emphasis, on one line."""
    start = _TAG.sub(" ", text[:_READ_CHARS])
    return one_line(_MARKUP.sub("", _LINK.sub(r"\1", start)))


def _words(text: str) -> str:
    weight = end = 0
    for word in _WORD.finditer(text):
        if weight >= _FIRST_WORDS:
            break
        weight += 1 if word[1] else 4
        end = word.end()
    return clip_graphemes(one_line(text[:end]), _FIRST_CHARS)


def one_line(text: str) -> str:
    """Return `text` with every run of white space and control characters as one space."""
    return " ".join(_CONTROL.sub(" ", text).split())


class Paths:
    """Hands out paths, each once, in the order of asking; the root has the path `""`."""

    def __init__(self, max_parts: int, max_slug_chars: int) -> None:
        """Paths get at most `max_parts` parts, the document's own counted."""
        self._max_parts = max_parts
        self._max_slug_chars = max_slug_chars
        self._taken: dict[str, int] = {}

    def below(self, parent: str, title: str) -> str:
        """Return the path for a node under `parent`: its slug, with `~2`, `~3`, ... when taken.

        Where `parent` has all the parts a path may have, the slug takes the place of its last.
        A slug holds no `~`, so that a number once handed out is never met as a name.
        """
        if parent.count("/") + 2 > self._max_parts:
            parent = parent[: parent.rfind("/")]
        path = f"{parent}/{slug(title, self._max_slug_chars)}"
        count = self._taken[path] = self._taken.get(path, 0) + 1
        return path if count == 1 else f"{path}~{count}"
