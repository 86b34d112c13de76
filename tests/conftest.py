"""Fixtures that every room's tests use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from ringwood.memory import Memory

# How long an example takes says how busy the machine is: no property fails for that.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The evaluation data beside the project; the test is skipped where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("needs the evaluation data beside the project (../shared/data)")
    return SHARED


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """An empty memory with the hashing embedder, in the space `global`."""
    with Memory.open(tmp_path / "home", embedder="hashing", wait_s=10.0) as opened:
        yield opened


@pytest.fixture
def words(tmp_path: Path) -> Iterator[Memory]:
    """An empty memory that recalls by words alone."""
    with Memory.open(tmp_path / "home", embedder="words", wait_s=10.0) as opened:
        yield opened
