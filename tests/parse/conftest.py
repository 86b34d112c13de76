"""The fixtures of this room: small texts and their outlines, in `fixtures/*.md`.

A case is a title, `.`, the text, `.`, one line `kind path "text"` per node, `.`. In a text, `␍`
stands for a carriage return.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import pytest


@dataclass(frozen=True, slots=True)
class Case:
    """One small text and what becomes of it."""

    title: str
    text: str
    outline: list[str]


def read_cases() -> list[Case]:
    cases = []
    for file in sorted((Path(__file__).parent / "fixtures").glob("*.md")):
        lines = iter(file.read_text(encoding="utf-8").split("\n"))
        for title in filter(None, lines):
            assert next(lines) == ".", f"{file.name}: a dot belongs below {title!r}"
            given, outline = (list(takewhile(lambda line: line != ".", lines)) for _ in "12")
            text = "".join(f"{line}\n" for line in given).replace("␍", "\r")
            cases.append(Case(f"{file.stem}: {title}", text, outline))
    assert len(cases) > 50
    return cases


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        cases = read_cases()
        metafunc.parametrize("case", cases, ids=[case.title for case in cases])
