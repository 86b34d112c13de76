"""Which published case stands beside which test, read from the sources of the tests.

A case stands beside a test as a comment in its head, from its first decorator to its first
statement: `# LOCK 7`, `# res-08, CORRUPT 17`, or by its number alone. The name of a test may begin
with it as well: `test_7_...`, `test_con_04_...`.
"""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

_CASE = r"(?:(?:[A-Z]+ )?(\d{1,3})|([a-z]{2,3}-\d\d))"
_COMMENT = re.compile(rf"# {_CASE}(?:, {_CASE})*")
_NAME = re.compile(r"test_(?:(\d{1,3})|([a-z]{2,3}_\d\d))_")
_ROW = re.compile(r"\| (\d+) \| ([A-Z/]+) \|")


def cases_beside_tests(source: str) -> set[str]:
    """Read the cases that stand beside the tests of a module: row numbers, and ids."""
    comments = {
        token.start[0]: token.string
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT and _COMMENT.fullmatch(token.string)
    }
    found: set[str] = set()
    for test in _tests(ast.parse(source)):
        if named := _NAME.match(test.name):
            found.add((named[1] or named[2]).replace("_", "-"))
        first = min([test.lineno, *(each.lineno for each in test.decorator_list)])
        for line in range(first, test.body[0].lineno):
            found.update(_in(comments.get(line, "")))
    return found


def rows_of_kinds(report: str, kinds: Iterable[str]) -> set[str]:
    """Read the numbers of the public reports that are of any of some kinds."""
    rows = _ROW.findall(report)
    return {number for number, kind in rows if not {*kind.split("/")}.isdisjoint(kinds)}


def ids_of_areas(lines: str, areas: Iterable[str]) -> set[str]:
    """Read the ids of the faults that are of any of some areas."""
    faults = [json.loads(line) for line in lines.splitlines()]
    return {each["id"] for each in faults if each["area"] in areas}


def modules(root: Path) -> Iterator[str]:
    """Read every module of tests."""
    for path in sorted(root.rglob("test_*.py")):
        yield path.read_text("utf-8")


def _tests(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    for each in tree.body:
        if isinstance(each, ast.FunctionDef) and each.name.startswith("test_"):
            yield each


def _in(comment: str) -> Iterator[str]:
    for number, name in re.findall(_CASE, comment):
        yield number or name
