"""A folder of linked notes: nothing lost, nothing twice, and titles asked as questions.

    python -m bench.notes [DIR] [--embedder words|bundled] [--pairs 60] [--json]

Imports the folder into a fresh home, imports it again, asks every title and counts at which place
its document comes. English and Chinese are counted apart. `--pairs N` takes the first N pairs of
twins (`x.md`, `x.zh.md`) by name: what the bundled model can embed in a few minutes.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

from bench.report import SHARED, hit_at, machine, mrr, percentile
from ringwood.memory import Memory
from ringwood.recall.budget import Budget
from ringwood.types import Document
from ringwood.write.receipt import ImportReport

WIDE = Budget(max_nodes=50, max_chars=1_000_000, max_node_chars=100)
"""Wide enough to see at which place a document comes."""


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=SHARED / "notes_bilingual")
    parser.add_argument("--embedder", default="words")
    parser.add_argument("--pairs", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    files = pairs_of(given.folder, given.pairs) if given.pairs else [given.folder]
    with tempfile.TemporaryDirectory() as home:
        result = _run(Path(home), files, given.embedder)
    if given.json:
        sys.stdout.write(json.dumps(result, indent=2, ensure_ascii=False) + "\n")
    else:
        _print(result)


def pairs_of(folder: Path, number: int) -> list[Path]:
    """Return the first pairs of twins by name."""
    chinese = [each for each in sorted(folder.rglob("*.zh.md")) if _english(each).exists()]
    return [file for each in chinese[:number] for file in (_english(each), each)]


def _english(chinese: Path) -> Path:
    return chinese.with_name(chinese.name.replace(".zh.md", ".md"))


def _run(home: Path, paths: list[Path], embedder: str) -> dict[str, Any]:
    with Memory.open(home, "notes", embedder, wait_s=0.0) as memory:
        started = perf_counter()
        first = memory.import_notes(paths)
        stored = perf_counter() - started
        memory.wait(7200.0)
        embedded = perf_counter() - started
        second = memory.import_notes(paths)
        files = {str(each) for path in paths for each in _texts(path)}
        documents = memory.recent(limit=1_000_000)
        missing = files - {str(each.source) for each in documents}
        unresolved = _unresolved(memory)
        totals = memory.stats().totals
        measured = _ask(memory, documents)
    return {
        "machine": machine(),
        "embedder": embedder,
        "files": len(files),
        "documents": first.imported.changed,
        "lost": sorted(missing),
        "nodes": sum(each.nodes for each in totals.tiers.values()),
        "vectors": sum(each.vectors for each in totals.tiers.values()),
        "edges": sum(each.edges for each in totals.tiers.values()),
        "bytes": sum(each.bytes - each.wal_bytes for each in totals.tiers.values()),
        "text_bytes": sum(Path(each).stat().st_size for each in files),
        "unresolved_addresses": unresolved,
        "second_run": _second(second),
        "seconds": {"stored": round(stored, 1), "embedded": round(embedded, 1)},
        "titles": measured,
    }


def _texts(path: Path) -> list[Path]:
    if path.is_file():
        return [path.resolve()]
    return [each.resolve() for each in path.rglob("*") if each.suffix in (".md", ".txt")]


def _second(report: ImportReport) -> dict[str, int]:
    done = report.imported
    return {"changed": done.changed, "unchanged": done.unchanged, "skipped": len(done.skipped)}


def _unresolved(memory: Memory) -> int:
    """Count nodes whose address does not lead back to them."""
    lines = memory.tree(depth=64)
    return sum(memory.read(f"notes:{line.node.path}").node.id != line.node.id for line in lines)


def _ask(memory: Memory, documents: tuple[Document, ...]) -> dict[str, Any]:
    """Ask each title and find the place of its document among the documents of the hits."""
    ranks: dict[str, list[int | None]] = {"en": [], "zh": []}
    times: list[float] = []
    for document in documents:
        language = "zh" if str(document.source).endswith(".zh.md") else "en"
        started = perf_counter()
        answer = memory.recall(document.title, budget=WIDE, floor=0.0, counted=False)
        times.append((perf_counter() - started) * 1000)
        order = list(dict.fromkeys(hit.document for hit in answer.hits))
        wanted = str(document.id)
        ranks[language].append(order.index(wanted) + 1 if wanted in order else None)
    table = {
        language: {
            "n": len(each),
            "hit@1": round(hit_at(each, 1), 4),
            "hit@5": round(hit_at(each, 5), 4),
            "mrr": round(mrr(each), 4),
        }
        for language, each in ranks.items()
    }
    return {**table, "ms": {"p50": percentile(times, 0.5), "p95": percentile(times, 0.95)}}


def _print(result: dict[str, Any]) -> None:
    print(result["machine"])
    print(f"embedder {result['embedder']}, {result['files']} files, lost {len(result['lost'])}")
    print(
        f"{result['documents']} documents, {result['nodes']} nodes, {result['vectors']} vectors,"
        f" {result['edges']} edges; {result['unresolved_addresses']} addresses lead elsewhere"
    )
    print(f"{result['bytes'] / result['text_bytes']:.2f} bytes on disk per byte of text")
    print(f"second run: {result['second_run']}; seconds {result['seconds']}")
    for language in ("en", "zh"):
        row = result["titles"][language]
        print(
            f"titles {language}: n {row['n']}  hit@1 {row['hit@1']:.3f}  hit@5 {row['hit@5']:.3f}"
            f"  MRR {row['mrr']:.3f}"
        )
    times = result["titles"]["ms"]
    print(f"recall p50 {times['p50']:.1f} ms, p95 {times['p95']:.1f} ms")


if __name__ == "__main__":
    main()
