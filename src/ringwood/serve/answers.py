"""What each tool does: one call of the memory, and its answer as JSON.

Whatever text of the memory an answer carries stands in its `frame`, as it does in a prompt; beside
it there are only addresses, figures and reasons.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from ringwood.errors import AddressError, UsageError
from ringwood.memory import Memory
from ringwood.names import GLOBAL
from ringwood.recall.frame import enclose, render
from ringwood.recall.report import stamp, to_json
from ringwood.serve.arguments import Arguments
from ringwood.text.echo import drop_blocks
from ringwood.text.private import drop_private
from ringwood.types import Receipt, address_of

MAX_IMPORTANCE = 0.7
"""What a model may give its own note: the rest of the scale is a person's."""
DROPPED_SHOWN = 5
"""Dropped candidates in a recall, best first; `mem_explain` has more."""
DROPPED_EXPLAINED = 20
"""Dropped candidates in an explanation."""
CHILDREN_SHOWN = 50
"""Addresses below a node that `mem_read` lists; the count says how many there are."""


def recall(memory: Memory, given: Arguments) -> dict[str, Any]:
    """Hand over what was found in one frame, with the reasons beside it."""
    bounds = {name: given[name] for name in ("max_nodes", "max_chars") if given[name] is not None}
    answer = memory.recall(
        given["query"],
        budget=replace(memory.config.budget, **bounds),
        floor=given["floor"],
        as_of=_moment(given["as_of"]),
    )
    whole = to_json(answer, why=False)
    return {
        "recall_id": answer.recall_id,
        "space": answer.space,
        "frame": render(answer.hits, secrets.token_hex(8)),
        "hits": [_lean(hit) for hit in whole["hits"]],
        "dropped": [_without_path(each) for each in whole["dropped"][:DROPPED_SHOWN]],
        "dropped_in_all": len(answer.dropped),
        "notes": whole["notes"],
    }


def _lean(hit: Mapping[str, Any]) -> dict[str, Any]:
    """Leave the memory's words to the frame, and the raw signals to `mem_explain`."""
    kept = ("address", "document", "kind", "actor", "tier", "created_at", "score", "terms")
    section = hit["section"]
    return {
        **{name: hit[name] for name in kept},
        "hop": hit["signals"]["hop"],
        "via": hit["signals"]["via"],
        "section": None if section is None else section["address"],
    }


def _without_path(dropped: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what the address says already."""
    return {name: value for name, value in dropped.items() if name != "path"}


def store(memory: Memory, given: Arguments) -> dict[str, Any]:
    """Keep a text of the assistant's, and tell what became of it."""
    if memory.is_paused:
        raise UsageError(
            "Nothing was stored: the person paused capture.",
            mend="the person types `ringwood resume`, with --here for this space alone",
        )
    text, private = drop_private(given["text"])
    text, blocks = drop_blocks(text)
    if private + blocks and not text.strip():
        raise UsageError(
            "Nothing was stored: all of it is recalled memory, or marked private.",
            mend="store what is new, in your own words",
        )
    title = None if given["title"] is None else drop_blocks(drop_private(given["title"])[0])[0]
    importance = given["importance"]
    receipt = memory.store(
        text,
        title=title,
        importance=None if importance is None else min(importance, MAX_IMPORTANCE),
        actor="assistant",
    )
    return {
        "stored": receipt.state in ("pending", "ready", "failed"),
        "state": receipt.state,
        "message": _told(receipt),
        "document": receipt.document,
        "address": receipt.address,
        "nodes": receipt.nodes,
        "vectors": receipt.vectors,
        "edges": receipt.edges,
        "redacted": receipt.redacted,
        "left_out": private + blocks,
    }


def _told(receipt: Receipt) -> str:
    """Say what became of a text, in a sentence."""
    if receipt.state == "forgotten":
        return "Nothing was stored: this text was forgotten on purpose, and stays so."
    if receipt.state == "existing":
        return "Nothing new was stored: this text was there already."
    follows = {
        "pending": ": found by words now, by meaning soon",
        "failed": ": found by words; vectors failed, and are tried again",
    }
    counted = f"{receipt.nodes} node{'' if receipt.nodes == 1 else 's'}"
    return f"Stored as {counted}{follows.get(receipt.state, '')}."


def read(memory: Memory, given: Arguments) -> dict[str, Any]:
    """Hand over a piece of the text at an address, and the addresses around it."""
    view = memory.read(given["address"], reach="recall")
    space, node, document = view.document.space, view.node, view.document
    start = min(given["offset"], len(view.source))
    end = min(start + given["max_chars"], len(view.source))
    address = address_of(space, node.path)
    head = f"{document.created_at:%Y-%m-%d} {document.actor} {address}"
    return {
        "address": address,
        "kind": node.kind,
        "document": str(document.id),
        "actor": document.actor,
        "created_at": stamp(document.created_at),
        "tier": document.tier,
        "frame": enclose(f"{head}\n{view.source[start:end]}", secrets.token_hex(8)),
        "chars": len(view.source),
        "next_offset": end if end < len(view.source) else None,
        "parent": None if view.parent is None else address_of(space, view.parent.path),
        "children": [address_of(space, each.path) for each in view.children[:CHILDREN_SHOWN]],
        "children_in_all": len(view.children),
        "neighbours": [
            {"address": address_of(space, near.path), "weight": edge.weight}
            for near, edge in view.neighbours
        ],
    }


def stats(memory: Memory, given: Arguments) -> dict[str, Any]:
    """Count the home, and the documents of the space."""
    stats = memory.stats()
    counts = ("documents", "nodes", "vectors", "edges")
    shown = (*counts, "bytes")
    tiers = {tier: {name: held[name] for name in shown} for tier, held in stats.tiers.items()}
    return {
        "space": stats.space,
        "documents_in_space": stats.totals.spaces.get(stats.space, 0),
        **{name: sum(held[name] for held in tiers.values()) for name in counts},
        "states": dict(stats.totals.states),
        "tiers": tiers,
        "missing_tiers": list(stats.missing_tiers),
        "embedder": stats.embedder,
        "notes": list(stats.notes),
        "failing": [  # without the reasons, which may name what lies in other spaces
            {
                "work": each.work,
                "items": each.items,
                "failures": each.failures,
                "at": stamp(each.at),
                "next_at": stamp(each.next_at),
            }
            for each in stats.failing
        ],
    }


def dream(memory: Memory, given: Arguments) -> dict[str, Any]:
    """Dream over the whole home, and tell of other spaces only how many they are."""
    told = asdict(memory.dream(dry_run=given["dry_run"]))
    seen = (memory.space, GLOBAL)
    lists = ("compared", "unchanged", "too_large")
    others = {name for each in lists for name in told[each] if name not in seen}
    spaces = tuple(f"{name}:/" for name in seen)
    merges = [each for each in told["merges"] if each["into"].startswith(spaces)]
    return {
        **told,
        **{each: len(told[each]) for each in lists},
        "merges": merges,
        "notes": [note for note in told["notes"] if others.isdisjoint(note.split())],
    }


def rotate(memory: Memory, given: Arguments) -> dict[str, Any]:
    """Move what is due; the figures are the home's."""
    return asdict(memory.rotate(dry_run=given["dry_run"]))


def forget(memory: Memory, given: Arguments) -> dict[str, Any]:
    """Remove what is at an address of this space."""
    gone = memory.forget(given["address"], reach="space", dry_run=given["dry_run"])
    return {"dry_run": given["dry_run"], **asdict(gone), "addresses": list(gone.addresses)}


def explain(memory: Memory, given: Arguments) -> dict[str, Any]:
    """Give the reasons of an earlier recall of this space, without the words."""
    logged = memory.explain(given["recall_id"])
    if logged["space"] != memory.space:
        raise AddressError(
            f"The log holds no recall {given['recall_id']} of this space.",
            mend="mem_recall gives a recall_id",
        )
    return {
        "recall_id": logged["recall_id"],
        "query": logged["query"],
        "space": logged["space"],
        "hits": [{**_lean(hit), "signals": hit["signals"]} for hit in logged["hits"]],
        "dropped": [_without_path(each) for each in logged["dropped"][:DROPPED_EXPLAINED]],
        "dropped_in_all": len(logged["dropped"]),
        "notes": logged["notes"],
        "timings_ms": logged["timings_ms"],
    }


def _moment(given: str | None) -> datetime | None:
    if not given:
        return None
    try:
        return datetime.fromisoformat(given)
    except ValueError as error:
        raise UsageError(
            f"as_of is an ISO date or time, not {given[:60]!r}.", mend="2026-10-31T12:00:00Z"
        ) from error
