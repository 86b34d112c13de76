"""The eight tools that a model may call, once for MCP and DSH: names, schemas, and what they do.

A tool works in its memory's space and has no argument for another: it recalls and reads there and
in `global`, stores, forgets and explains there only. Whatever text of the memory an answer carries
stands in a frame, as it does in a prompt; beside it there are only addresses and figures.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from ringwood.errors import AddressError, RingwoodError, UsageError
from ringwood.memory import Memory
from ringwood.names import GLOBAL
from ringwood.recall.frame import enclose, render
from ringwood.recall.report import stamp, to_json
from ringwood.serve.arguments import Arguments, fit
from ringwood.text.echo import drop_blocks
from ringwood.text.private import drop_private
from ringwood.types import TIERS, Receipt, address_of

_log = logging.getLogger(__name__)

MAX_IMPORTANCE = 0.7
"""What a model may give its own note: the rest of the scale is a person's."""
MAX_TEXT_CHARS = 1_000_000
"""Of one text to store."""
MESSAGE_CHARS = 600
"""Of an error: it may quote an argument, and a model reads it."""
DROPPED_SHOWN = 5
"""Dropped candidates in a recall, best first; `mem_explain` has more."""
DROPPED_EXPLAINED = 20
"""Dropped candidates in an explanation."""
CHILDREN_SHOWN = 50
"""Addresses below a node that `mem_read` lists; the count says how many there are."""
READ_CHARS = 4000
"""Of a node's text in one `mem_read`, unless more is asked for."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool, as every host needs to know it."""

    name: str
    """`mem_…`: what a model calls."""
    title: str
    """A few words for people."""
    description: str
    """What it does and when to call it, for the model."""
    parameters: Mapping[str, Any]
    """JSON Schema of its arguments: an object of scalars."""
    returns: Mapping[str, Any]
    """JSON Schema of its answer."""
    read_only: bool
    """Changes nothing that was stored. That a recall took place is noted all the same."""
    destructive: bool
    """May remove something for good."""
    call: Callable[[Memory, Arguments], dict[str, Any]]
    """Do it, with arguments that fit. Raises `RingwoodError`."""
    idempotent: bool = True
    """The same call again changes nothing more."""
    open_world: bool = False
    """Reaches beyond the home."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call came to."""

    content: dict[str, Any]
    """The answer as its schema says, or `{"error": {"code", "message", "mend"}}`."""
    text: str
    """The same for a reader of text."""
    failed: bool = False
    """Whether `content` is an error."""


def call(memory: Memory, name: str, arguments: object) -> Answer:
    """Call a tool; the first call makes the home. Never raises for what a caller or a disk does.

    Args:
        memory: whose space the tool works in.
        name: the tool's.
        arguments: an object, its JSON, or None; see `arguments.fit`.
    """
    try:
        tool = _BY_NAME.get(name)
        if tool is None:
            raise UsageError(
                f"There is no tool {name[:60]!r}.", mend=f"one of {', '.join(_BY_NAME)}"
            )
        fitted = fit(name, tool.parameters, arguments)
        memory.create()
        content = tool.call(memory, fitted)
    except RingwoodError as error:
        return _failure(error.code, error.message, error.mend)
    except Exception as error:  # noqa: BLE001 - the outermost loop: a model never sees a traceback
        _log.error("%s failed: %s", name[:60], type(error).__name__)
        _log.debug("where it failed", exc_info=error)  # what it says may quote the memory
        return _failure("internal", f"{type(error).__name__} in {name}.", "report it")
    return Answer(content, _as_text(content))


def _recall(memory: Memory, given: Arguments) -> dict[str, Any]:
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


def _store(memory: Memory, given: Arguments) -> dict[str, Any]:
    text, private = drop_private(given["text"])
    text, blocks = drop_blocks(text)
    if private + blocks and not text.strip():
        raise UsageError(
            "Nothing was stored: all of it is recalled memory, or marked private.",
            mend="store what is new, in your own words",
        )
    importance = given["importance"]
    receipt = memory.store(
        text,
        title=given["title"],
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


def _read(memory: Memory, given: Arguments) -> dict[str, Any]:
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


def _stats(memory: Memory, given: Arguments) -> dict[str, Any]:
    stats = memory.stats()
    tiers = {
        tier: {
            "documents": held.documents,
            "nodes": held.nodes,
            "vectors": held.vectors,
            "edges": held.edges,
            "bytes": held.bytes,
        }
        for tier in TIERS
        if (held := stats.totals.tiers.get(tier)) is not None
    }
    counts = ("documents", "nodes", "vectors", "edges")
    return {
        "space": stats.space,
        "documents_in_space": stats.totals.spaces.get(stats.space, 0),
        **{name: sum(held[name] for held in tiers.values()) for name in counts},
        "states": dict(stats.totals.states),
        "tiers": tiers,
        "missing_tiers": list(stats.missing_tiers),
        "embedder": stats.embedder,
        "notes": list(stats.notes),
    }


def _dream(memory: Memory, given: Arguments) -> dict[str, Any]:
    """Dream over the whole home, and tell of other spaces only how many they are."""
    told = asdict(memory.dream(dry_run=given["dry_run"]))
    seen = (memory.space, GLOBAL)
    lists = ("compared", "unchanged", "too_large")
    others = {name for each in lists for name in told[each] if name not in seen}
    groups = [
        group for group in told.pop("groups") if group[0].startswith(tuple(f"{s}:/" for s in seen))
    ]
    return {
        **told,
        **{each: len(told[each]) for each in lists},
        "duplicate_groups": groups,
        "notes": [note for note in told["notes"] if others.isdisjoint(note.split())],
    }


def _rotate(memory: Memory, given: Arguments) -> dict[str, Any]:
    return asdict(memory.rotate(dry_run=given["dry_run"]))


def _forget(memory: Memory, given: Arguments) -> dict[str, Any]:
    gone = memory.forget(given["address"], reach="space", dry_run=given["dry_run"])
    return {"dry_run": given["dry_run"], **asdict(gone), "addresses": list(gone.addresses)}


def _explain(memory: Memory, given: Arguments) -> dict[str, Any]:
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


def _as_text(content: Mapping[str, Any]) -> str:
    """Write an answer for a reader of text: the frame as it is, the rest as JSON."""
    frame = content.get("frame")
    if "hits" in content and frame is not None:  # a recall: the frame says it all
        told = [frame or "Nothing in memory has enough evidence for this."]
        told += [f"note: {note}" for note in content["notes"]]
        return "\n".join([*told, f"recall_id {content['recall_id']}"])
    rest = {name: value for name, value in content.items() if name != "frame"}
    written = json.dumps(rest, ensure_ascii=False)
    return written if frame is None else f"{frame}\n{written}"


def _failure(code: str, message: str, mend: str) -> Answer:
    if len(message) > MESSAGE_CHARS:
        message = f"{message[: MESSAGE_CHARS // 2]} … {message[-MESSAGE_CHARS // 2 :]}"
    told = f"{code}: {message}" + (f" ({mend})" if mend else "")
    return Answer({"error": {"code": code, "message": message, "mend": mend}}, told, failed=True)


# -- schemas: together under 2,000 tokens, so each word is there because a model needs it ---------


def _parameters(required: tuple[str, ...] = (), **rules: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": rules}
    return schema | ({"required": list(required)} if required else {})


def _returns(**kinds: str) -> dict[str, Any]:
    """Describe what every answer has. What may be null stays out: not all hosts can say that."""
    return {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in kinds.items()},
        "required": list(kinds),
    }


_ADDRESS = {"type": "string", "description": "space:/path, or /path in this space"}
_DRY_RUN = {"type": "boolean", "default": False, "description": "only say what would change"}

TOOLS: tuple[Tool, ...] = (
    Tool(
        name="mem_recall",
        title="Recall from memory",
        description=(
            "Find what earlier sessions kept about a question: decisions, facts, preferences, past"
            " work. Call it before answering from guesswork. No hits: nothing is known."
        ),
        parameters=_parameters(
            ("query",),
            query={"type": "string", "description": "the question, in plain words"},
            max_nodes={"type": "integer", "minimum": 1, "maximum": 20},
            max_chars={"type": "integer", "minimum": 300, "maximum": 20000},
            floor={
                "type": "number",
                "minimum": 0,
                "maximum": 1,
                "description": "evidence a hit needs; lower finds more",
            },
            as_of={"type": "string", "description": "ISO time: only what was written until then"},
        ),
        returns=_returns(
            recall_id="string",
            frame="string",
            hits="array",
            dropped="array",
            dropped_in_all="integer",
            notes="array",
        ),
        read_only=True,
        destructive=False,
        call=_recall,
    ),
    Tool(
        name="mem_store",
        title="Store in memory",
        description=(
            "Keep a text for later sessions: a decision with its reason, a fact, a preference."
            " Markdown headings become addresses. Secrets are masked. Says whether it was stored."
        ),
        parameters=_parameters(
            ("text",),
            text={"type": "string", "maxLength": MAX_TEXT_CHARS},
            title={"type": "string", "maxLength": 300},
            importance={
                "type": "number",
                "minimum": 0,
                "maximum": 1,
                "default": 0.5,
                "description": f"at most {MAX_IMPORTANCE} counts",
            },
        ),
        returns=_returns(
            stored="boolean",
            state="string",
            message="string",
            address="string",
            nodes="integer",
            redacted="integer",
        ),
        read_only=False,
        destructive=False,
        call=_store,
    ),
    Tool(
        name="mem_read",
        title="Read a memory",
        description=(
            "Read the text at an address that a recall gave, with what is above, below and beside"
            " it."
        ),
        parameters=_parameters(
            ("address",),
            address=_ADDRESS,
            offset={"type": "integer", "minimum": 0, "maximum": 10**9, "default": 0},
            max_chars={
                "type": "integer",
                "minimum": 100,
                "maximum": 50000,
                "default": READ_CHARS,
            },
        ),
        returns=_returns(
            address="string",
            frame="string",
            chars="integer",
            children="array",
            neighbours="array",
        ),
        read_only=True,
        destructive=False,
        call=_read,
    ),
    Tool(
        name="mem_stats",
        title="Count memories",
        description="Count what memory holds, and say what is degraded.",
        parameters=_parameters(),
        returns=_returns(space="string", documents="integer", nodes="integer", notes="array"),
        read_only=True,
        destructive=False,
        call=_stats,
    ),
    Tool(
        name="mem_dream",
        title="Rebuild links",
        description=(
            "Rebuild the links between similar memories over the whole store. Slow, and seldom"
            " needed: only when asked."
        ),
        parameters=_parameters(dry_run=_DRY_RUN),
        returns=_returns(dry_run="boolean"),
        read_only=False,
        destructive=False,
        call=_dream,
    ),
    Tool(
        name="mem_rotate",
        title="Move old memories",
        description=(
            "Move documents to the storage tier of their age. Happens by itself: only when asked."
        ),
        parameters=_parameters(dry_run=_DRY_RUN),
        returns=_returns(dry_run="boolean"),
        read_only=False,
        destructive=False,
        call=_rotate,
    ),
    Tool(
        name="mem_forget",
        title="Forget a memory",
        description=(
            "Remove a memory of this space for good, with everything below its address and all"
            " derived from it; it will not come back. Only on the user's wish: dry_run first."
        ),
        parameters=_parameters(("address",), address=_ADDRESS, dry_run=_DRY_RUN),
        returns=_returns(
            dry_run="boolean", documents="integer", nodes="integer", addresses="array"
        ),
        read_only=False,
        destructive=True,
        call=_forget,
    ),
    Tool(
        name="mem_explain",
        title="Explain a recall",
        description="Say why an earlier recall of this space answered as it did: every score.",
        parameters=_parameters(("recall_id",), recall_id={"type": "string", "maxLength": 64}),
        returns=_returns(recall_id="string", query="string", hits="array", dropped="array"),
        read_only=True,
        destructive=False,
        call=_explain,
    ),
)
"""Every tool, the most used first."""

_BY_NAME = {tool.name: tool for tool in TOOLS}
