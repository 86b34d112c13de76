"""Fixtures of the published cases."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cases.commands import Command


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command, in the home of the fixtures `memory` and `words`."""
    monkeypatch.setenv("RINGWOOD_EMBEDDER", "words")
    return Command(tmp_path / "home", monkeypatch)
