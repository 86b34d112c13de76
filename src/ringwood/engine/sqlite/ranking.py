"""The two rankings, and the vectors and means that are compared for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain

import apsw
import numpy as np

from ringwood.engine.base import (
    Cosine,
    FloatVector,
    NodeVector,
    ScriptMean,
    VectorQuery,
    VectorRanking,
    WordQuery,
    WordRanking,
)
from ringwood.engine.sqlite import vectors, words
from ringwood.engine.sqlite.querying import Querying
from ringwood.engine.sqlite.rows import Row, digest_key, id_array
from ringwood.engine.sqlite.vector_copy import Horizon, VectorCopy
from ringwood.engine.sqlite.vectors import Scan

_VECTORS = """
SELECT node, document, script, row FROM all_vectors WHERE node IN carray(?) AND identity = ?"""
_VECTORS_IN = _VECTORS + " AND space = ?"
_VECTORS_BY_DIGEST = """
SELECT digest, row FROM all_vectors
WHERE identity = ? AND digest IN carray(?) GROUP BY digest"""
_MEANS = """
SELECT script, nodes, row, median, p999 FROM main.means WHERE embedder = ? AND space = ?"""


class Ranking(Querying):
    """Ranks nodes over every tier at once."""

    _horizons: Sequence[Horizon]
    _copy_of: Callable[[int, str], VectorCopy]

    def rank_words(
        self, query: WordQuery, spaces: Sequence[str], *, limit: int, also: Iterable[int] = ()
    ) -> WordRanking:
        """Rank nodes by BM25 over every tier at once; see `Reader` and `words`."""
        wanted = words.Wanted(limit, tuple(also))
        return words.rank(self._connection, query, wanted, self._numbered(spaces))

    def rank_vectors(
        self, query: VectorQuery, spaces: Sequence[str], *, limit: int
    ) -> VectorRanking:
        """Rank nodes by centred cosine over every tier at once; see `vectors`."""
        return vectors.rank(self._scans(query.embedder, spaces), query, limit)

    def cosines(
        self, query: VectorQuery, ids: Iterable[int], space: str | None = None
    ) -> dict[int, Cosine]:
        """Measure given nodes, of one space or of any; those without a vector are left out."""
        found = self._vector_rows(query.embedder, ids, space)
        if not found:
            return {}
        nodes, _, scripts, blobs = zip(*found, strict=True)
        dim = len(query.raw)
        rows = np.frombuffer(b"".join(blobs), dtype=np.int8).reshape(len(nodes), dim)
        means = np.stack([vectors.mean_for(query.means, script, dim) for script in scripts])
        raw, centred = vectors.cosines_of(rows, means, query)
        figures = zip(nodes, raw.tolist(), centred.tolist(), strict=True)
        return {node: Cosine(raw=r, centred=c) for node, r, c in figures}

    def vectors(self, embedder: str, ids: Iterable[int]) -> dict[int, NodeVector]:
        """Fetch stored rows; nodes without one are left out."""
        return {
            node: NodeVector(row=vectors.unit_row(blob), script=script, document=document)
            for node, document, script, blob in self._vector_rows(embedder, ids)
        }

    def vectors_by_digest(self, embedder: str, digests: Iterable[str]) -> dict[str, FloatVector]:
        """Fetch rows of equal embedded text, any space: the vectors are their own cache."""
        asked = {digest_key(digest): digest for digest in digests}
        if not asked:
            return {}
        found = self._rows(_VECTORS_BY_DIGEST, (embedder, apsw.carray(tuple(asked))))
        return {asked[key]: vectors.unit_row(blob) for key, blob in found}

    def means(self, embedder: str, space: str) -> dict[str, ScriptMean]:
        """Read the means that a space keeps of its own, by script."""
        rows = chain.from_iterable(
            self._rows(_MEANS, (embedder, number)) for number, _ in self._numbered([space])
        )
        return {
            script: ScriptMean(
                nodes, np.frombuffer(row, np.float32), None if p999 is None else (median, p999)
            )
            for script, nodes, row, median, p999 in rows
        }

    def vectors_per_script(self, embedder: str, space: str) -> dict[str, int]:
        """Count the vectors of a space by script, all tiers at once."""
        counts: Counter[str] = Counter()
        for scan in self._scans(embedder, [space]):
            counts.update(vectors.per_script(scan))
        return dict(counts)

    def mean_vector(self, embedder: str, space: str, script: str) -> FloatVector:
        """Take the mean over all vectors of one script in a space; empty for none."""
        sums = [vectors.sum_of(scan, script) for scan in self._scans(embedder, [space])]
        found = [(total, count) for total, count in sums if count]
        if not found:
            return np.zeros(0, np.float32)
        total = np.sum([each for each, _ in found], axis=0)
        mean: FloatVector = (total / sum(count for _, count in found)).astype(np.float32)
        return mean

    def _numbered(self, spaces: Sequence[str]) -> list[tuple[int, str]]:
        pairs = ((self._number(name), name) for name in dict.fromkeys(spaces))
        return [(number, name) for number, name in pairs if number]

    def _scans(self, embedder: str, spaces: Sequence[str]) -> list[Scan]:
        """Say what to scan of each tier; nothing where a space holds nothing."""
        numbers = [number for number, _ in self._numbered(spaces)]
        return [
            Scan(self._connection, tier, self._copy_of(tier, embedder), horizon, numbers)
            for tier, horizon in enumerate(self._horizons)
            if horizon.last and numbers
        ]

    def _vector_rows(
        self, embedder: str, ids: Iterable[int], space: str | None = None
    ) -> list[Row]:
        wanted = id_array(ids)
        if not len(wanted):
            return []
        if space is None:
            return self._rows(_VECTORS, (apsw.carray(wanted), embedder))
        numbers = [number for number, _ in self._numbered([space])]
        rows = [self._rows(_VECTORS_IN, (apsw.carray(wanted), embedder, n)) for n in numbers]
        return list(chain.from_iterable(rows))
