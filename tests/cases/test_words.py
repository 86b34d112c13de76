"""Words as people type them: no query is syntax, and Chinese and Japanese are found by any part.

Numbers are those of the public reports that each case comes from (kinds FTS and CJK); ids such as
`qry-01` are those of our list of faults and attacks.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ringwood.memory import Memory


def found(memory: Memory, query: str, *, floor: float | None = None) -> list[str]:
    """Return the texts of the hits, best first."""
    return [hit.text for hit in memory.recall(query, floor=floor).hits]


def keep(memory: Memory, *texts: str) -> None:
    """Store each text as a note of its own: a paragraph under a neutral heading."""
    for number, text in enumerate(texts):
        memory.store(f"# Note\n\n{text}", source=f"note {number}")


@pytest.mark.parametrize(
    ("query", "text", "other"),
    [
        pytest.param(
            "don't use agents",
            "Don't use agents for the release.",
            "The release is cut by hand on Tuesdays.",
            id="19 an apostrophe",
        ),
        pytest.param(
            "GB/s", "The bus moves 40 GB/s.", "The label says 40 GBs and no more.", id="21 a slash"
        ),
        pytest.param(
            "20.04", "Pinned to ubuntu 20.04 for now.", "Build 20 came on May 04.", id="23 a number"
        ),
        pytest.param(
            "database migration",
            "The migration took an hour because the old database was slow.",
            "Lunch is at noon.",
            id="25 words that stand apart",
        ),
    ],
)
def test_a_query_finds_what_it_says_and_not_what_resembles_it(
    words: Memory, query: str, text: str, other: str
) -> None:
    keep(words, other, text)

    assert found(words, query) == [text]
    assert found(words, other) == [other]  # the control: it is there to be found


def test_a_version_outranks_its_digits_apart(words: Memory) -> None:  # 23
    right = "The image is ubuntu 20.04."
    keep(words, "On May 04 ubuntu had 20 open bugs.", right, "The image is ubuntu 22.04.")

    assert found(words, "ubuntu 20.04")[0] == right


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        pytest.param("系统会先检查用户身份再放行", ["用户身份", "用户", "身份"], id="27"),
        pytest.param('用户的花名是"小云"。', ["花名", "小云", "云"], id="29"),
        pytest.param("飞书的插件如何配置", ["飞书插件配置", "插件", "配置飞书"], id="31"),
        pytest.param("リンゴを食べます", ["食べ", "を食べ", "リンゴ", "ﾘﾝｺﾞ"], id="33 kana"),
        pytest.param("新しいAPIを公開した", ["ＡＰＩ", "api", "公開"], id="33 full width"),
        pytest.param("人工智能技术发展迅速", ["人工智能", "技术"], id="35"),
    ],
)
def test_any_part_of_a_text_without_spaces_finds_it(
    words: Memory, text: str, queries: list[str]
) -> None:
    other = "天气很好，我们去爬山"
    keep(words, other, text)

    assert {query: found(words, query) for query in queries} == {query: [text] for query in queries}
    assert found(words, "爬山") == [other]


RAW = {
    "C++": "The parser is written in C++ by hand.",
    "what's up": "A what's up meeting every Monday.",
    'foo"bar': 'The key is foo"bar in the old file.',
    "a AND": "Gate AND opens with both inputs.",
    "NOT x": "x is not the answer here.",
    "-w1": "Run the linker with -w1 first.",
    "title:x": "Search supports title:x as a filter.",
    "NEAR(a b,5)": "The operator NEAR(a b,5) is from another engine.",
    "; drop table f": "Somebody typed ; drop table f into the form.",
    "NUL\x00NUL": "The device NUL swallows everything.",
    "col : {a b}": "A col : {a b} expression.",
    "^start": "Anchors like ^start mean nothing here.",
    '"unclosed': "He said unclosed and left.",
    "word*": "A word* pattern.",
    "a\\b": "Path a\\b on the share.",
}


def test_a_query_is_never_syntax(words: Memory) -> None:  # qry-01
    keep(words, *RAW.values())

    assert [query for query, text in RAW.items() if text not in found(words, query)] == []


def test_a_query_without_a_word_finds_nothing_and_says_so_calmly(words: Memory) -> None:  # qry-01
    keep(words, *RAW.values())

    for query in ("(", "*", '"', "''", "--", ";", "^", "\x00", "", " \n\t", "()*^"):
        assert found(words, query, floor=0.0) == [], query
        assert found(words, f"{query} linker") == [RAW["-w1"]], query


def test_an_operator_is_a_word_like_any_other(words: Memory) -> None:  # qry-01
    keep(words, "Apples are red.", "Pears are green.")

    assert set(found(words, "apples NOT pears", floor=0.0)) == {
        "Apples are red.",
        "Pears are green.",
    }


INTRUDING = (
    "project:other OR {body}:secret",
    "space:other secret",
    "other:/note secret",
    '" OR space = "other" secret --',
    "secret' OR 1=1 --",
)


def test_no_query_reaches_another_space(tmp_path: Path) -> None:  # qry-02
    with (
        Memory.open(tmp_path / "home", space="other", embedder="words") as other,
        Memory.open(tmp_path / "home", space="mine", embedder="words") as mine,
    ):
        keep(other, "The secret of the other project.")
        keep(mine, "A secret of our own.")

        for query in INTRUDING:
            [own] = found(mine, query, floor=0.0)
            [theirs] = found(other, query, floor=0.0)
            assert own.endswith("A secret of our own."), query
            assert theirs.endswith("The secret of the other project."), query
