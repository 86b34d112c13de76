"""Means and anchors that ship with Ringwood, and the sentences they were measured on."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from ringwood.embed.base import Anchors, Means


def sentences() -> tuple[list[str], list[tuple[str, str]]]:
    """Read what ships to measure with: sentences, and near-duplicate pairs.

    English and Chinese come in four manners: notes on anything, one project's notes, a chat, and
    an agent's session. So the pairs among them are about as often related as those of a real space.
    """
    record = _read("sentences.json")
    texts = [text for group in record["sentences"].values() for text in group]
    pairs = [(left, right) for group in record["duplicates"].values() for left, right in group]
    return texts, pairs


@cache
def calibration_of(provider: str) -> tuple[Means, Anchors]:
    """Read what was measured for a provider; `bench/calibrate.py` writes it."""
    return read_record(_read(f"{provider}.json"))


def read_record(record: Mapping[str, Any]) -> tuple[Means, Anchors]:
    """Read means and anchors from what `record_of` wrote."""
    by_script = {
        script: np.frombuffer(base64.b64decode(text), dtype="<f2").astype(np.float32)
        for script, text in record["means"].items()
    }
    return Means(record["version"], by_script), Anchors(**record["anchors"])


def identity_of(provider: str) -> str:
    """Read under which identity a provider was measured."""
    identity: str = _read(f"{provider}.json")["identity"]
    return identity


def record_of(identity: str, means: Means, anchors: Anchors) -> dict[str, Any]:
    """Write means and anchors as the JSON that `calibration_of` reads.

    Half precision: means are averages of rows that are stored in 8 bits.
    """
    return {
        "identity": identity,
        "version": means.version,
        "anchors": {name: round(value, 4) for name, value in asdict(anchors).items()},
        "means": {
            script: base64.b64encode(mean.astype("<f2").tobytes()).decode()
            for script, mean in means.by_script.items()
        },
    }


def _read(name: str) -> dict[str, Any]:
    """Read one of the files beside this module."""
    source = resources.files("ringwood.embed") / "data" / name
    record: dict[str, Any] = json.loads(source.read_text(encoding="utf-8"))
    return record
