"""How much is found and how much is taken for something else, on two labelled sets.

`-s` prints the table per kind. The held-out half says what to expect of texts nobody tuned for.
"""

from __future__ import annotations

from collections import Counter
from types import ModuleType

import pytest
from tests.text.fixtures import secrets, secrets_held_out
from tests.text.fixtures.keys import KEYS
from tests.text.fixtures.labelled import Secret, look_alikes_of, secrets_of

from ringwood.text.redact import redact

HALVES = [pytest.param(secrets, 1, id="tuned"), pytest.param(secrets_held_out, 2, id="held-out")]


def is_left(case: Secret) -> bool:
    """Say whether the secret, or a line or word of it, still stands in the masked text."""
    masked, _ = redact(case.text)
    pieces = [case.secret, *(line for line in case.secret.split() if len(line) > 5)]
    return any(piece in masked for piece in pieces)


@pytest.mark.parametrize(("half", "seed"), HALVES)
def test_nearly_every_secret_goes_and_every_key_with_a_shape(half: ModuleType, seed: int) -> None:
    cases = secrets_of(half, seed)
    missed = Counter(case.kind for case in cases if is_left(case))
    asked = Counter(case.kind for case in cases)
    _print_table({kind: f"{asked[kind] - missed[kind]}/{asked[kind]}" for kind in asked})

    assert len(asked) >= 23
    assert min(asked.values()) >= 8
    assert 1 - missed.total() / len(cases) >= 0.95
    assert missed.keys().isdisjoint(KEYS)


@pytest.mark.parametrize(("half", "seed"), HALVES)
def test_hardly_anything_else_goes(half: ModuleType, seed: int) -> None:
    cases = look_alikes_of(half, seed)
    wrong = [case for case in cases if redact(case.text) != (case.text, 0)]
    alarms, asked = Counter(c.kind for c in wrong), Counter(c.kind for c in cases)
    _print_table({kind: f"{alarms[kind]}/{asked[kind]}" for kind in asked})

    assert len(cases) >= 720
    assert len(wrong) / len(cases) <= 0.01


@pytest.mark.parametrize("half", [secrets, secrets_held_out])
def test_the_measure_sees_what_a_table_without_rules_would_leave(half: ModuleType) -> None:
    for case in secrets_of(half, seed=3):
        assert case.secret in case.text


def test_the_halves_share_no_sentence() -> None:
    def sentences(half: ModuleType) -> set[str]:
        tables = [*half.SENTENCES.values(), *half.LOOK_ALIKES.values(), half.PLACES]
        return {sentence for table in tables for sentence in table}

    assert (
        len(sentences(secrets) & sentences(secrets_held_out)) <= 3
    )  # "密码是 {}" has no other way


def _print_table(rows: dict[str, str]) -> None:
    print()  # noqa: T201 - shown with -s only
    for kind, figure in rows.items():
        print(f"{kind:28}{figure}")  # noqa: T201
