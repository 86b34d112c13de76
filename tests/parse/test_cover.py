"""No word of a text is lost: own ranges and the gaps between them are the text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Protocol

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from ringwood.parse.tree import ParseOptions, parse_document

GAP = regex.compile(
    r"""(?:
        [\s\x1c-\x1f] | >
      | \[(?:[^\[\]\\]|\\.)+\]:                                  # a link definition
        [\s>]*(?:<[^<>\n]*>|[^\x00-\x20\x7f]+)
        (?:[\s>]+(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\((?:[^()\\]|\\.)*\)))?
      | \[\^[^\]\n]+\]:                                          # a footnote's marker
      | [-+*](?=[\s\x1c-\x1f]|\Z) | \d{1,9}[.)](?=[\s\x1c-\x1f]|\Z)
      | \[[ xX\t]\](?=\s|\Z) | \[!\w+\]
      | (?<![^\s>]) (?: (?:\*[ \t]*){3,} | (?:-[ \t]*){3,} | (?:_[ \t]*){3,} ) (?=[\r\n]|\Z)
    )*""",
    regex.VERBOSE,
)
"""White space, thematic breaks, link definitions, and markers of containers, tasks and alerts."""


class Case(Protocol):
    """What `conftest.py` reads from a fixture."""

    text: str


BLOCKS = """# |## |- |* |1. |2. |10) |> |>|    |  |```|~~~|````|---|...|+++|===|***"""
MARKERS = """[x]: /u|[^1]: |[ ] |[x] |[!NOTE]"""
INLINES = (
    """\\|*|**|`|_|<div>|<!--|-->|</div>|&amp;|word|a: b|title: T|&x|*x|[|]|(|{|'|"|:| #|C#|{#id}"""
)
CHINESE = """一、标题|（一）甲|第一章 |1.1 t|句子。|\u3000"""
TABLES = ["| a | b |", "|---|---|"]
ODD = ["\t", "\n", "\n\n", "\r\n", "\r", "é", "e\u0301", "\U0001f469\u200d\U0001f467", "\u200d"]
ODD += ["\u2028", "\x0c", "\x85", "\x00", "\x1f", "\ufeff", "\ud800"]
WORDS = [
    *BLOCKS.split("|"),
    *MARKERS.split("|"),
    *INLINES.split("|"),
    *CHINESE.split("|"),
    *TABLES,
    *ODD,
    "\n",
    "\n",
]
FRAGMENTS = st.sampled_from(WORDS)
PIECED = st.lists(FRAGMENTS, max_size=40).map("".join)
FRONTED = st.lists(FRAGMENTS, max_size=15).map(lambda parts: f"---\n{''.join(parts)}\n---\n# h")
TIGHT = ParseOptions(max_leaf_chars=12, section_chars=20, max_depth=2, max_path_parts=3)


def faults(text: str, options: ParseOptions) -> list[str]:
    """Say what is wrong with the tree of a text."""
    nodes = parse_document(text, options=options).nodes
    found = []
    end = 0
    for node in nodes:
        if not end <= node.own[0] <= node.own[1] <= len(text):
            found.append(f"out of order: {node}")
        elif not GAP.fullmatch(text, end, node.own[0]):
            found.append(f"lost before {node.path}: {text[end : node.own[0]]!r}")
        end = node.own[1]
        if not node.span[0] <= node.own[0] <= node.own[1] <= node.span[1]:
            found.append(f"own words outside: {node}")
        above = nodes[node.parent or 0].span
        if not above[0] <= node.span[0] <= node.span[1] <= above[1]:
            found.append(f"outside its parent: {node}")
    if not GAP.fullmatch(text, end):
        found.append(f"lost at the end: {text[end:]!r}")
    return found


def shape_faults(text: str, options: ParseOptions) -> list[str]:
    """Say where a tree breaks its own rules."""
    nodes = parse_document(text, options=options).nodes
    paths = [node.path for node in nodes]
    found = [] if len(set(paths)) == len(paths) else [f"a path twice: {paths}"]
    found += [p for p in paths if p.count("/") + 1 > options.max_path_parts]
    found += ["a root below"] * (nodes[0].parent is not None or nodes[0].path != "")
    for index, node in enumerate(nodes[1:], start=1):
        if node.parent is None or node.parent >= index:
            found.append(f"above comes later: {node}")
        if len(node.title.splitlines()) > 1:
            found.append(f"title of two lines: {node}")
    return found


@given(text=PIECED | FRONTED | st.text(), options=st.sampled_from([ParseOptions(), TIGHT]))
def test_own_words_and_gaps_are_the_text(text: str, options: ParseOptions) -> None:
    assert faults(text, options) == []


@given(text=PIECED | FRONTED | st.text(), options=st.sampled_from([ParseOptions(), TIGHT]))
def test_every_tree_keeps_its_rules(text: str, options: ParseOptions) -> None:
    assert shape_faults(text, options) == []


PLAIN = st.sampled_from(
    [part for part in WORDS if not set(part) & set("`~[") and part != "title: T"]
)
"""No fences, links and titles: they hold words that are not words of a node."""


@given(text=st.lists(PLAIN, max_size=40).map("".join))
def test_every_word_is_said_by_a_node(text: str) -> None:
    document = parse_document(text, title="t")
    said = [" ".join([*document.meta, *document.meta.values()])]
    said += [
        node.text.partition("\n")[0] if node.kind == "section" else node.text
        for node in document.nodes[1:]
    ]
    assert " ".join(said).count("word") >= text.count("word")


def test_no_word_of_a_fixture_is_lost(case: Case) -> None:
    for options in (ParseOptions(), TIGHT):
        assert faults(case.text, options) == []
        assert shape_faults(case.text, options) == []


def test_a_lost_word_is_noticed() -> None:
    assert not GAP.fullmatch("\n> word\n")
    assert GAP.fullmatch("\n> 1. [ ] \n\n***\n\n[a]: <b c> 'd'\n- ")


@pytest.mark.shared
@pytest.mark.slow
def test_no_word_of_a_real_text_is_lost(shared_data: Path) -> None:
    files = [
        *shared_data.glob("markdown/**/*.md"),
        *shared_data.glob("notes_bilingual/**/*.md"),
        *shared_data.glob("specs/**/*.md"),
    ]
    texts = {file.name: decoded(file) for file in files}
    for name in ("commonmark_0.31.json", "gfm_test_suite.json"):
        cases = json.loads((shared_data / "specs" / name).read_text(encoding="utf-8"))
        cases = cases if isinstance(cases, list) else cases["testCases"]
        texts |= {f"{name} {i}": case["markdown"] for i, case in enumerate(cases)}
    found = {name: faults(text, ParseOptions()) for name, text in texts.items()}
    assert len(texts) > 2_000
    assert {name: what for name, what in found.items() if what} == {}


def decoded(file: Path) -> str:
    encoding = "utf-16" if file.name.startswith("utf16") else "utf-8-sig"
    return file.read_bytes().decode(encoding, errors="replace")
