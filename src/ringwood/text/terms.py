"""The words of a text as the index holds them.

`index_terms` prepares a text, `query_terms` a question; both in the same way, so that equal terms
mean a match. A term holds no white space and no control character: the database's tokenizer splits
nowhere inside it.

What a run of text becomes depends on its script:

- Latin words: case folded, stemmed as English, long ones also by their beginning;
- identifiers: whole and in parts (`skill-audit`, `camelCase`);
- Cyrillic words: stemmed as Russian, long ones also by their beginning;
- Arabic words: stemmed, and in character 4-grams of their letters without hamza;
- words of another alphabet: whole, and in character 4-grams, which stand in for a stemmer;
- Han, kana and Hangul: single characters and bigrams;
- Thai, Lao, Khmer, Myanmar and Tibetan, written without spaces: character n-grams;
- symbols and emoji: each by itself.
"""

from __future__ import annotations

import functools
import threading
import unicodedata
from collections import Counter

import regex
import Stemmer

from ringwood.text.stop_words import STOP_WORDS

MAX_TERM = 64
"""Longest term, in code points. Longer ones are cut, in texts and in queries alike."""

QUERY_END = 2_000
"""How much is read of either end of a long query: the question stands before or after the paste."""

# XQuAD hit@5: Arabic plain .877, grams .964, stem and grams .969; Russian grams .969, stem .978,
# stem and beginning .982; Hindi grams .974, stem and grams no more.
_GRAM = 4
# Thai ranks as well by threes alone, but then a word of two letters is not found.
_SHORT_GRAMS = (2, 3)

# A long Latin word also stands by its beginning, for the compounds and endings that an English
# stemmer knows nothing of: German hit@1 .877 -> .894, its index 10 % larger; English .934 -> .937.
# Grams of long words cost English up to .06 and are not made.
_LONG_WORD = 12
_BEGINNING = 7
_MIDDLE_WORD = 4  # the same for Cyrillic
_SHORT_BEGINNING = 5

_WITHOUT_HAMZA = str.maketrans("أإآىة", "ااايه")

_CJK = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Bopomofo}ー々〆〇"
_SPACELESS = r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}"
_WORD = (
    rf"[[\p{{L}}\p{{N}}_]--[{_CJK}{_SPACELESS}]][[\p{{L}}\p{{M}}\p{{N}}_]--[{_CJK}{_SPACELESS}]]*+"
)

# A compound is words joined by one or two marks: `GB/s`, `config.js`, `std::vector`, `a@b.org`.
# In front may stand the dashes of an option or the dot of a dotfile, behind it `++` or `#`.
_TOKEN = regex.compile(
    rf"(?P<compound>(?:(?<![^\s(\[{{\"'`=])(?:--?|\.)(?=\p{{L}}))?"
    rf"{_WORD}(?:[-./@+:&'’\\~=#%]{{1,2}}{_WORD})*+(?:\+\+|\#)?)"
    rf"|(?P<cjk>[{_CJK}]++)"
    rf"|(?P<spaceless>[{_SPACELESS}][{_SPACELESS}\p{{M}}]*+)"
    r"|(?P<symbol>[\U0001F1E6-\U0001F1FF]{2}|[[\p{So}\p{Sm}\p{Sc}]--\p{ASCII}])",
    regex.V1,
)
_BIGRAM = regex.compile(rf"[{_CJK}]{{2}}")
_PARTS = regex.compile(r"[\p{L}\p{M}\p{N}]++(?:['’][\p{L}\p{M}]++)*")
_HUMPS = regex.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})", regex.V1)
_NUMBER = regex.compile(r"\p{N}+(?:[.:]\p{N}+)+")
_CYRILLIC = regex.compile(r"[\p{Cyrillic}\p{M}]++")
_ARABIC = regex.compile(r"[\p{Arabic}\p{M}]++")
_LATIN = regex.compile(r"[\p{Latin}\p{M}\p{N}'’]++")
_INVISIBLE = regex.compile(r"[\p{Cf}\p{Variation_Selector}\u0640\u064b-\u065f\u0670\u0591-\u05c7]+")

# A word comes again and again. A run of Chinese hardly ever does, and has two terms a character:
# kept, 33,659 of them held 42 MB and saved no time. English words save a fifth of it, 8,192 as much
# as 65,536, and hold 4 MB.
_CACHED_CHUNK = 20
_CACHED_CHUNKS = 8_192
_local = threading.local()


def index_terms(text: str) -> tuple[str, ...]:
    """Prepare the distinct terms of a text, in the order in which they first occur.

    Every term has at most `MAX_TERM` code points and holds a letter, a digit or a symbol. Text
    without any gives `()`. Any string is taken.
    """
    terms: dict[str, None] = {}
    for chunk in dict.fromkeys(text.split()):
        is_word = len(chunk) <= _CACHED_CHUNK and chunk.isascii()
        found = _cached(chunk) if is_word else _analysed(chunk)
        terms.update(dict.fromkeys(found))
    return tuple(terms)


def query_terms(text: str) -> tuple[str, ...]:
    """Prepare a question: the terms that `index_terms` would give, without stop words.

    A question of nothing but stop words keeps them all. Of a long one `QUERY_END` code points at
    either end are read.
    """
    if len(text) > 2 * QUERY_END:
        text = f"{text[:QUERY_END]} {text[-QUERY_END:]}"
    terms = index_terms(text)
    stop = _stop_terms()
    return tuple(term for term in terms if term not in stop) or terms


def absent_weight(term: str) -> float:
    """Say how much a term of a question says when no text holds it, 0..1.

    A bigram of Chinese or kana is as often the seam between two words as an unknown word: it says
    half. That makes one floor mean the same in English and in Chinese: bench/results/floor.md.
    """
    return 0.5 if _BIGRAM.fullmatch(term) else 1.0


def _analysed(chunk: str) -> tuple[str, ...]:
    """Prepare one run of text without white space."""
    if not chunk.isascii():
        chunk = _INVISIBLE.sub("", unicodedata.normalize("NFKC", chunk))
    terms: list[str] = []
    for match in _TOKEN.finditer(chunk):
        token = match[0]
        match match.lastgroup:
            case "compound":
                terms += _compound(token)
            case "cjk":
                terms += _grams(token, (1, 2))
            case "spaceless":
                terms += _grams(token, _SHORT_GRAMS) if len(token) > 1 else [token]
            case _:
                terms.append(token)
    return tuple(terms)


_cached = functools.lru_cache(maxsize=_CACHED_CHUNKS)(_analysed)


def _compound(token: str) -> list[str]:
    """Prepare a word, or an identifier whole and in parts."""
    token = token.replace("’", "'")
    if token.isalnum():
        return _parted(token)
    whole = token.casefold()[:MAX_TERM]
    if _NUMBER.fullmatch(token):  # 20.04 is not a twenty and a four
        return [whole]
    parts = _PARTS.findall(token)
    terms = [whole] if parts else []  # "__" says nothing
    for part in parts:
        if len(part) > 1:
            terms += _parted(part)
    return terms


def _parted(word: str) -> list[str]:
    """Prepare a word and what it is visibly made of: `camelCase`, `l'eau`."""
    terms = _word(word.casefold())
    if not word.islower() and len(word) <= MAX_TERM:
        humps = _HUMPS.split(word)
        if len(humps) > 1:
            terms += [t for hump in humps if len(hump) > 1 for t in _word(hump.casefold())]
    article, _, noun = word.partition("'")
    if len(article) <= 2 < len(noun):
        terms += _word(noun.casefold())
    return terms


def _word(word: str) -> list[str]:
    """Stem a Latin, Cyrillic or Arabic word; give any other whole and in grams."""
    if word.isascii() or _LATIN.fullmatch(word):
        stem = _stemmer("english").stemWord(word[:MAX_TERM])
        return [stem, word[:_BEGINNING]] if len(word) >= _LONG_WORD else [stem]
    if _CYRILLIC.fullmatch(word):
        stem = _stemmer("russian").stemWord(word[:MAX_TERM])
        return [stem, word[:_SHORT_BEGINNING]] if len(word) > _MIDDLE_WORD else [stem]
    if _ARABIC.fullmatch(word):
        stem = _stemmer("arabic").stemWord(word[:MAX_TERM])
        return [stem, *_grams(word.translate(_WITHOUT_HAMZA), (_GRAM,))]
    return [word[:MAX_TERM], *_grams(word, (_GRAM,))]


def _grams(run: str, sizes: tuple[int, ...]) -> list[str]:
    """Cut a run into overlapping grams; those of vowel signs and accents alone say nothing."""
    grams = (run[i : i + size] for size in sizes for i in range(len(run) - size + 1))
    return [gram for gram in grams if gram.isalnum() or any(map(str.isalnum, gram))]


def _stemmer(language: str) -> Stemmer.Stemmer:
    """Return this thread's stemmer: a stemmer keeps state and is not to be shared."""
    stemmer = getattr(_local, language, None)
    if stemmer is None:
        stemmer = Stemmer.Stemmer(language, 0)  # a cache of its own is 2 MB and slower than none
        setattr(_local, language, stemmer)
    return stemmer


@functools.cache
def _stop_terms() -> frozenset[str]:
    return frozenset(index_terms(STOP_WORDS))


_SCRIPTS = """
Latin Han Hiragana Katakana Hangul Bopomofo Cyrillic Arabic Greek Hebrew Devanagari Bengali Gurmukhi
Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Thai Lao Tibetan Myanmar Khmer Georgian
Armenian Ethiopic Mongolian Cherokee Syriac Thaana Nko Javanese Balinese Sundanese Tifinagh Yi
"""
_SCRIPT = regex.compile("|".join(rf"(?P<{name}>\p{{Script={name}}})" for name in _SCRIPTS.split()))


LETTERS_PER_CHARACTER = 3
"""Letters that say what one Chinese character says: 3.2 in an encyclopaedia's paragraphs and their
translations. Counted as one, `Agent Note: 精确会话查询服务` would be English."""
_DENSE = ("Han", "Kana", "Hangul")


def dominant_script(text: str) -> str:
    """Name the script that says most, for example `Latin`; `""` when there is no letter.

    A character of `Han`, `Kana` or `Hangul` counts as three letters. Chinese characters count as
    `Han`; where kana is a tenth or more of the characters of both kinds, all of them count as
    `Kana`. Letters of rare scripts count as `Other`.
    """
    counts: Counter[str] = Counter()
    for character, count in Counter(text).items():
        if character.isalpha():
            counts[_script_of(character)] += count
    kana = counts.pop("Hiragana", 0) + counts.pop("Katakana", 0)
    if kana * 10 >= kana + counts["Han"]:
        kana += counts.pop("Han", 0)
    else:
        counts["Han"] += kana
        kana = 0
    counts["Kana"] = kana
    for script in _DENSE:
        counts[script] *= LETTERS_PER_CHARACTER
    script, count = max(counts.items(), key=lambda item: (item[1], item[0]))
    return script if count else ""


@functools.lru_cache(maxsize=8_192)
def _script_of(letter: str) -> str:
    match = _SCRIPT.match(letter)
    return match.lastgroup if match and match.lastgroup else "Other"
