"""Ranking by meaning: int8 rows at rest and an exact scan over a copy of them in memory.

A row is a direction: its components over the largest, times 127. Its length means nothing and is
divided out on reading, so that a row read and written again is the same row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import apsw
import numpy as np
import numpy.typing as npt

from ringwood.engine.base import Cosine, FloatVector, VectorQuery, VectorRanking
from ringwood.engine.sqlite.rows import among
from ringwood.engine.sqlite.vector_copy import ByteRows, Horizon, Rows, VectorCopy
from ringwood.engine.sqlite.visible import lengths_of

_BLOCK_CELLS = 1024 * 384
"""Numbers that are widened to float32 at a time. They stay in the second-level cache, and their
product on this thread: a larger one wakes OpenBLAS's threads, which on a busy machine wait for
each other (30,000 rows took 2 ms like this and 32 ms in blocks of 8192 rows)."""
_SLACK = 1e-4
"""What the first pass, in float32, may be wrong by, generously; the second is in float64."""
_NEAR_MEAN = 0.01
"""Squared distance from the mean below which float32 is not trusted at all."""

FloatArray = npt.NDArray[np.float64]
"""float64[n]"""
WideRows = npt.NDArray[np.float64]
"""float64[n, d]"""


def quantise(row: FloatVector) -> bytes:
    """Keep a row's direction as int8[d]. A row of zeros stays one: it is like nothing."""
    wide = np.asarray(row, dtype=np.float64)
    largest = np.abs(wide).max(initial=0.0)
    if not largest:
        return bytes(len(wide))
    quantised: ByteRows = np.rint(wide * (127.0 / largest)).astype(np.int8)
    return quantised.tobytes()


def unit_rows(rows: ByteRows) -> WideRows:
    """Widen rows to unit length; rows of zeros stay zeros."""
    wide: WideRows = rows.astype(np.float64)
    norms = np.sqrt((wide * wide).sum(axis=1, keepdims=True))
    np.divide(wide, norms, out=wide, where=norms > 0)
    return wide


def unit_row(blob: bytes) -> FloatVector:
    """Read one stored row back at unit length."""
    unit: FloatVector = unit_rows(np.frombuffer(blob, dtype=np.int8)[None, :])[0].astype(np.float32)
    return unit


def mean_for(means: Mapping[str, FloatVector], script: str, dim: int) -> FloatArray:
    """Choose what to subtract from a text of this script; zeros where there is no mean at all."""
    mean = means.get(script, means.get(""))
    return np.zeros(dim) if mean is None else np.asarray(mean, dtype=np.float64)


def cosines_of(
    rows: ByteRows, means: WideRows, query: VectorQuery
) -> tuple[FloatArray, FloatArray]:
    """Measure rows against a question: raw and centred cosine, float64, the definition itself.

    Each row is summed by itself and in the same order, so its figures do not depend on which rows
    it stands among. `means` holds the mean for each row.
    """
    units = unit_rows(rows)
    raw = (units * query.raw.astype(np.float64)).sum(axis=1)
    apart = units - means
    norms = np.sqrt((apart * apart).sum(axis=1))
    along = (apart * query.centred.astype(np.float64)).sum(axis=1)
    return raw, np.divide(along, norms, out=np.zeros_like(along), where=norms > 0)


@dataclass(frozen=True, slots=True)
class Scan:
    """What to scan: one tier as one snapshot sees it."""

    connection: apsw.Connection
    tier: int
    """0 hot, 1 warm, 2 cold."""
    copy: VectorCopy
    """Its rows of the query's embedder."""
    horizon: Horizon
    """Where the snapshot stands."""
    spaces: Sequence[int]
    """Numbers of the spaces to look in."""


def rank(scans: Sequence[Scan], query: VectorQuery, limit: int) -> VectorRanking:
    """Rank nodes by centred cosine over every tier: exact, ties by the newer id."""
    found: list[tuple[int, Cosine]] = []
    for scan in scans:
        found += _best(scan, query, limit)
    found.sort(key=lambda item: (-item[1].centred, -item[0]))
    best = dict(found[: max(0, limit)])
    return VectorRanking(tuple(best), best)


def per_script(scan: Scan) -> dict[str, int]:
    """Count the rows of a tier by script. A document that lies in two tiers counts twice."""
    rows = scan.copy.seen_by(scan.connection, scan.horizon)
    places = rows.alive(scan.horizon, scan.spaces)
    names = scan.copy.script_names
    counts = np.bincount(rows.scripts[places], minlength=len(names)).tolist()
    return {name: count for name, count in zip(names, counts, strict=True) if count}


def sum_of(scan: Scan, script: str) -> tuple[FloatArray, int]:
    """Add up the unit rows of one script in a tier: float64[d], and how many they are."""
    rows = scan.copy.seen_by(scan.connection, scan.horizon)
    places = rows.alive(scan.horizon, scan.spaces)
    names = scan.copy.script_names
    dim = rows.rows.shape[1]
    if script not in names or not len(places):
        return np.zeros(dim), 0
    places = places[rows.scripts[places] == names.index(script)]
    total = np.zeros(dim)
    for block in _blocks(places, dim):
        total += unit_rows(rows.rows[places[block]]).sum(axis=0)
    return total, len(places)


def _best(scan: Scan, query: VectorQuery, limit: int) -> list[tuple[int, Cosine]]:
    """Find the `limit` best nodes of a tier that have no hotter copy, in no order."""
    rows = scan.copy.seen_by(scan.connection, scan.horizon)
    places = rows.alive(scan.horizon, scan.spaces)
    if limit <= 0 or not len(places):
        return []
    means = [mean_for(query.means, s, len(query.raw)) for s in scan.copy.script_names]
    rough = _rough(rows, places, means, query)
    wanted = limit
    while True:
        bar = -np.inf
        if wanted < len(rough):
            bar = np.partition(rough, len(rough) - wanted)[len(rough) - wanted] - 2 * _SLACK
        chosen = places[rough >= bar]
        visible, _ = lengths_of(scan.connection, scan.tier, np.sort(rows.nodes[chosen]))
        if len(visible) >= limit or len(chosen) == len(places):
            chosen = chosen[among(rows.nodes[chosen], np.sort(visible))]
            return list(_measured(rows, chosen, means, query))
        wanted *= 4  # hotter copies took places; rare, so the first round is nearly always enough


def _rough(
    rows: Rows, places: npt.NDArray[np.int64], means: Sequence[FloatArray], query: VectorQuery
) -> npt.NDArray[np.float32]:
    """Estimate centred cosines in float32; infinite where that would not do.

    With m the mean of a row's script and q the centred question,
    ((v − m)·q) / |v − m| = (v·q − m·q) / √(|v|² − 2 v·m + |m|²): a product per mean and block.
    """
    stacked = np.stack(means)
    columns = [query.centred.astype(np.float32), *stacked.astype(np.float32)]
    along_mean = (stacked @ query.centred.astype(np.float64)).astype(np.float32)
    mean_squared = (stacked * stacked).sum(axis=1).astype(np.float32)
    rough = np.empty(len(places), np.float32)
    for block in _blocks(places, len(query.raw)):
        here = places[block]
        scripts, norms = rows.scripts[here], rows.norms[here]
        live = norms > 0
        wide = _gathered(rows.rows, here).astype(np.float32)
        products = np.stack([wide @ column for column in columns])
        products *= np.divide(np.float32(1), norms, out=np.zeros_like(norms), where=live)
        toward = products[1 + scripts, np.arange(len(here))]
        squared = live - 2 * toward + mean_squared[scripts]
        near = squared < _NEAR_MEAN
        squared[near] = 1
        estimate = (products[0] - along_mean[scripts]) / np.sqrt(squared)
        estimate[near] = np.inf
        rough[block] = estimate
    return rough


def _blocks(places: npt.NDArray[np.int64], dim: int) -> Iterator[slice]:
    height = max(1, _BLOCK_CELLS // max(1, dim))
    for start in range(0, len(places), height):
        yield slice(start, start + height)


def _gathered(rows: ByteRows, places: npt.NDArray[np.int64]) -> ByteRows:
    """Gather rows; a run without gaps is taken as it lies."""
    first, last = int(places[0]), int(places[-1])
    if last - first + 1 == len(places):
        return rows[first : last + 1]
    return rows[places]


def _measured(
    rows: Rows, places: npt.NDArray[np.int64], means: Sequence[FloatArray], query: VectorQuery
) -> Iterator[tuple[int, Cosine]]:
    stacked = np.stack(means)
    for block in _blocks(places, len(query.raw)):
        here = places[block]
        raw, centred = cosines_of(rows.rows[here], stacked[rows.scripts[here]], query)
        figures = zip(rows.nodes[here].tolist(), raw.tolist(), centred.tolist(), strict=True)
        yield from ((node, Cosine(raw=r, centred=c)) for node, r, c in figures)
