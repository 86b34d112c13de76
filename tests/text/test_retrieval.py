"""Questions find their paragraphs by words alone, in eleven languages.

Presence-only BM25 over real data that is kept beside the project. The engine has a BM25 of its own;
this one is here to judge the terms.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from ringwood.text.terms import index_terms, query_terms

K1, B = 1.2, 0.4
ENGLISH = "xquad_en.dev"
LEAST = {
    "cmrc2018_trial": 0.99,
    "jsquad.dev": 0.96,
    ENGLISH: 0.98,
    "xquad_zh.dev": 0.98,
    "xquad_de.dev": 0.965,
    "xquad_es.dev": 0.97,
    "xquad_vi.dev": 0.975,
    "xquad_ru.dev": 0.96,
    "xquad_ar.dev": 0.96,
    "xquad_hi.dev": 0.965,
    "xquad_th.dev": 0.98,
}


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.parametrize("name", LEAST)
def test_a_question_finds_its_paragraph_among_the_first_five(shared_data: Path, name: str) -> None:
    contexts, questions = _load(shared_data / "retrieval" / f"{name}.json")
    assert _hits(contexts, questions, first=5) / len(questions) >= LEAST[name]


def _load(file: Path) -> tuple[list[str], list[tuple[str, int]]]:
    """Read contexts, each once, and questions with the number of theirs."""
    numbers: dict[str, int] = {}
    questions: list[tuple[str, int]] = []
    for article in json.loads(file.read_text(encoding="utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            number = numbers.setdefault(paragraph["context"], len(numbers))
            questions += [(entry["question"], number) for entry in paragraph["qas"]]
    return list(numbers), questions


def _hits(contexts: list[str], questions: list[tuple[str, int]], *, first: int) -> int:
    postings: dict[str, list[int]] = defaultdict(list)
    lengths = np.zeros(len(contexts))
    for number, context in enumerate(contexts):
        terms = index_terms(context)
        lengths[number] = len(terms)
        for term in terms:
            postings[term].append(number)
    weight = (1 + K1) / (1 + K1 * (1 - B + B * lengths / lengths.mean()))
    hits = 0
    for question, number in questions:
        scores = np.zeros(len(contexts))
        for found in (postings[term] for term in query_terms(question) if term in postings):
            idf = np.log(1 + (len(contexts) - len(found) + 0.5) / (len(found) + 0.5))
            scores[found] += idf * weight[found]
        hits += bool(scores[number] > 0 and (scores > scores[number]).sum() < first)
    return hits
