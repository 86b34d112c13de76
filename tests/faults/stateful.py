"""Whatever is done to a memory, in whatever order: it holds what a dict of documents holds.

A machine of hypothesis takes the steps, through two memories that are open on one home, and through
children that are killed in the middle. After each step a word is asked for that should be found,
and one that should not; now and then everything is compared, and verified.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable, Sequence

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.faults.machine import Machine
from tests.faults.model import Merge, Model
from tests.faults.report import Figure, Torture

RUN_STEPS = 50
"""Steps that hypothesis takes from one empty home."""
RUNS = 20
"""Homes for each seed of the long part."""


def run(machine: type[Machine], *, runs: int, number: int | None = None) -> None:
    """Take steps from so many empty homes; the same ones each time, unless a number is given.

    Raises:
        AssertionError: when memory and model differ.
    """
    options = settings(
        max_examples=runs,
        stateful_step_count=RUN_STEPS,
        derandomize=number is None,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    if number is not None:
        seed(number)(machine)
    run_state_machine_as_test(machine, settings=options)


def torture(options: Torture, say: Callable[[str], None]) -> Iterable[Figure]:
    """Take five steps for each point, by one seed after the other."""
    Machine.taken.clear()
    differences, number = 0, options.seed
    until = time.monotonic() + options.minutes * 60
    while Machine.taken.total() < 5 * options.points and time.monotonic() < until:
        try:
            run(Machine, runs=RUNS, number=number)
        except Exception as error:  # noqa: BLE001 - told, and the next seed
            differences += 1
            say(f"seed {number}:\n{''.join(traceback.format_exception(error))}")
        number += 1
        say(f"{Machine.taken.total():,} steps, {differences} differences")
    say(", ".join(f"{name} {times:,}" for name, times in Machine.taken.most_common()))
    steps = Machine.taken.total()
    caught = {model.__name__: is_caught(model) for model in WRONG}
    yield Figure(
        "steps of every kind, kills among them, against a model",
        steps,
        f"{differences} differences, {number - options.seed} seeds",
        "; ".join(f"{name} model {'caught' if yes else 'MISSED'}" for name, yes in caught.items()),
        holds=not differences and all(caught.values()),
    )


class Forgetful(Model):
    """A wrong model: what is forgotten is still there."""

    def forget(self, handle: int) -> None:
        """Forget nothing."""


class Doubling(Model):
    """A wrong model: it does not know that a dream merges."""

    def twins(self) -> list[Merge]:
        """Find nothing to merge."""
        return []


class Listening(Model):
    """A wrong model: it does not know of pauses."""

    def keeps(self, space: str) -> bool:
        """Keep everything."""
        return True


WRONG: Sequence[type[Model]] = (Forgetful, Doubling, Listening)
"""Models that must be found out."""


def with_model(model: type[Model]) -> type[Machine]:
    """Make a machine that compares with another model."""

    class Other(Machine):
        def new_model(self) -> Model:
            return model()

    return Other


def is_caught(model: type[Model]) -> bool:
    """Say whether the machine finds that a model is wrong."""
    try:
        run(with_model(model), runs=20)
    except (AssertionError, ValueError):
        return True
    return False
