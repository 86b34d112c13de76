"""Fixtures of the front ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.serve.calling import Host


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    """A host that works in a folder of its own, with a home that is not there yet."""
    project = tmp_path / "project"
    project.mkdir()
    with Host(tmp_path / "home", project) as calling:
        yield calling
