"""Cases written as Markdown: a heading, the input, and what is expected of it.

A test that takes an argument `terms_case` runs once for every case of `fixtures/terms.md`, and so
for the other files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parent / "fixtures"

_FENCED = r"\n+````\n({})\n?````"
_CASE = re.compile(
    rf"^## (?P<title>.+)\n{_FENCED.format('?P<given>.*?')}\n{_FENCED.format('?P<expected>.*?')}$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Case:
    """One case of a fixture file."""

    title: str
    given: str
    r"""The input; `\u200b` and the like are read as escapes."""
    expected: str
    """Likewise."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for argument in metafunc.fixturenames:
        if argument.endswith("_case"):
            cases = _read(FIXTURES / f"{argument.removesuffix('_case')}.md")
            metafunc.parametrize(argument, cases, ids=[case.title for case in cases])


def _read(file: Path) -> list[Case]:
    text = file.read_text(encoding="utf-8")
    cases = [
        Case(match["title"], _unescaped(match["given"]), _unescaped(match["expected"]))
        for match in _CASE.finditer(text)
    ]
    assert len(cases) == text.count("\n## "), f"{file.name} holds a case that cannot be read"
    return cases


def _unescaped(text: str) -> str:
    return re.sub(r"\\u([0-9a-f]{4})", lambda escape: chr(int(escape[1], 16)), text)
