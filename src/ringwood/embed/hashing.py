"""The embedder without a model: signed feature hashing of words and character n-grams.

It needs nothing and is the same everywhere, which makes it the test double that ships. Texts that
share words or parts of words lie close; it knows no synonyms and no second language.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from zlib import crc32

import numpy as np

from ringwood.embed import shipped
from ringwood.embed.base import Anchors, FloatRows, FloatVector, Means
from ringwood.embed.measure import measure

DEFAULT_DIM = 256
_WORD = re.compile(r"\w+")
_MIX = np.uint32(0x9E3779B1)  # CRC is linear in its input; an odd multiplier spreads it


class HashingEmbedder:
    """Embeds by hashing features into `dim` columns. Stateless, deterministic across processes."""

    name = "hashing"

    def __init__(self, dim: int = DEFAULT_DIM) -> None:
        """Take the number of columns; below 64 unrelated texts begin to collide."""
        if dim < 1:
            raise ValueError(f"dim must be positive, not {dim}")
        self.dim = dim
        self.identity = f"hashing/words-ngrams-1/{dim}/none/sum"

    @property
    def means(self) -> Means:
        """The common words of each script, so to say: measured on the shipped sentences."""
        return _measured(self.dim)[0]

    @property
    def anchors(self) -> Anchors:
        """Measured on the shipped sentences, in a few hundredths of a second."""
        return _measured(self.dim)[1]

    def embed_passages(self, texts: Sequence[str]) -> FloatRows:
        """Embed texts to be found. Rows unit length, in the order given; `[]` gives `[0, d]`."""
        codes: list[int] = []
        owners: list[int] = []
        for row, text in enumerate(texts):
            start = len(codes)
            codes.extend(_features(text))
            owners.extend([row] * (len(codes) - start))
        mixed = np.array(codes, dtype=np.uint32) * _MIX
        columns = (mixed >> np.uint32(8)).astype(np.int64) % self.dim
        signs = 1.0 - 2.0 * (mixed & np.uint32(1))
        cells = np.array(owners, dtype=np.int64) * self.dim + columns
        sums = np.bincount(cells, weights=signs, minlength=len(texts) * self.dim)
        rows = sums.reshape(len(texts), self.dim)
        rows[~rows.any(axis=1), 0] = 1.0  # every sign met its opposite: rare, and still a unit row
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        unit: FloatRows = (rows / norms).astype(np.float32)
        return unit

    def embed_query(self, text: str, *, timeout_s: float | None = None) -> FloatVector:
        """Embed a question like a passage. float32[d], unit length. Takes microseconds."""
        del timeout_s  # always met
        vector: FloatVector = self.embed_passages([text])[0]
        return vector

    def close(self) -> None:
        """Let go of nothing: there is no model and no process."""


@cache
def _measured(dim: int) -> tuple[Means, Anchors]:
    return measure(HashingEmbedder(dim), *shipped.sentences())


def _features(text: str) -> Iterator[int]:
    """Yield one stable 32-bit code per feature of a text; at least one, also for the empty text."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    # Text without a word is told apart by its characters: emoji, rules, punctuation.
    words = _WORD.findall(folded) or list(folded.strip()) or [""]
    for word in words:
        data = word.encode("utf-8", "replace")
        yield crc32(data)
        # Three letters are a piece of an alphabetic word; two characters are a word in Chinese.
        size = 3 if word.isascii() else 2
        if len(word) >= size:
            marked = f"<{word}>"
            for start in range(len(marked) - size + 1):
                yield crc32(marked[start : start + size].encode("utf-8", "replace"), 1)
