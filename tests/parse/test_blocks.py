"""Block structure: the fast parser against a slow well-known one, and exact positions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from ringwood.parse.blocks import Block, parse_blocks

ORACLE = MarkdownIt("commonmark").enable("table")

DIFFERENT = {
    "code: Footnotes are paragraphs, their markers are not words": "it knows no footnotes",
    "lists: An item without words of its own is no node": "it knows no tasks",
}
"""Fixtures in which the oracle sees other blocks, and why."""


class Case(Protocol):
    """What `conftest.py` reads from a fixture."""

    title: str
    text: str


def oracle_shape(text: str) -> list[tuple[object, ...]]:
    """List the oracle's blocks: kind and what distinguishes it."""
    tokens = ORACLE.parse(text)
    shape: list[tuple[object, ...]] = []
    for index, token in enumerate(tokens):
        match token.type:
            case "heading_open":
                words = " ".join("".join(inline_words(tokens[index + 1])).split())
                shape.append(("heading", int(token.tag[1]), words))
            case "fence" | "code_block":
                shape.append(("code", token.content.split()))
            case "list_item_open":
                shape.append(("item", bool(token.info)))
            case "blockquote_open" | "table_open" | "paragraph_open" | "html_block":
                kind = token.type.partition("_")[0]
                shape.append(("quote" if kind == "blockquote" else kind,))
    return shape


def inline_words(token: Token) -> Iterator[str]:
    for child in token.children or []:
        if child.type in ("text", "code_inline", "text_special"):
            yield child.content
        elif child.type in ("softbreak", "hardbreak"):
            yield " "
        elif child.type == "image":
            yield from inline_words(child)


def our_shape(blocks: Iterable[Block]) -> list[tuple[object, ...]]:
    shape: list[tuple[object, ...]] = []
    for block in blocks:
        match block.kind:
            case "heading":
                shape.append(("heading", block.level, block.title))
            case "code":
                shape.append(("code", (block.code or "").split()))
            case "item":
                shape.append(("item", block.number is not None))
            case _:
                shape.append((block.kind,))
        shape.extend(our_shape(block.children))
    return shape


def test_blocks_are_those_of_markdown_it(case: Case) -> None:
    ours, oracles = our_shape(parse_blocks(case.text)), oracle_shape(case.text)
    assert (ours == oracles) is (case.title not in DIFFERENT)


@pytest.mark.shared
def test_every_case_of_the_specification_has_the_blocks_of_markdown_it(shared_data: Path) -> None:
    spec = json.loads((shared_data / "specs" / "commonmark_0.31.json").read_text(encoding="utf-8"))
    texts = [case["markdown"] for case in spec]
    kinds = Counter(str(kind) for text in texts for kind, *_ in oracle_shape(text))
    assert len(texts) > 500
    assert min(kinds[kind] for kind in ("heading", "code", "item", "quote", "html")) > 40
    assert [text for text in texts if our_shape(parse_blocks(text)) != oracle_shape(text)] == []


@pytest.mark.shared
@pytest.mark.slow
def test_every_real_file_has_the_blocks_of_markdown_it(shared_data: Path) -> None:
    files = sorted(shared_data.glob("markdown/files/*.md"))
    files += sorted(shared_data.glob("notes_bilingual/**/*.md"))[::6]
    texts = {file: file.read_bytes().decode("utf-8-sig", errors="replace") for file in files}
    found = {file: our_shape(parse_blocks(text)) for file, text in texts.items()}
    assert sum(map(len, found.values())) > 10_000
    assert [file for file, text in texts.items() if found[file] != oracle_shape(text)] == []


def sources(text: str, blocks: Iterable[Block]) -> list[str]:
    return [text[slice(*block.span)] for block in blocks]


def test_positions_are_code_points_whatever_a_character_weighs() -> None:
    text = "# é 漢 👩\u200d👧\n\nß *ü*\n\n- 字 `漢`\n- b\n"
    blocks = parse_blocks(text)
    assert sources(text, blocks) == ["# é 漢 👩\u200d👧", "ß *ü*", "- 字 `漢`", "- b"]
    assert sources(text, blocks[2].children) == ["字 `漢`"]


@given(st.lists(st.sampled_from(["a", "é", "漢", "👧", "- ", "> ", "\n", "*"])).map("".join))
def test_a_text_of_wide_characters_has_the_spans_of_its_narrow_twin(text: str) -> None:
    narrow = text.translate({ord(char): "a" for char in "é漢👧"})
    assert spans(parse_blocks(text)) == spans(parse_blocks(narrow))


def spans(blocks: Iterable[Block]) -> list[object]:
    return [(block.kind, block.span, spans(block.children)) for block in blocks]


@pytest.mark.parametrize("line_end", ["\r", "\r\n"])
def test_every_line_end_ends_a_line(line_end: str) -> None:
    lines = ["# h", "", "```", "# no", "```", "", "- a", "  - b", "", "p"]
    text = line_end.join(lines)
    blocks = parse_blocks(text)
    assert our_shape(blocks) == oracle_shape("\n".join(lines))
    assert sources(text, blocks) == ["# h", line_end.join(lines[2:5]), f"- a{line_end}  - b", "p"]


def test_a_lone_surrogate_is_a_character_like_any_other() -> None:
    assert sources("a\ud800\n\n# b", parse_blocks("a\ud800\n\n# b")) == ["a\ud800", "# b"]


def test_containers_beyond_the_depth_hold_one_paragraph() -> None:
    text = "> - > # deep\n>   > words\n\nafter"
    quote, after = parse_blocks(text, max_depth=2)
    (item,) = quote.children
    (inner,) = item.children
    assert our_shape([inner]) == [("quote",), ("paragraph",)]
    assert sources(text, inner.children) == ["# deep\n>   > words"]
    assert sources(text, [after]) == ["after"]


def test_ragged_tables_are_read_as_paragraphs() -> None:
    wide = f"{'|a' * 300}|\n{'|-' * 300}|\n"
    assert our_shape(parse_blocks(wide + "|b|\n" * 10)) == [("table",)]
    assert our_shape(parse_blocks(wide + "|b|\n" * 100)) == [("paragraph",)]


def test_a_wide_table_with_all_its_cells_stays_a_table() -> None:
    row = "|a" * 300 + "|\n"
    assert our_shape(parse_blocks(row + row.replace("a", "-") + row * 200)) == [("table",)]
