"""A recall as the JSON of the contract: what `--json` prints, tools return and the log keeps."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ringwood.text.stamps import write_stamp
from ringwood.types import Dropped, Hit, NodeRef, Recall, Term


def to_json(recall: Recall, *, why: bool) -> dict[str, Any]:
    """Describe a recall; `why` adds the terms of what was dropped."""
    return {
        "recall_id": recall.recall_id,
        "query": recall.query,
        "space": recall.space,
        "hits": [_hit(hit) for hit in recall.hits],
        "dropped": [_dropped(each, why=why) for each in recall.dropped],
        "notes": list(recall.notes),
        "timings_ms": recall.timings_ms,
    }


def stamp(moment: datetime) -> str:
    """Write a time as RFC 3339 in UTC with milliseconds and `Z`."""
    return write_stamp(moment, "milliseconds")


def _hit(hit: Hit) -> dict[str, Any]:
    signals = hit.signals
    return {
        "address": hit.address,
        "path": hit.path,
        "space": hit.space,
        "document": hit.document,
        "node": hit.node,
        "title": hit.title,
        "title_path": hit.title_path,
        "text": hit.text,
        "kind": hit.kind,
        "actor": hit.actor,
        "tier": hit.tier,
        "created_at": stamp(hit.created_at),
        "score": hit.score,
        "terms": _terms(hit.terms),
        "signals": {
            "cosine": signals.cosine,
            "cosine_raw": signals.cosine_raw,
            "lexical": signals.lexical,
            "rrf": signals.rrf,
            "across": signals.across,
            "share": signals.share,
            "base": signals.base,
            "tier_weight": signals.tier_weight,
            "evidence": signals.evidence,
            "hop": signals.hop,
            "via": hit.via_address,
            "similarity": signals.similarity,
            "importance": signals.importance,
            "recency": signals.recency,
            "access": signals.access,
        },
        "section": None
        if hit.section is None
        else {"address": hit.section.address, "title": hit.section.text},
        "siblings": [_sibling(each) for each in hit.siblings],
    }


def _dropped(dropped: Dropped, *, why: bool) -> dict[str, Any]:
    described = {
        "address": dropped.address,
        "path": dropped.path,
        "score": dropped.score,
        "stage": dropped.stage,
        "reason": dropped.reason,
    }
    return described | ({"terms": _terms(dropped.terms)} if why else {})


def _terms(terms: tuple[Term, ...]) -> list[dict[str, Any]]:
    return [{"name": term.name, "value": term.value} for term in terms]


def _sibling(sibling: NodeRef) -> dict[str, Any]:
    return {"address": sibling.address, "text": sibling.text}
