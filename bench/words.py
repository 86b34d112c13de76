"""Words alone on SQuAD-shaped sets: does a question find its paragraph?

    python -m bench.words [FILE...] [--json]

Every paragraph is stored as one document, one space a file; every question is asked. Beside our
BM25 (postings from FTS5, presence, b = 0.4) the same prepared terms are ranked by FTS5's own bm25()
over a table with `detail=full`. A best hit that scores 0 is counted: there must be none.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

import apsw

from bench.report import SHARED, hit_at, machine, mrr, percentile
from ringwood.engine.base import WordQuery
from ringwood.engine.sqlite import open_engine
from ringwood.parse.tree import ParseOptions
from ringwood.text.terms import index_terms, query_terms
from ringwood.write.draft import Draft, Intake
from ringwood.write.ingest import ingest

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
LIMIT = 50
"""Nodes ranked per question."""
_FULL = r"""
CREATE VIRTUAL TABLE words USING fts5(
    terms, tokenize="ascii tokenchars '!""#$%&''()*+,-./:;<=>?@[\]^_`{|}~'"
)"""
"""The engine's tokenizer, with positions and frequencies: what FTS5's bm25() needs."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the paragraph that answers it."""

    text: str
    """As asked."""
    paragraph: int
    """Index of its paragraph."""


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    default = [
        SHARED / "retrieval" / name
        for name in (
            "cmrc2018_trial.json",
            "jsquad.dev.json",
            *(
                f"xquad_{each}.dev.json"
                for each in ("en", "zh", "de", "es", "ru", "ar", "hi", "th", "vi")
            ),
        )
    ]
    parser.add_argument("files", nargs="*", type=Path, default=default)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rows = [_run(file) for file in given.files]
    if given.json:
        sys.stdout.write(json.dumps({"machine": machine(), "sets": rows}, indent=2) + "\n")
        return
    print(machine())
    print(
        "set                 paras  quest  ours@1 ours@5    MRR  fts5@1 fts5@5  zero  p50 ms    p95"
    )
    for row in rows:
        ours, fts = row["ours"], row["fts5"]
        print(
            f"{row['set']:<19}{row['paragraphs']:>6} {row['questions']:>6}"
            f"  {ours['hit@1']:.3f}  {ours['hit@5']:.3f}  {ours['mrr']:.3f}"
            f"  {fts['hit@1']:.3f}  {fts['hit@5']:.3f}  {row['zero_best']:>4}"
            f"  {row['ms']['p50']:6.2f}  {row['ms']['p95']:6.2f}"
        )


def load(file: Path) -> tuple[list[str], list[Question]]:
    """Read a SQuAD-shaped file; equal paragraphs count once."""
    data = json.loads(file.read_text("utf-8"))
    paragraphs: dict[str, int] = {}
    questions: list[Question] = []
    for article in data["data"]:
        for paragraph in article["paragraphs"]:
            number = paragraphs.setdefault(paragraph["context"], len(paragraphs))
            questions += [Question(each["question"], number) for each in paragraph["qas"]]
    return list(paragraphs), questions


def _run(file: Path) -> dict[str, Any]:
    paragraphs, questions = load(file)
    with tempfile.TemporaryDirectory() as folder:
        ours, zero, times = _ours(Path(folder), paragraphs, questions)
    return {
        "set": file.name.removesuffix(".json"),
        "paragraphs": len(paragraphs),
        "questions": len(questions),
        "ours": _measures(ours),
        "fts5": _measures(_fts5(paragraphs, questions)),
        "zero_best": zero,
        "ms": {"p50": percentile(times, 0.5), "p95": percentile(times, 0.95)},
    }


def _measures(ranks: list[int | None]) -> dict[str, float]:
    return {
        "hit@1": round(hit_at(ranks, 1), 4),
        "hit@5": round(hit_at(ranks, 5), 4),
        "mrr": round(mrr(ranks), 4),
    }


def _ours(
    home: Path, paragraphs: list[str], questions: list[Question]
) -> tuple[list[int | None], int, list[float]]:
    """Store through the real write path and rank through the engine."""
    engine = open_engine(home, create=True)
    # One leaf a paragraph: sets are measured by paragraph, not by our own splitting.
    whole = ParseOptions(max_leaf_chars=1_000_000, section_chars=1_000_000)
    drafts = [Draft(text, "set", "import", source=str(i)) for i, text in enumerate(paragraphs)]
    documents: dict[int, int] = {}
    for start in range(0, len(drafts), 200):
        batch = drafts[start : start + 200]
        stored = ingest(engine, batch, Intake(_NOW, "ready", whole))
        documents |= {each.document or 0: start + i for i, each in enumerate(stored)}
    ranks: list[int | None] = []
    times: list[float] = []
    zero = 0
    with engine.reading() as reader:
        for question in questions:
            started = perf_counter()
            ranking = reader.rank_words(WordQuery(query_terms(question.text)), ["set"], limit=LIMIT)
            times.append((perf_counter() - started) * 1000)
            nodes = reader.nodes(ranking.order)
            order = list(dict.fromkeys(documents[nodes[each].document] for each in ranking.order))
            wanted = question.paragraph
            ranks.append(order.index(wanted) + 1 if wanted in order else None)
            zero += bool(ranking.order) and ranking.scores[ranking.order[0]].bm25 <= 0.0
    engine.close()
    return ranks, zero, times


def _fts5(paragraphs: list[str], questions: list[Question]) -> list[int | None]:
    """Rank the same terms by FTS5's own bm25()."""
    connection = apsw.Connection(":memory:")
    connection.execute(_FULL)
    with connection:
        connection.executemany(
            "INSERT INTO words (rowid, terms) VALUES (?, ?)",
            [(i, " ".join(index_terms(text))) for i, text in enumerate(paragraphs)],
        )
    ranks: list[int | None] = []
    for question in questions:
        terms = query_terms(question.text)[:64]
        query = " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)
        if not query:
            ranks.append(None)
            continue
        rows = connection.execute(
            "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT 50", (query,)
        ).fetchall()
        order = [row[0] for row in rows]
        wanted = question.paragraph
        ranks.append(order.index(wanted) + 1 if wanted in order else None)
    return ranks


if __name__ == "__main__":
    main()
