"""Outlines of small texts. A case: title, `.`, input, `.`, `kind path "text"` per node, `.`.

`␍` stands for a carriage return.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ringwood.parse.tree import parse_document

FIXTURES = Path(__file__).parent / "fixtures"


def read_cases() -> list[tuple[str, str, list[str]]]:
    cases = []
    for file in sorted(FIXTURES.glob("*.md")):
        lines = iter(file.read_text(encoding="utf-8").split("\n"))
        for title in lines:
            if not title:
                continue
            assert next(lines) == ".", f"{file.name}: a dot belongs below {title!r}"
            given = list(iter(lambda: next(lines), "."))  # noqa: B023, used before it changes
            expected = list(iter(lambda: next(lines), "."))  # noqa: B023
            text = "".join(f"{line}\n" for line in given).replace("␍", "\r")
            cases.append((f"{file.stem}: {title}", text, expected))
    return cases


CASES = read_cases()


@pytest.mark.parametrize(
    ("text", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_a_text_becomes_this_outline(text: str, expected: list[str]) -> None:
    nodes = parse_document(text).nodes
    found = [
        f"{node.kind} {node.path or '/'} {json.dumps(node.text, ensure_ascii=False)}"
        for node in nodes
    ]
    assert found == expected


def test_there_are_fixtures() -> None:
    assert len(CASES) >= 50
