"""The embedder without a model."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringwood.embed.hashing import HashingEmbedder

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=80)  # surrogates, too


@given(st.lists(ANY_TEXT, max_size=5))
def test_any_texts_give_unit_rows_in_order(texts: list[str]) -> None:
    embedder = HashingEmbedder(64)

    rows = embedder.embed_passages(texts)

    assert rows.shape == (len(texts), 64)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    for text, row in zip(texts, rows, strict=True):
        assert np.array_equal(embedder.embed_query(text), row)


def test_another_process_computes_the_same_vector() -> None:
    # With another hash seed: a salted hash would differ.
    code = (
        "from ringwood.embed.hashing import HashingEmbedder as E;"
        "print(E().embed_query('blue heron, 苍鹭').tobytes().hex())"
    )

    output = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert output.strip() == HashingEmbedder().embed_query("blue heron, 苍鹭").tobytes().hex()


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("The backup runs at three.", "Backups run at three!", "A heron stood in the pond."),
        ("备份改到凌晨三点", "凌晨三点开始备份", "苍鹭飞回了池塘"),
        ("configuration", "configurations", "heron"),
    ],
)
def test_texts_that_share_words_are_closer_than_texts_that_do_not(
    text: str, near: str, far: str
) -> None:
    given_text, similar, other = HashingEmbedder().embed_passages([text, near, far])

    assert given_text @ similar > 0.25
    assert given_text @ other < 0.2


def test_case_and_width_do_not_matter() -> None:
    first, second = HashingEmbedder().embed_passages(["ＡＰＩ Key", "api key"])

    assert np.array_equal(first, second)


def test_texts_without_a_word_are_told_apart_by_their_characters() -> None:
    party, rule, empty, white = HashingEmbedder().embed_passages(["🎉🎉", "-----", "", " \n"])

    assert party @ rule < 0.5
    assert np.array_equal(empty, white)


def test_the_number_of_columns_is_part_of_the_identity() -> None:
    assert HashingEmbedder(64).identity != HashingEmbedder(128).identity
    with pytest.raises(ValueError, match="positive"):
        HashingEmbedder(0)
