"""What similarity means: twins of two languages, random pairs, near-duplicates, links.

    python -m bench.meaning [STORE...] [--embedder bundled|use|cone] [--homes DIR]

The stores are those of `bench.stores`. Everything is measured on the means and backgrounds of a
store's own, and beside it as it would be without. `cone` is a made-up model on a server of this
machine: hashed words, and all vectors lean to one side. `--homes` keeps the filled stores.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from time import perf_counter

import numpy as np
from tests.embed.server import serving

from bench.report import hit_at, machine, percentile
from bench.stores import PARAGRAPHS, SPACES, Filled, fill, forget_means, paragraphs, read
from ringwood.embed import shipped
from ringwood.embed.base import Embedder, FloatRows
from ringwood.embed.bundled import BundledEmbedder
from ringwood.embed.calibration import calibrate
from ringwood.embed.meaning import Meaning
from ringwood.embed.providers import PROVIDERS
from ringwood.memory import Memory
from ringwood.recall.budget import Budget
from ringwood.text.terms import dominant_script
from ringwood.upkeep.dreaming.pairs import nearest_pairs
from ringwood.write.link import LinkOptions

WIDE = Budget(max_nodes=200, max_chars=1_000_000, max_node_chars=50)
QUESTIONS = 150
"""Questions asked of each language of the encyclopaedia."""
EDITED = 60
"""Texts of each store that are edited in three ways."""
_LINK = re.compile(r"\]\(([^)#\s]+\.md)")


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("stores", nargs="*", default=list(SPACES))
    parser.add_argument("--embedder", choices=("bundled", "use", "cone"), default="bundled")
    parser.add_argument("--homes", type=Path)
    given = parser.parse_args()
    print(f"{machine()}; embedder {given.embedder}")
    with ExitStack() as stack:
        folder = given.homes or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        embedder = stack.enter_context(_opened(given.embedder))
        for name in given.stores:
            home = folder / f"{given.embedder}-{name}"
            fill(home, name, embedder)
            store = read(home, name, Meaning.of(embedder))
            print(f"\n## {name}: {len(store.nodes)} nodes of {len(store.sources)} documents")
            _print_pairs(store)
            _print_duplicates(store)
            if name == "notes":
                _print_links(store)
            if name in ("notes", "xquad") and given.embedder != "cone":
                _print_twins(home, name, store, embedder)


@contextmanager
def _opened(name: str) -> Iterator[Embedder]:
    """Open an embedder of this benchmark."""
    if name == "cone":
        with serving(dim=256, cone=0.2) as place:
            embedder = place.embedder()
            embedder.meet()
            yield embedder
        return
    bundled = BundledEmbedder(provider=PROVIDERS[0 if name == "bundled" else 1])
    try:
        yield bundled
    finally:
        bundled.close()


def _before(store: Filled) -> dict[str, Meaning]:
    """Say how the same vectors would be compared without, in two steps, and how they are."""
    embedder = store.own.embedder
    return {
        "raw cosines": Meaning.of(embedder, calibrated=False),
        "embedder's means": Meaning.of(embedder),
        "own means": store.own,
    }


# -- pairs -----------------------------------------------------------------------------------------


def _print_pairs(store: Filled) -> None:
    """Print how many pairs of different documents pass: all of them, not a sample."""
    apart = np.triu(store.documents[:, None] != store.documents[None, :], k=1)
    same = store.scripts[:, None] == store.scripts[None, :]
    for label, meaning in _before(store).items():
        table = _similarities(store.rows, store, meaning)
        figures = []
        for which, chosen in (("one script", apart & same), ("two scripts", apart & ~same)):
            if not chosen.any():
                continue
            pairs = table[chosen]
            figures.append(
                f"{which}: {len(pairs)} pairs, {100 * (pairs >= 0.72).mean():.3f} % at .72,"
                f" {1e4 * (pairs >= 0.88).mean():.2f} of 10,000 at .88"
            )
        print(f"{label:>16}  {'; '.join(figures)}")


def _similarities(rows: FloatRows, store: Filled, meaning: Meaning) -> FloatRows:
    """Calibrate every pair of nodes."""
    centred = meaning.centre(rows, store.scripts.tolist())
    table = np.empty((len(rows), len(rows)), np.float32)
    for one in set(store.scripts.tolist()):
        for other in set(store.scripts.tolist()):
            block = np.ix_(store.scripts == one, store.scripts == other)
            cosines = (centred @ centred.T)[block]
            table[block] = calibrate(cosines, meaning.anchors_between(one, other))
    return table


# -- near-duplicates -------------------------------------------------------------------------------


def _print_duplicates(store: Filled) -> None:
    """Print how many pairs that say the same pass .88; one with another number does not."""
    left, right = zip(*shipped.sentences()[1], strict=True)
    told = [f"shipped pairs {_passing(store.own, left, right)}"]
    chance = Random(4)
    long = [text for text in store.texts if len(text) > 60]
    originals = chance.sample(long, min(EDITED, len(long)))
    for label, edit in (("typo", _typo), ("order", _order), ("another number", _number)):
        pairs = [(text, edit(text, chance)) for text in originals]
        changed = [(text, edited) for text, edited in pairs if text != edited]
        if changed:
            told.append(f"{label} {_passing(store.own, *zip(*changed, strict=True))}")
    print(f"{'at .88':>16}  {', '.join(told)}")


def _passing(meaning: Meaning, left: Sequence[str], right: Sequence[str]) -> str:
    sides = []
    for texts in (left, right):
        rows = meaning.embedder.embed_passages(texts)
        sides.append(meaning.centre(rows, [dominant_script(text) for text in texts]))
    cosines = np.einsum("ij,ij->i", *sides)
    scripts = [(dominant_script(a), dominant_script(b)) for a, b in zip(left, right, strict=True)]
    alike = [
        meaning.similarity(cosine, *pair)
        for cosine, pair in zip(cosines.tolist(), scripts, strict=True)
    ]
    return f"{np.mean(np.array(alike) >= 0.88):.2f} of {len(alike)}"


def _typo(text: str, chance: Random) -> str:
    """Swap two letters beside each other."""
    places = [at for at in range(len(text) - 1) if text[at : at + 2].isalpha()]
    at = chance.choice(places) if places else 0
    return text[:at] + text[at : at + 2][::-1] + text[at + 2 :]


def _order(text: str, chance: Random) -> str:
    """Let the last line's second half come before its first, cut where a clause ends."""
    above, line, last = text.rpartition("\n")
    cuts = [each.end() for each in re.finditer(r"[,;.，；。、]\s*", last[:-1])]
    cut = cuts[len(cuts) // 2] if cuts else 0
    return f"{above}{line}{last[cut:].rstrip()} {last[:cut].rstrip()}".rstrip()


def _number(text: str, chance: Random) -> str:
    """Change the last number."""
    return re.sub(r"\d+(?=\D*$)", lambda found: str(int(found.group()) + 7), text)


# -- links -----------------------------------------------------------------------------------------


def _print_links(store: Filled) -> None:
    """Print how similar edges at .72 agree with the links that people wrote between notes."""
    linked = _linked(store)
    language = {d: source.endswith(".zh.md") for d, source in store.sources.items()}
    for label, meaning in _before(store).items():
        joined = {tuple(sorted(pair)) for pair in _joined(store, meaning)}
        joined = {pair for pair in joined if language[pair[0]] == language[pair[1]]}
        right = len(joined & linked)
        print(
            f"{label:>16}  {len(joined)} pairs of notes with a similar edge:"
            f" precision {right / max(1, len(joined)):.2f}, recall {right / len(linked):.2f}"
            f" of {len(linked)} linked pairs"
        )


def _linked(store: Filled) -> set[tuple[int, ...]]:
    """Find the pairs of notes of one language of which one names the other."""
    documents = {Path(source): document for document, source in store.sources.items()}
    pairs = set()
    for path, document in documents.items():
        for target in _LINK.findall(path.read_text("utf-8")):
            other = documents.get((path.parent / target).resolve())
            is_twin = path.name.replace(".zh.md", ".md") == Path(target).name.replace(
                ".zh.md", ".md"
            )
            if other not in (None, document) and not is_twin:
                pairs.add(tuple(sorted((document, other))))
    return pairs


def _joined(store: Filled, meaning: Meaning) -> Iterator[tuple[int, int]]:
    """Name the documents at both ends of every similar edge, as a dream finds them."""
    for script in set(store.scripts.tolist()):
        places = np.flatnonzero(store.scripts == script)
        rows = meaning.centre(store.rows[places], [script] * len(places))
        documents = store.documents[places]
        anchors = meaning.anchors_between(script, script)
        for one, other in nearest_pairs(rows, documents, anchors, LinkOptions()):
            yield int(documents[one]), int(documents[other])


# -- twins -----------------------------------------------------------------------------------------


def _print_twins(home: Path, name: str, store: Filled, embedder: Embedder) -> None:
    """Print at which place a question's own text and its twin come, before diversity."""
    questions = _titles(store) if name == "notes" else _questions()
    for label in ("own means", "embedder's means"):
        times: list[float] = []
        with Memory.open(home, SPACES[name], embedder, wait_s=0.0) as memory:
            for language, asked in questions.items():
                ranks = [_ranks(memory, store, *each, times) for each in asked]
                own, twin = zip(*ranks, strict=True)
                print(
                    f"{label:>16}  {language}: n {len(asked)}, own text first"
                    f" {hit_at(own, 1):.3f}, in five {hit_at(own, 5):.3f};"
                    f" twin in five {hit_at(twin, 5):.3f}"
                )
        print(f"{'':>16}  recall p50 {percentile(times, 0.5):.0f} ms")
        forget_means(home, name)
    read(home, name, Meaning.of(embedder))  # which takes the means again


def _titles(store: Filled) -> dict[str, list[tuple[str, str, str]]]:
    """Ask the title of each note, as the first line of its text's embedding says it."""
    titles: dict[int, str] = {}
    for document, text in zip(store.documents.tolist(), store.texts, strict=True):
        titles.setdefault(document, text.split("\n")[0].split(" › ")[0])
    asked: dict[str, list[tuple[str, str, str]]] = {"en": [], "zh": []}
    for document, title in titles.items():
        source = store.sources[document]
        english = source.replace(".zh.md", ".md")
        chinese = english.replace(".md", ".zh.md")
        twin = english if source == chinese else chinese
        asked["zh" if source == chinese else "en"].append((title, source, twin))
    return asked


def _questions() -> dict[str, list[tuple[str, str, str]]]:
    return {
        language: [
            (each.text, f"{language}:{each.paragraph}", f"{other}:{each.paragraph}")
            for each in paragraphs(language)[1]
            if each.paragraph < PARAGRAPHS
        ][:QUESTIONS]
        for language, other in (("en", "zh"), ("zh", "en"))
    }


def _ranks(
    memory: Memory, store: Filled, question: str, own: str, twin: str, times: list[float]
) -> tuple[int | None, int | None]:
    """Return the places of two documents by the best score of their nodes, dropped ones too."""
    started = perf_counter()
    answer = memory.recall(question, budget=WIDE, floor=0.0, counted=False)
    times.append((perf_counter() - started) * 1000)
    best: dict[str, float] = {}
    scored = [(each.document, each.score) for each in answer.hits]
    scored += [(each.document, each.score) for each in answer.dropped]
    for document, score in scored:
        best[document] = max(best.get(document, 0.0), score)
    order = sorted(best, key=lambda document: -best[document])
    names = [store.sources[int(document)] for document in order]
    first, second = (names.index(each) + 1 if each in names else None for each in (own, twin))
    return first, second


if __name__ == "__main__":
    main()
