"""Words as the index holds them, and questions that must meet them."""

from __future__ import annotations

import gc
import random
import sys
import threading
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringwood.text.terms import (
    MAX_TERM,
    QUERY_END,
    absent_weight,
    dominant_script,
    index_terms,
    query_terms,
)

ANY_TEXT = st.text(st.characters(exclude_categories=()))


def test_a_text_becomes_the_terms_that_its_case_says(terms_case: tuple[str, str]) -> None:
    text, terms = terms_case
    assert index_terms(text) == tuple(terms.split())


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("don't use agents", "We don’t use an agent here."),
        ("GB/s", "The disk reads 3 GB/s."),
        ("ubuntu 20.04", "It runs on Ubuntu 20.04 LTS"),
        ("database migration", "The migration of our old database is done."),
        ("用户身份", "先确认用户身份再继续"),
        ("用户", "先确认用户身份再继续"),
        ("身份", "先确认用户身份再继续"),
        ("花名", "用户的花名是“小云”。"),
        ("小云", "用户的花名是“小云”。"),
        ("云", "用户的花名是“小云”。"),
        ("飞书插件配置", "飞书的插件如何配置"),
        ("食べ", "リンゴを食べます"),
        ("を食べ", "リンゴを食べます"),
        ("ﾘﾝｺﾞ", "リンゴを食べます"),
        ("ＡＰＩ", "the API answers"),
        ("人工智能", "人工智能技术发展迅速"),
        ("技术", "人工智能技术发展迅速"),
        ("C++", "written in C++."),
        ("node.js", "on Node.js 22"),
        ("skill audit", "run the skill-audit"),
        ("event loop", "see eventLoop in src/event_loop.py"),
        ("iphone", "my iPhone is old"),
        ("--dry-run", "call it with --dry-run first"),
        ("🚀", "we launched 🚀 today"),
        ("память", "о памяти агентов"),
        ("ยา", "กินยาก่อนนอน"),
        ("сохранить", "Он сохранит память"),
        ("memory", "m\u200bemory"),
        ("eau", "un verre d’eau"),
    ],
)
def test_a_question_meets_the_text(query: str, text: str) -> None:
    assert set(query_terms(query)) & set(index_terms(text))


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("GB/s", "GBs"),
        ("20.04", "between 20 and 04"),
        ("C#", "C++ and C"),
        ("the memory", "the the the"),
        ("👍", "👎"),
        ("🇩🇪", "🇩🇰 🇸🇪"),
    ],
)
def test_a_question_does_not_meet_what_it_does_not_mean(query: str, text: str) -> None:
    assert not set(query_terms(query)) & set(index_terms(text))


@given(ANY_TEXT)
def test_every_term_is_one_token_of_the_database(text: str) -> None:
    for term in index_terms(text):
        assert 1 <= len(term) <= MAX_TERM
        assert not any(c.isspace() or unicodedata.category(c) in ("Cc", "Cs") for c in term)
        # Cn: newer than the Unicode of this Python.
        assert any(
            unicodedata.category(c)[0] in "LNS" or unicodedata.category(c) == "Cn" for c in term
        )


@pytest.mark.parametrize("text", ["0\u0300\u0300\u0300\u0300\u0345", "ที่นี่", "กิ่ง"])
def test_vowel_signs_alone_are_no_term(text: str) -> None:
    assert all(any(map(str.isalnum, term)) for term in index_terms(text))


@given(ANY_TEXT)
def test_terms_are_distinct_and_those_of_a_question_are_among_them(text: str) -> None:
    terms = index_terms(text)
    assert len(set(terms)) == len(terms)
    assert set(query_terms(text)) <= set(terms)
    assert bool(query_terms(text)) == bool(terms)


@given(st.text("abc XYZ.-_/'1 é你か한ก"), st.text("abc XYZ.-_/'1 é你か한ก"))
def test_terms_of_two_paragraphs_are_those_of_each(one: str, other: str) -> None:
    assert set(index_terms(f"{one}\n{other}")) == {*index_terms(one), *index_terms(other)}


def test_stop_words_are_left_out_of_a_question() -> None:
    assert query_terms("What is the capital of France?") == ("capit", "franc")
    assert query_terms("如何配置插件") == ("配", "置", "插", "件", "何配", "配置", "置插", "插件")
    assert "какой" not in query_terms("какой город")


def test_a_question_of_stop_words_alone_keeps_them() -> None:
    assert query_terms("what is it") == ("what", "is", "it")
    assert query_terms("什么") == ("什", "么", "什么")


def test_words_that_mean_something_in_english_are_no_stop_words_of_another_language() -> None:
    assert query_terms("war die hat con son AI") == ("war", "die", "hat", "con", "son", "ai")


def test_a_long_question_is_read_at_both_ends() -> None:
    terms = query_terms("first " + "middle " * QUERY_END + " last")
    assert {"first", "last"} <= set(terms)
    assert "inward" not in query_terms("a " * QUERY_END + "inward" + " a" * QUERY_END)


def test_a_very_long_word_is_cut_alike_on_both_sides() -> None:
    word = "Donaudampfschiff" * 100
    assert query_terms(word) == index_terms(word.lower())
    assert max(map(len, index_terms(word))) == MAX_TERM


def test_threads_stem_alike() -> None:
    text = " ".join(f"{word}{n}ing" for n in range(200) for word in ("connect", "generat", "relat"))
    found: list[tuple[str, ...]] = []
    threads = [threading.Thread(target=lambda: found.append(index_terms(text))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [index_terms(text)] * 4


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("Ringwood keeps memory, 记忆", "Latin"),
        ("记忆是一棵树 API", "Han"),
        ("Agent Note: 精确会话查询服务", "Han"),
        ("config.js 改完以后怎么 reload", "Han"),
        ("The team calls this 记忆 in Chinese", "Latin"),
        ("日本語のテキスト", "Kana"),
        ("ﾘﾝｺﾞ", "Kana"),
        ("東京都庁舎前広場集合解散の", "Han"),
        ("한국어 문장", "Hangul"),
        ("Память агента", "Cyrillic"),
        ("ذاكرة الوكيل", "Arabic"),
        ("หน่วยความจำ", "Thai"),
        ("स्मृति", "Devanagari"),
        ("μνήμη", "Greek"),
        ("זיכרון", "Hebrew"),
        ("２０.04 — 🚀", ""),
        ("", ""),
    ],
)
def test_the_dominant_script_is_that_of_most_letters(text: str, script: str) -> None:
    assert dominant_script(text) == script


@given(ANY_TEXT)
def test_a_script_is_named_exactly_where_there_is_a_letter(text: str) -> None:
    assert bool(dominant_script(text)) == any(c.isalpha() for c in text)


def test_an_absent_bigram_says_half_of_what_an_absent_word_does() -> None:
    assert absent_weight("的会") == 0.5
    assert absent_weight("リン") == 0.5
    assert absent_weight("会") == absent_weight("gateway") == absent_weight("ab") == 1.0


HAN = "今天我们讨论了数据库的备份与恢复策略还有端口配置"


@pytest.mark.parametrize("letters", [HAN, "abcdefgh", "абвгдежз"])
def test_what_was_prepared_is_not_kept_for_ever(letters: str) -> None:
    chance, words = random.Random(1), 10_000  # more than are kept

    def blocks_after_more() -> int:
        for _ in range(words):
            index_terms("".join(chance.choices(letters, k=14)))
        gc.collect()
        return sys.getallocatedblocks()

    before = blocks_after_more()
    assert blocks_after_more() - before < words
