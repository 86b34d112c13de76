"""Give every candidate its terms: measure the direct hits, spread one hop, add the priors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from math import fsum

from ringwood.engine.base import Cosine, NodeReader, WordScore
from ringwood.recall.candidates import Gathered
from ringwood.recall.floor import FloorOptions, evidence
from ringwood.recall.fusion import (
    Weights,
    base_terms,
    in_place_of_words,
    reciprocal_ranks,
    relative,
)
from ringwood.recall.ledger import Candidate
from ringwood.recall.priors import PriorOptions, prior_terms, recency, use
from ringwood.recall.spread import Activation, SpreadOptions, spread
from ringwood.types import Document, Node, Signals, Term, Tier


@dataclass(frozen=True, slots=True)
class ScoreOptions:
    """The options of the parts of a score."""

    fusion: Weights
    """Of the base."""
    spread: SpreadOptions
    """Of the hop."""
    priors: PriorOptions
    """Of what is known before the query."""
    floor: FloorOptions
    """Of the evidence."""
    script: str
    """Of the question."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How cosines of one space are read."""

    similarity: Callable[[Cosine, str], float]
    """Calibrates the cosine of a node of a script to 0..1."""
    settled: bool = False
    """Whether the space has means of its own."""


def score(
    reader: NodeReader,
    gathered: Gathered,
    scales: Mapping[str, Scale],
    moment: datetime,
    options: ScoreOptions,
) -> list[Candidate]:
    """Score the gathered nodes, their parents and their similar neighbours.

    A node without words of its own, such as the root of an exchange, has nothing to hand over.

    Args:
        reader: the snapshot that the nodes came from.
        gathered: both rankings.
        scales: how cosines are read, by space; empty for words alone.
        moment: when ages are counted.
        options: weights.
    """
    nodes = reader.nodes(dict.fromkeys((*gathered.words, *gathered.vectors)))
    documents = reader.documents({node.document for node in nodes.values()})
    direct = _measure(gathered, nodes, documents, scales, options)
    reached = spread(
        {identity: signals.base for identity, signals in direct.items()},
        {identity: nodes[identity].parent for identity in direct},
        reader.edges(direct),
        options.spread,
    )
    nodes |= reader.nodes([identity for identity in reached if identity not in nodes])
    documents |= reader.documents(
        {node.document for node in nodes.values() if node.document not in documents}
    )
    return [
        _candidate(nodes[identity], documents, activation, direct, moment, options)
        for identity, activation in reached.items()
        if identity in nodes and nodes[identity].document in documents and nodes[identity].text
    ]


def _measure(
    gathered: Gathered,
    nodes: Mapping[int, Node],
    documents: Mapping[int, Document],
    scales: Mapping[str, Scale],
    options: ScoreOptions,
) -> dict[int, Signals]:
    """Collect the signals of the direct hits."""
    ranks = reciprocal_ranks([gathered.words, gathered.vectors])
    by_meaning = reciprocal_ranks([gathered.vectors])
    lexical = relative({node: score.bm25 for node, score in gathered.word_scores.items()})
    nothing = WordScore(0.0, 0.0)
    measured: dict[int, Signals] = {}
    for identity, node in nodes.items():
        if node.document not in documents:
            continue
        cosine = gathered.cosines.get(identity)
        scale = scales.get(documents[node.document].space, Scale(lambda cosine, _: cosine.raw))
        signals = Signals(
            cosine=None if cosine is None else scale.similarity(cosine, node.script),
            cosine_raw=None if cosine is None else cosine.raw,
            lexical=lexical.get(identity, 0.0),
            rrf=ranks.get(identity, 0.0),
            share=gathered.word_scores.get(identity, nothing).share,
        )
        across = bool(node.script and options.script) and node.script != options.script
        if across:
            lent = in_place_of_words(signals, by_meaning.get(identity, 0.0), options.fusion)
            signals = replace(signals, across=lent)
        tier = documents[node.document].tier
        zero = options.floor.zero(settled=scale.settled, across=across)
        measured[identity] = replace(
            signals,
            base=fsum(term.value for term in _base(signals, tier, options.fusion)),
            tier_weight=options.fusion.tier(tier),
            evidence=evidence(signals.share, signals.cosine, zero),
        )
    return measured


def _base(signals: Signals, tier: Tier, weights: Weights) -> tuple[Term, ...]:
    return base_terms(signals, tier=tier, weights=weights)


def _candidate(
    node: Node,
    documents: Mapping[int, Document],
    activation: Activation,
    direct: Mapping[int, Signals],
    moment: datetime,
    options: ScoreOptions,
) -> Candidate:
    """Turn a reached node into a candidate: what it propagates, and its priors."""
    document = documents[node.document]
    signals = replace(
        direct.get(node.id) or Signals(tier_weight=options.fusion.tier(document.tier)),
        importance=document.importance,
        recency=recency(document.changed_at, moment, options.priors),
        access=use(node.access),
    )
    if activation.via is None:
        addends = _base(signals, document.tier, options.fusion)
    else:
        source = direct[activation.via]
        signals = replace(
            signals,
            base=source.base,
            hop=activation.hop,
            via=activation.via,
            similarity=activation.similarity,
            evidence=max(signals.evidence, source.evidence),
        )
        addends = (Term(activation.hop, activation.propagated),)
    priors = prior_terms(signals.importance, signals.recency, signals.access, options.priors)
    return Candidate(node, document, signals, (*addends, *priors))
