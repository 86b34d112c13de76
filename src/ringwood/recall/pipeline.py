"""The whole read path on one page: query -> hits with their ledger.

    terms and vector -> candidates of every tier -> fuse -> tier weight -> spread -> priors -> floor
    -> diversity -> budget -> hits

Stages are functions on values; this file alone speaks with the engine and the embedder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from time import perf_counter

import numpy as np

from ringwood.embed.base import FloatVector
from ringwood.embed.meaning import Meaning
from ringwood.engine.base import Cosine, Engine, NodeReader, Reader, VectorQuery
from ringwood.errors import EmbedderError
from ringwood.names import GLOBAL
from ringwood.recall import frame
from ringwood.recall.budget import Budget, spend
from ringwood.recall.candidates import CandidateOptions, Gathered, gather
from ringwood.recall.diversity import DiversityOptions, diversify
from ringwood.recall.floor import FloorOptions, apply_floor
from ringwood.recall.fusion import Weights
from ringwood.recall.hits import surround, to_dropped, to_hit
from ringwood.recall.ledger import Candidate, best_first, standing
from ringwood.recall.past import CUT_NOTE, Past
from ringwood.recall.past import NOTE as PAST_NOTE
from ringwood.recall.priors import PriorOptions
from ringwood.recall.scoring import Scale, ScoreOptions, score
from ringwood.recall.session import Known, leave_out_known
from ringwood.recall.spread import SpreadOptions
from ringwood.text.terms import dominant_script, query_terms
from ringwood.types import Hit, Recall, Signals


@dataclass(frozen=True, slots=True)
class RecallOptions:
    """The options of every stage."""

    candidates: CandidateOptions = field(default_factory=CandidateOptions)
    """How widely to look."""
    fusion: Weights = field(default_factory=Weights)
    """How much each signal counts."""
    spread: SpreadOptions = field(default_factory=SpreadOptions)
    """How far activation reaches."""
    priors: PriorOptions = field(default_factory=PriorOptions)
    """How much each prior can add."""
    floor: FloorOptions = field(default_factory=FloorOptions)
    """How much evidence is enough."""
    diversity: DiversityOptions = field(default_factory=DiversityOptions)
    """When two candidates say the same."""
    budget: Budget = field(default_factory=Budget)
    """Upper bounds of one recall."""


@dataclass(frozen=True, slots=True)
class Request:
    """One question."""

    query: str
    """As asked, already repaired."""
    space: str
    """Searched together with `global`."""
    recall_id: str
    """Under which it is logged."""
    nonce: str
    """Of the frame that the hits must fit."""
    now: datetime
    """When it is asked. UTC."""
    floor: float
    """Evidence that a hit needs, 0..1."""
    as_of: datetime | None = None
    """Only what was written until then. UTC."""
    query_timeout_s: float | None = None
    """How long to wait for the query's vector."""
    known: Known | None = None
    """What the conversation that it is asked for holds already; None: it is asked by itself."""


def recall(
    engine: Engine, meaning: Meaning | None, request: Request, options: RecallOptions
) -> Recall:
    """Find, score, explain and bound what answers a query.

    Never raises for a missing or late embedder: recall by words goes on and `notes` says so.
    """
    lap = _Stopwatch()
    notes: list[str] = []
    script = dominant_script(request.query)
    row = _query_row(meaning, request, notes)
    lap("embed")
    with engine.reading() as reader:
        notes += [
            f"The {tier} tier cannot be opened: what it holds was not searched."
            for tier in reader.missing_tiers
        ]
        spaces = tuple(dict.fromkeys((request.space, GLOBAL)))
        terms = query_terms(request.query)
        meanings = _meanings(reader, meaning, spaces)
        queries = _query_vectors(meanings, row, script)
        gathered = gather(reader, terms, queries, spaces, options.candidates)
        if not gathered.complete:
            notes.append("The commonest words of the query were left unread.")
        notes += _standing_of(reader, spaces, by_meaning=bool(queries))
        lap("candidates")
        then: NodeReader = reader
        found = gathered
        if request.as_of is not None:
            then = past = Past(reader, request.as_of)
            gathered, is_all = past.gathered(found, spaces, options.candidates.top_k)
            notes += [PAST_NOTE] if is_all else [PAST_NOTE, CUT_NOTE]
        candidates = score(
            then,
            gathered,
            _scales(meanings, script),
            request.as_of or request.now,
            ScoreOptions(
                options.fusion,
                options.spread,
                options.priors,
                options.floor,
                script,
            ),
        )
        lap("score")
        candidates += _not_yet(reader, then, found, request.as_of)
        candidates = leave_out_known(reader, candidates, request.known)
        candidates = best_first(apply_floor(candidates, request.floor))
        candidates = diversify(
            candidates, _similarity(reader, meanings, candidates), options.diversity
        )
        lap("select")
        candidates, hits = _within_budget(then, candidates, request, options.budget)
        lap("hits")
    return Recall(
        recall_id=request.recall_id,
        query=request.query,
        space=request.space,
        hits=hits,
        dropped=tuple(to_dropped(each) for each in candidates if each.stage is not None),
        notes=tuple(notes),
        timings_ms=lap.times_ms,
    )


def _standing_of(reader: Reader, spaces: Sequence[str], *, by_meaning: bool) -> list[str]:
    """Say why an answer may be less than it could be: an empty space, vectors to come."""
    if not reader.recent_documents(spaces, limit=1):
        return [f"Space {spaces[0]} holds nothing yet; `ringwood spaces` lists those that do."]
    if by_meaning and reader.pending(1):
        return ["Some texts have no vectors yet: they are found by words only."]
    return []


def _query_row(meaning: Meaning | None, request: Request, notes: list[str]) -> FloatVector | None:
    """Embed the query; None, with a note, when no vector is to be had in time."""
    if meaning is None or not request.query.strip():
        return None
    try:
        return meaning.embedder.embed_query(request.query, timeout_s=request.query_timeout_s)
    except EmbedderError as error:
        notes.append(f"Recall by words only: {error.message}")
        return None


def _meanings(reader: Reader, meaning: Meaning | None, spaces: Sequence[str]) -> dict[str, Meaning]:
    """Say for every space how its vectors are compared: each has means of its own."""
    if meaning is None:
        return {}
    own = {space: reader.means(meaning.identity, space) for space in spaces}
    return {
        space: meaning.on(
            {script: each.mean for script, each in means.items()},
            {script: each.background for script, each in means.items()},
        )
        for space, means in own.items()
    }


def _query_vectors(
    meanings: Mapping[str, Meaning], row: FloatVector | None, script: str
) -> dict[str, VectorQuery]:
    """Centre the query in every space."""
    if row is None:
        return {}
    return {
        space: VectorQuery(
            embedder=meaning.identity,
            raw=row,
            centred=meaning.centre(row[None, :], [script])[0],
            means=meaning.means.by_script,
            means_version=meaning.means.version,
        )
        for space, meaning in meanings.items()
    }


def _scales(meanings: Mapping[str, Meaning], script: str) -> dict[str, Scale]:
    """Say for every space how cosines between its nodes and a question of a script are read."""

    def reader_of(meaning: Meaning) -> Callable[[Cosine, str], float]:
        return lambda cosine, other: meaning.similarity(cosine.centred, script, other)

    return {
        space: Scale(reader_of(meaning), meaning.settled) for space, meaning in meanings.items()
    }


def _not_yet(
    reader: Reader, then: NodeReader, gathered: Gathered, as_of: datetime | None
) -> list[Candidate]:
    """Return, as dropped, what was found and was not there as of then."""
    if as_of is None:
        return []
    found = reader.nodes({*gathered.words, *gathered.vectors})
    there = then.nodes(found)
    documents = reader.documents({node.document for node in found.values()})
    return [
        Candidate(node, documents[node.document], Signals()).drop(
            "as_of", f"not there yet on {as_of:%Y-%m-%d}: it was written later"
        )
        for identity, node in found.items()
        if identity not in there and node.document in documents
    ]


def _similarity(
    reader: Reader, meanings: Mapping[str, Meaning], candidates: Iterable[Candidate]
) -> Callable[[int, int], float | None]:
    """Return the calibrated similarity of two candidates, None where a vector is missing."""
    centred: dict[int, FloatVector] = {}
    for space, meaning in meanings.items():
        here = [each.node.id for each in standing(candidates) if each.document.space == space]
        vectors = reader.vectors(meaning.identity, here)
        if vectors:
            rows = np.stack([each.row for each in vectors.values()])
            scripts = [each.script for each in vectors.values()]
            centred |= dict(zip(vectors, meaning.centre(rows, scripts), strict=True))
    for meaning in meanings.values():
        return meaning.among(centred)
    return lambda one, other: None


def _within_budget(
    reader: NodeReader, candidates: list[Candidate], request: Request, budget: Budget
) -> tuple[list[Candidate], tuple[Hit, ...]]:
    """Spend the budget on what each hit really costs in the frame."""
    hits: dict[int, Hit] = {}

    def cost(candidate: Candidate, number: int) -> int:
        hit = to_hit(candidate, surround(reader, candidate), budget.max_node_chars)
        hits[candidate.node.id] = hit
        return frame.entry_length(hit, number)

    spent = spend(candidates, frame.overhead(request.nonce), cost, budget)
    return spent, tuple(hits[each.node.id] for each in standing(spent))


class _Stopwatch:
    """Milliseconds per stage."""

    def __init__(self) -> None:
        self.times_ms: dict[str, float] = {}
        self._start = self._last = perf_counter()

    def __call__(self, stage: str) -> None:
        now = perf_counter()
        self.times_ms[stage] = round((now - self._last) * 1000.0, 3)
        self.times_ms["total"] = round((now - self._start) * 1000.0, 3)
        self._last = now
