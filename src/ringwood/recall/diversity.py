"""Drop what repeats a better candidate: near-duplicates, and a section beside its own paragraph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ringwood.recall.ledger import Candidate

STAGE = "diversity"


@dataclass(frozen=True, slots=True)
class DiversityOptions:
    """When two candidates say the same."""

    threshold: float = 0.88
    """Calibrated similarity from which the worse of two is dropped, 0..1; above 1: never."""


def diversify(
    ranked: Sequence[Candidate],
    similarity: Callable[[int, int], float | None],
    options: DiversityOptions,
) -> list[Candidate]:
    """Walk the candidates best first and drop those that repeat one already picked.

    Args:
        ranked: candidates, best first; dropped ones pass unchanged.
        similarity: calibrated similarity of two nodes by id, None where a vector is missing.
        options: the threshold.
    """
    picked: list[Candidate] = []
    walked: list[Candidate] = []
    for each in ranked:
        outcome = each
        if each.stage is None:
            reason = next(
                filter(None, (_repeats(each, one, similarity, options) for one in picked)), ""
            )
            if reason:
                outcome = each.drop(STAGE, reason)
            else:
                picked.append(each)
        walked.append(outcome)
    return walked


def _repeats(
    candidate: Candidate,
    better: Candidate,
    similarity: Callable[[int, int], float | None],
    options: DiversityOptions,
) -> str:
    """Return why a candidate repeats a better one, or an empty string."""
    if _is_paragraph_of(candidate, better):
        return f"its section {better.node.path} is returned"
    if _is_paragraph_of(better, candidate):
        return f"its own paragraph {better.node.path} is returned"
    if _is_title_above(candidate, better):
        return f"only a title, and {better.node.path} below it is returned"
    if candidate.node.text == better.node.text:
        return f"same text as {better.node.path}"
    alike = similarity(candidate.node.id, better.node.id)
    if alike is not None and alike >= options.threshold:
        return f"similarity {alike:.3f} to {better.node.path}"
    return ""


def _is_title_above(candidate: Candidate, below: Candidate) -> bool:
    """Say whether a candidate is a bare heading somewhere above another."""
    return candidate.node.text == candidate.node.title and below.node.path.startswith(
        candidate.node.path + "/"
    )


def _is_paragraph_of(candidate: Candidate, section: Candidate) -> bool:
    """Say whether a section's text holds a candidate's: direct leaves, not code or subsections."""
    return candidate.node.parent == section.node.id and candidate.node.text in section.node.text
