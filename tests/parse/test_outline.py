"""Numbered sections: a run of short lines with text below them, and nothing less."""

from __future__ import annotations

from pathlib import Path

import pytest

from ringwood.parse.blocks import parse_blocks
from ringwood.parse.outline import number_sections


def headings(text: str) -> list[str]:
    blocks = number_sections(text, parse_blocks(text))
    return [block.title for block in blocks if block.kind == "heading"]


def body(*lines: str) -> str:
    return "".join(f"{line}\n\nSome text.\n\n" for line in lines)


@pytest.mark.parametrize(
    "lines",
    [
        ["1. Intro", "2. Method"],
        ["0. Before", "1. Intro"],
        ["1.1 Data", "1.2 Tools", "2.1 Light"],
        ["1.1. Data", "1.2. Tools"],
        ["1.1.1 Mice", "1.1.2 Rats"],
        ["一、背景", "二、处理", "三、结论"],
        ["（一）甲", "（二）乙"],
        ["(一)甲", "(二)乙"],
        ["第一章", "第二章"],
        ["第1节 甲", "第2节 乙"],
        ["第一章 甲", "第二章 乙", "第三章 丙"],
        ["1. Why?", "2. How?"],
        ["1. " + "x" * 60, "2. " + "字" * 30],
    ],
)
def test_a_run_with_text_below_is_sections(lines: list[str]) -> None:
    assert headings(body(*lines)) == lines


@pytest.mark.parametrize(
    "text",
    [
        body("1. Alone"),
        body("2. Late", "3. Later"),
        body("1. One", "3. Three"),
        body("1. One", "1. One"),
        body("1. It ends as a sentence.", "2. So does this."),
        body("1. " + "x" * 61, "2. " + "x" * 61),
        body("1. " + "字" * 31, "2. " + "字" * 31),
        body("1. 2", "2. 3"),
        body("1) One", "2) Two"),
        body("> 1. One", "> 2. Two"),
        body("- 1.1 One", "- 1.2 Two"),
        body("3.11 is required", "3.12 is better"),
        "1. One\n2. Two\n3. Three\n\nSome text.\n",
        "1. One\n\n   Its own text.\n\n2. Two\n\n   Its own text.\n",
        "1. One\n   goes on\n2. Two\n   goes on\n",
        "1. One\n   - a\n2. Two\n   - b\n\nSome text.\n",
        "1. One\n2. A longer one, which is a sentence.\n\nSome text.\n\n3. Three\n\nSome text.\n",
        "一、买菜\n二、做饭\n三、洗碗\n\n然后休息。\n",
        "一、买菜\n\n二、做饭\n\n三、洗碗\n\n然后休息。\n",
        "```\n1.1 One\ntext\n1.2 Two\ntext\n```\n",
        "# Title\n\n" + body("1. One", "2. Two") + "## Part\n\nSome text.\n",
    ],
)
def test_anything_less_is_no_section(text: str) -> None:
    numbered = [title for title in headings(text) if title not in ("Title", "Part")]
    assert numbered == []


def test_a_chinese_numeral_counts_beyond_ten() -> None:
    numerals = ["一", "二", "三", "四", "五", "六", "七", "八", "九", "十", "十一", "十二"]
    lines = [f"{numeral}、甲" for numeral in numerals]
    assert headings(body(*lines)) == lines
    assert headings(body(*lines[:10], "十二、甲")) == lines[:10]


def test_a_chinese_run_may_hold_a_section_without_text() -> None:
    assert headings("一、甲\n正文\n二、乙\n三、丙\n正文\n") == ["一、甲", "二、乙", "三、丙"]


def test_a_number_that_starts_anew_below_each_heading_is_one_run() -> None:
    text = "一、甲\n（一）乙\n正文\n二、丙\n（一）丁\n正文\n"
    assert headings(text) == ["一、甲", "（一）乙", "二、丙", "（一）丁"]
    assert headings("（一）乙\n正文\n（一）丁\n正文\n") == []


def test_most_of_a_run_has_text_below_it() -> None:
    assert headings(body("1. One", "2. Two") + "3. Three\n") == ["1. One", "2. Two", "3. Three"]
    assert headings("1. One\n2. Two\n" + body("3. Three", "4. Four")) == []


def test_levels_follow_kind_and_depth() -> None:
    text = "第一章 甲\n一、乙\n正文\n二、丙\n1.1 丁\n正文\n1.2 戊\n正文\n第二章 己\n正文\n"
    blocks = number_sections(text, parse_blocks(text))
    found = {block.title: block.level for block in blocks if block.kind == "heading"}
    assert sorted(found, key=lambda title: (found[title], title)) == [
        "第一章 甲",
        "第二章 己",
        "一、乙",
        "二、丙",
        "1.1 丁",
        "1.2 戊",
    ]
    assert min(found.values()) > 6


def test_blocks_are_cut_where_the_headings_stand() -> None:
    text = "前言\n一、甲\n正文一\n二、乙\n正文二"
    blocks = number_sections(text, parse_blocks(text))
    assert [text[slice(*block.span)] for block in blocks] == text.split("\n")


@pytest.mark.shared
@pytest.mark.slow
def test_no_list_of_a_real_note_becomes_sections(shared_data: Path) -> None:
    items = 0
    found = {}
    for file in shared_data.glob("notes_bilingual/**/*.md"):
        text = file.read_text(encoding="utf-8")
        blocks = parse_blocks(text)
        items += sum(block.number is not None for block in blocks)
        numbered = [b for b in number_sections(text, blocks) if b.level > 6]
        found.update({file.name: numbered} if numbered else {})
    assert items > 300
    assert found == {}
