"""The engine that the tests of this room run on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ringwood.engine.base import Engine
from ringwood.engine.sqlite import open_engine


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Where the engine of this test keeps its files."""
    return tmp_path / "home"


@pytest.fixture
def engine(home: Path) -> Iterator[Engine]:
    """An empty engine."""
    opened = open_engine(home, create=True)
    yield opened
    opened.close()
