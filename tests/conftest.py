"""Fixtures that every room's tests use."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The evaluation data beside the project; the test is skipped where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("needs the evaluation data beside the project (../shared/data)")
    return SHARED
