"""Some hundred steps against a model; the long part is `scripts/torture stateful`."""

from __future__ import annotations

import pytest
from tests.faults.machine import Machine
from tests.faults.model import Model
from tests.faults.stateful import WRONG, is_caught, run

# From 3.12 on, forking with threads running warns.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning"),
    pytest.mark.skipif("not hasattr(__import__('os'), 'fork')", reason="needs fork"),
]


def test_whatever_is_done_memory_holds_what_its_model_holds() -> None:
    run(Machine, runs=8)


@pytest.mark.parametrize("model", WRONG)
def test_a_model_that_is_wrong_is_found_out(model: type[Model]) -> None:
    assert is_caught(model)
