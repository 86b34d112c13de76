"""The comparison in blocks, against the same said in plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from ringwood.embed.base import Anchors, FloatRows
from ringwood.embed.calibration import OFF, calibrate
from ringwood.upkeep.dreaming.pairs import IntVector, nearest_pairs
from ringwood.write.link import LinkOptions

ANCHORS = Anchors(background_median=0.0, background_p999=0.3, duplicate_q1=0.8)


def random_rows(count: int, dim: int = 6) -> FloatRows:
    rows = np.random.default_rng(7).normal(size=(count, dim)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def plainly(
    rows: FloatRows, documents: IntVector, anchors: Anchors, options: LinkOptions
) -> dict[tuple[int, int], float]:
    pairs = {}
    for one in range(len(rows)):
        weights = [
            (round(float(calibrate(float(rows[one] @ rows[other]), anchors)), 5), other)
            for other in range(len(rows))
            if documents[one] != documents[other]
        ]
        for weight, other in sorted(weights, reverse=True)[: options.max_edges]:
            if weight >= options.threshold:
                pairs[min(one, other), max(one, other)] = weight
    return pairs


@pytest.mark.parametrize("anchors", [ANCHORS, OFF])
@pytest.mark.parametrize("cells", [1, 500, 2_000_000])
def test_blocks_of_any_size_find_what_plain_loops_find(
    anchors: Anchors, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ringwood.upkeep.dreaming.pairs.BLOCK_CELLS", cells)
    rows = random_rows(120)
    documents = np.arange(120) // 4

    found = nearest_pairs(rows, documents, anchors, LinkOptions())

    expected = plainly(rows, documents, anchors, LinkOptions())
    assert found.keys() == expected.keys()
    assert len(found) > 100
    for ends, weight in expected.items():
        assert found[ends] == pytest.approx(weight, abs=2e-5)


def test_nodes_of_one_document_are_no_pair() -> None:
    rows = np.repeat(random_rows(1), 3, axis=0)

    assert nearest_pairs(rows, np.array([1, 1, 1]), OFF, LinkOptions()) == {}
    assert nearest_pairs(rows, np.array([1, 1, 2]), OFF, LinkOptions()) == {
        (0, 2): 1.0,
        (1, 2): 1.0,
    }


def test_of_equally_similar_nodes_the_newer_are_chosen() -> None:
    rows = np.repeat(random_rows(1), 5, axis=0)

    found = nearest_pairs(rows, np.arange(5), OFF, LinkOptions(max_edges=1))

    assert sorted(found) == [(0, 4), (1, 4), (2, 4), (3, 4)]


def test_the_threshold_itself_is_similar_enough() -> None:
    rows = np.array([[1, 0], [0.72, np.sqrt(1 - 0.72**2)]], np.float32)

    assert list(nearest_pairs(rows, np.arange(2), OFF, LinkOptions(threshold=0.72))) == [(0, 1)]
    assert not nearest_pairs(rows, np.arange(2), OFF, LinkOptions(threshold=0.7201))


def test_a_threshold_of_nothing_links_the_nearest_whatever_they_are() -> None:
    rows = random_rows(10)

    assert nearest_pairs(rows, np.arange(10), ANCHORS, LinkOptions(threshold=0.0))


def test_no_rows_are_no_pairs() -> None:
    empty = np.empty((0, 6), np.float32)

    assert nearest_pairs(empty, np.empty(0, np.int64), OFF, LinkOptions()) == {}


def test_every_block_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringwood.upkeep.dreaming.pairs.BLOCK_CELLS", 40)
    told: list[int] = []

    nearest_pairs(random_rows(10), np.arange(10), OFF, LinkOptions(), told.append)

    assert told == [4, 8, 10]
