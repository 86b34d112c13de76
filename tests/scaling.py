"""How time grows with length, measured so that a busy machine does not decide."""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import process_time

ATTEMPTS = 8
"""Other work on the machine only ever adds time: the best of a few is the text's own."""
SHORT_S = 0.05
"""What is over sooner is not told apart from noise."""


def grows_at_most(run: Callable[[int], object], small: int, large: int, times: float) -> bool:
    """Say whether `large` costs at most `times` as much as `small`, in processor time."""
    best_small = best_large = float("inf")
    for _ in range(ATTEMPTS):
        best_small = min(best_small, _seconds(run, small))
        best_large = min(best_large, _seconds(run, large))
        if best_large <= times * best_small + SHORT_S:
            return True
    return False


def _seconds(run: Callable[[int], object], length: int) -> float:
    gc.collect()
    gc.disable()  # it would walk over all that the tests before have left, the more the longer
    try:
        begun = process_time()
        run(length)
        return process_time() - begun
    finally:
        gc.enable()
