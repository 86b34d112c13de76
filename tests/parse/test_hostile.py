"""Texts made to hurt: no exception, no recursion, time that grows with length."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.scaling import grows_at_most

from ringwood.parse.tree import parse_document

HOSTILE: dict[str, Callable[[int], str]] = {
    "images": lambda n: "![" * (n // 2),
    "brackets": lambda n: "[" * n,
    "closed emphasis": lambda n: "*]" * (n // 2),
    "open emphasis": lambda n: "_*" * (n // 2),
    "backticks": lambda n: " ".join("`" * (i % 300 + 1) for i in range(n // 150)),
    "nested quotes": lambda n: "> " * (n // 2),
    "deep quotes": lambda n: ("> " * 50 + "a\n") * (n // 102),
    "nested items": lambda n: "- " * (n // 2),
    "deep items": lambda n: "".join(f"{'  ' * (i % 200)}- a\n" for i in range(n // 204)),
    "nested both": lambda n: "> - " * (n // 4),
    "one ragged table": lambda n: f"{'|a' * 200}\n{'|-' * 200}\n" + "a\n" * (n // 2),
    "ragged tables": lambda n: ("|a" * 100 + "\n" + "|-" * 100 + "\na" * 200 + "\n\n") * (n // 803),
    "a wide table": lambda n: f"{'|a' * (n // 6)}\n{'|-' * (n // 6)}\n" + "a\n" * (n // 6),
    "angle brackets": lambda n: "<" * n,
    "comments": lambda n: "<!--" * (n // 4),
    "instructions": lambda n: "<?" * (n // 2),
    "ampersands": lambda n: "&" * n,
    "escapes": lambda n: "\\" * n,
    "underlines": lambda n: "a\n=\n" * (n // 4),
    "a late underline": lambda n: "a\n" * (n // 2) + "===",
    "hashes": lambda n: "#\n" * (n // 2),
    "closing hashes": lambda n: "# a" + " #" * (n // 2) + "b",
    "one number": lambda n: "1. a\n" * (n // 5),
    "numbered sections": lambda n: "".join(f"{i}. t\n\nb\n\n" for i in range(n // 12)),
    "chinese sections": lambda n: "一、标题\n正文\n二、标题\n正文\n" * (n // 16),
    "chinese numbers": lambda n: "一、标题\n" * (n // 5),
    "equal leaves": lambda n: "same\n\n" * (n // 6),
    "one line": lambda n: "x" * n,
    "one han line": lambda n: "字" * n,
    "white space": lambda n: "a" + " " * n + "b",
    "accents": lambda n: "a" + "\u0301" * n,
    "joined emoji": lambda n: "\U0001f469\u200d" * (n // 2),
    "quotation marks": lambda n: "“" * n,
    "surrogates": lambda n: "\ud800" * n,
    "fences": lambda n: "".join("`" * (2 ** (i % 10) + 2) + "\n" for i in range(n // 105)),
    "an open fence": lambda n: "```\n" + "a\n" * (n // 2),
    "link definitions": lambda n: "".join(f"[{i}]: /u\n" for i in range(n // 11)),
    "footnotes": lambda n: "".join(f"[^{i}]: x\n" for i in range(n // 10)),
    "yaml lists": lambda n: f"---\na: {'[' * 3000}\n---\n" + "x\n" * (n // 2),
    "yaml aliases": lambda n: "---\na: &a [x]\nb: [*a, *a]\n---\n" + "x\n" * (n // 2),
    "yaml keys": lambda n: "---\n" + "".join(f"k{i}: v\n" for i in range(n // 12)) + "---\n",
    "toml keys": lambda n: "+++\n" + "".join(f"a.k{i} = 1\n" for i in range(n // 12)) + "+++\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_gives_a_tree(name: str) -> None:
    text = HOSTILE[name](20_000)
    nodes = parse_document(text).nodes
    assert nodes[0].span == (0, len(text))
    assert max(len(node.text) for node in nodes) <= 1200


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_four_times_the_text_costs_at_most_five_times_as_much(name: str) -> None:
    def run(length: int) -> None:
        parse_document(HOSTILE[name](length))

    assert grows_at_most(run, 256_000, 1_000_000, times=5)
