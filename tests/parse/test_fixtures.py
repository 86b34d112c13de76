"""Small texts and their outlines; `conftest.py` says how the fixtures are written."""

from __future__ import annotations

import json
from typing import Protocol

from ringwood.parse.tree import parse_document


class Case(Protocol):
    """What `conftest.py` reads from a fixture."""

    text: str
    outline: list[str]


def test_a_text_becomes_this_outline(case: Case) -> None:
    found = [
        f"{node.kind} {node.path or '/'} {json.dumps(node.text, ensure_ascii=False)}"
        for node in parse_document(case.text).nodes
    ]
    assert found == case.outline
