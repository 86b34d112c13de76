"""Ranking by words: FTS5 keeps the posting lists, BM25 is computed here.

FTS5's own rank is 0 without content and positions, it is not comparable between files, and it
pays a microsecond and a half per posting. Here a term costs one statement per tier and space that
returns its whole posting list as one string; numpy does the rest.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

import apsw
import numpy as np
import numpy.typing as npt

from ringwood.engine.base import WordQuery, WordRanking, WordScore
from ringwood.engine.sqlite.rows import IntVector, among, id_array
from ringwood.engine.sqlite.visible import lengths_of, numbers

K1 = 1.2
"""How soon further evidence stops counting. Without term frequencies it only scales `B`."""
B = 0.4
"""How much a long node is held back; BM25's usual .75 is tuned for term frequencies."""
MAX_TERMS = 32
"""Terms of a query that are read, rarest first: what a thousand-word paste may cost."""
_MAX_LOOKED_UP = 256
"""Terms whose document frequency is looked up at all."""

FloatArray = npt.NDArray[np.float64]
"""float64[n]"""

_DF = (
    "SELECT doc FROM main.vocabulary WHERE term = ?",
    "SELECT doc FROM warm.vocabulary WHERE term = ?",
    "SELECT doc FROM cold.vocabulary WHERE term = ?",
)
_POSTINGS = (
    "SELECT group_concat(rowid) FROM main.words WHERE words MATCH ?",
    "SELECT group_concat(rowid) FROM warm.words WHERE words MATCH ?",
    "SELECT group_concat(rowid) FROM cold.words WHERE words MATCH ?",
)
_SIZE = """
SELECT sum(nodes), sum(length) FROM (
    SELECT nodes, length FROM main.spaces WHERE name = ?1
    UNION ALL SELECT nodes, length FROM warm.spaces WHERE name = ?1
    UNION ALL SELECT nodes, length FROM cold.spaces WHERE name = ?1
)"""

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_UNFOLDED = re.compile("[A-Z]")
_FOLD = {c: c + 32 for c in range(ord("A"), ord("Z") + 1)}
# What UTF-8 can hold and what does not part tokens.
_NOT_IN_TERMS = re.compile(r"[\x00-\x20\x7f\ud800-\udfff]")


def prefix_of(space: int) -> str:
    """Write a space's number as the start of its tokens: `1r:`."""
    digits = ""
    while space:
        space, digit = divmod(space, 36)
        digits = _DIGITS[digit] + digits
    return f"{digits}:"


def token_of(prefix: str, term: str) -> str:
    """Make the one token that stands for a term in a space: no query can name another space's.

    ASCII letters are folded as the tokenizer does, so that stored and looked-up forms agree.
    """
    return f"{prefix}{term}".translate(_FOLD)


def match_of(token: str) -> str:
    """Quote a token for MATCH: one string, whatever it holds, and never query syntax."""
    doubled = token.replace('"', '""')
    return f'"{doubled}"'


def content_of(space: int, terms: Iterable[str]) -> str:
    """Write a node's terms as the text that the tokenizer takes apart again at each blank."""
    prefix = prefix_of(space)
    content = " ".join([prefix + term for term in terms if is_term(term)])
    # As `token_of`, but all at once: a node has a hundred terms, and hardly one is not folded.
    return content.translate(_FOLD) if _UNFOLDED.search(content) else content


def is_term(term: str) -> bool:
    """Say whether a string can be a term; one that cannot is neither stored nor looked up."""
    return term != "" and _NOT_IN_TERMS.search(term) is None


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which nodes are to be scored."""

    limit: int
    """Of the best ones."""
    also: tuple[int, ...]
    """Ids of nodes whose score is wanted besides."""


@dataclass(frozen=True, slots=True)
class _Posted:
    """A term that was read."""

    term: str
    idf: float
    nodes: tuple[IntVector, ...]
    """Per tier."""
    df: int
    """In the searched spaces, all tiers."""


@dataclass(frozen=True, slots=True)
class _Matches:
    """Nodes of one tier and the idf mass each one matches."""

    ids: IntVector
    mass: FloatArray


def rank(
    connection: apsw.Connection,
    query: WordQuery,
    wanted: Wanted,
    spaces: Sequence[tuple[int, str]],
) -> WordRanking:
    """Rank the nodes of `spaces`, pairs of number and name, over the three attached tiers."""
    size, length = _size(connection, spaces)
    if not size:
        return WordRanking((), {i: WordScore(0.0, 0.0) for i in wanted.also}, complete=True)
    prefixes = [prefix_of(number) for number, _ in spaces]
    end = math.inf if query.deadline_s is None else time.monotonic() + query.deadline_s
    frequencies, complete = _frequencies(connection, query.terms, prefixes, end)
    known = sorted((df, term) for term, df in frequencies.items() if df)
    budget = _Budget(query.max_postings, end)
    posted = _read(connection, known, prefixes, size, budget)
    complete = complete and len(posted) == len(known)
    unknown = sum(query.absent_weight(term) for term, df in frequencies.items() if not df)
    total = sum(p.idf for p in posted) + unknown * _idf(0, size)
    matches = [_matches(posted, tier) for tier in range(len(_POSTINGS))]
    scale = _Scale(max(1.0, length / size))
    best = _best(connection, matches, wanted.limit, scale)
    also = id_array(wanted.also)
    asked = _scored(connection, matches, lambda m: among(m.ids, also), scale)
    scores = {i: WordScore(0.0, 0.0) for i in wanted.also}
    for found in (asked, best):
        shares = np.minimum(1.0, found.mass / total) if total else found.mass
        figures = zip(found.ids.tolist(), found.scores.tolist(), shares.tolist(), strict=True)
        scores |= {i: WordScore(bm25=score, share=share) for i, score, share in figures}
    idf = {term.translate(_FOLD): _idf(0, size) * query.absent_weight(term) for term in frequencies}
    idf |= {each.term.translate(_FOLD): each.idf for each in posted}

    def measure(terms: Collection[str]) -> WordScore:
        mass = math.fsum(idf.get(term.translate(_FOLD), 0.0) for term in terms)
        [score] = scale.scores(np.array([mass]), np.array([len(terms)])).tolist()
        return WordScore(bm25=score, share=min(1.0, mass / total) if total else 0.0)

    return WordRanking(tuple(best.ids.tolist()), scores, complete, measure)


def _size(connection: apsw.Connection, spaces: Sequence[tuple[int, str]]) -> tuple[int, int]:
    size = length = 0
    for _, name in spaces:
        nodes, total = connection.execute(_SIZE, (name,)).get
        size += nodes or 0
        length += total or 0
    return size, length


def _idf(df: int, size: int) -> float:
    """BM25's, never negative: Lucene's variant, with 1 inside the logarithm."""
    return math.log1p(max(0.0, size - df + 0.5) / (df + 0.5))


def _frequencies(
    connection: apsw.Connection, asked: Sequence[str], prefixes: Sequence[str], end: float
) -> tuple[dict[str, int], bool]:
    """Look up how many nodes hold each term; False when some were not looked up."""
    terms = list(dict.fromkeys(term for term in asked if is_term(term)))
    found: dict[str, int] = {}
    for term in terms[:_MAX_LOOKED_UP]:
        if found and time.monotonic() > end:
            return found, False
        found[term] = sum(
            connection.execute(sql, (token_of(prefix, term),)).get or 0
            for prefix in prefixes
            for sql in _DF
        )
    return found, len(terms) <= _MAX_LOOKED_UP


@dataclass(frozen=True, slots=True)
class _Budget:
    """What may be read after the rarest term."""

    postings: int
    end: float
    """By the monotonic clock."""


def _read(
    connection: apsw.Connection,
    known: Sequence[tuple[int, str]],
    prefixes: Sequence[str],
    size: int,
    budget: _Budget,
) -> list[_Posted]:
    """Read the posting lists of terms, rarest first, as far as the budget goes."""
    posted: list[_Posted] = []
    spent = 0
    for df, term in known[:MAX_TERMS]:
        if posted and (time.monotonic() > budget.end or spent + df > budget.postings):
            break
        nodes = tuple(_postings(connection, sql, term, prefixes) for sql in _POSTINGS)
        posted.append(_Posted(term, _idf(df, size), nodes, df))
        spent += df
    return posted


def _postings(
    connection: apsw.Connection, sql: str, term: str, prefixes: Sequence[str]
) -> IntVector:
    matches = [match_of(token_of(prefix, term)) for prefix in prefixes]
    return np.concatenate([numbers(connection.execute(sql, (match,)).get) for match in matches])


def _matches(posted: Sequence[_Posted], tier: int) -> _Matches:
    """Sum the idf of what each node matches, always in the same order: equal whatever the tier."""
    lists = [p.nodes[tier] for p in posted]
    if not sum(map(len, lists)):
        return _Matches(np.empty(0, np.int64), np.empty(0))
    ids = np.concatenate(lists)
    weights = np.repeat([p.idf for p in posted], [len(nodes) for nodes in lists])
    order = ids.argsort(kind="stable")
    ids = ids[order]
    starts = np.flatnonzero(np.diff(ids, prepend=-1))
    return _Matches(ids[starts], np.add.reduceat(weights[order], starts))


@dataclass(frozen=True, slots=True)
class _Scored:
    """Nodes with their scores, side by side."""

    ids: IntVector
    scores: FloatArray
    """BM25."""
    mass: FloatArray
    """Of idf."""

    @classmethod
    def none(cls) -> _Scored:
        return cls(np.empty(0, np.int64), np.empty(0), np.empty(0))

    @classmethod
    def joined(cls, parts: Sequence[_Scored]) -> _Scored:
        return cls(
            np.concatenate([p.ids for p in parts]),
            np.concatenate([p.scores for p in parts]),
            np.concatenate([p.mass for p in parts]),
        )

    def at(self, places: npt.NDArray[np.intp]) -> _Scored:
        return _Scored(self.ids[places], self.scores[places], self.mass[places])


@dataclass(frozen=True, slots=True)
class _Scale:
    """From idf mass and length to BM25."""

    average: float
    """Mean length of a node in the searched spaces."""

    def scores(self, mass: FloatArray, lengths: IntVector) -> FloatArray:
        """Robertson's BM25 with term frequency 1 throughout: one length factor per node.

        Σ idf(t) · (k1 + 1) / (1 + k1 · (1 − b + b · len / avglen))
        """
        saturation = 1.0 + K1 * (1.0 - B + B * lengths.astype(np.float64) / self.average)
        return mass * (K1 + 1.0) / saturation


def _best(
    connection: apsw.Connection, matches: Sequence[_Matches], limit: int, scale: _Scale
) -> _Scored:
    """Find the `limit` best nodes, best first, ties by the newer id.

    Lengths are fetched for the nodes of most mass first; then only for those that could still get
    in if they were of the shortest possible length.
    """
    mass = np.concatenate([m.mass for m in matches])
    if limit <= 0 or not len(mass):
        return _Scored.none()
    first = len(mass) - min(len(mass), 2 * limit)
    least = np.partition(mass, first)[first]
    found = _scored(connection, matches, lambda m: m.mass >= least, scale)
    bar = 0.0
    if len(found.ids) >= limit:
        kth = len(found.ids) - limit
        ceiling = float(scale.scores(np.ones(1), np.ones(1, np.int64))[0])
        # A hair lower, so that rounding in the division shuts nobody out.
        bar = float(np.partition(found.scores, kth)[kth]) / ceiling * (1 - 1e-9)
    rest = _scored(connection, matches, lambda m: (m.mass >= bar) & (m.mass < least), scale)
    found = _Scored.joined([found, rest])
    return found.at(np.lexsort((-found.ids, -found.scores))[:limit])


def _scored(
    connection: apsw.Connection,
    matches: Sequence[_Matches],
    chosen: Callable[[_Matches], npt.NDArray[np.bool_]],
    scale: _Scale,
) -> _Scored:
    """Score chosen nodes, in no order; those that have a hotter copy are left out."""
    parts = []
    for tier, match in enumerate(matches):
        these = chosen(match)
        ids, mass = match.ids[these], match.mass[these]
        visible, lengths = lengths_of(connection, tier, ids)
        mass = mass[np.searchsorted(ids, visible)]
        parts.append(_Scored(visible, scale.scores(mass, lengths), mass))
    return _Scored.joined(parts)
