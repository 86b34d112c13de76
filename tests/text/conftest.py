"""Cases written as Markdown: a heading, the input, and what is expected of it.

A test that takes an argument `terms_case` runs once for every case of `fixtures/terms.md`, and so
for the other files.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parent / "fixtures"

_FENCED = r"\n+````\n(?P<{}>.*?)\n?````"
_CASE = re.compile(
    rf"^## (?P<title>[^\n]+)\n{_FENCED.format('given')}\n{_FENCED.format('expected')}$",
    re.MULTILINE | re.DOTALL,
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for argument in metafunc.fixturenames:
        if argument.endswith("_case"):
            cases = _read(FIXTURES / f"{argument.removesuffix('_case')}.md")
            metafunc.parametrize(argument, list(cases.values()), ids=list(cases))


def _read(file: Path) -> dict[str, tuple[str, str]]:
    r"""Map titles to what is given and expected; `\u200b` and the like are read as escapes."""
    text = file.read_text(encoding="utf-8")
    cases = {
        case["title"]: (_unescaped(case["given"]), _unescaped(case["expected"]))
        for case in _CASE.finditer(text)
    }
    assert len(cases) == text.count("\n## "), f"{file.name} holds a case that cannot be read"
    return cases


def _unescaped(text: str) -> str:
    return re.sub(r"\\u([0-9a-f]{4})", lambda escape: chr(int(escape[1], 16)), text)
