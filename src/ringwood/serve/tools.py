"""The eight tools that a model may call, once for MCP and DSH: names, schemas, and the call.

A tool works in its memory's space and has no argument for another: it recalls and reads there and
in `global`, stores, forgets and explains there only. None reaches beyond the home, and the same
call again changes nothing more.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ringwood.errors import RingwoodError, UsageError
from ringwood.memory import Memory
from ringwood.serve import answers
from ringwood.serve.arguments import Arguments, fit

_log = logging.getLogger(__name__)

MAX_TEXT_CHARS = 1_000_000
"""Of one text to store."""
MESSAGE_CHARS = 600
"""Of an error: it may quote an argument, and a model reads it."""
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
        call=answers.recall,
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
                "description": f"at most {answers.MAX_IMPORTANCE} counts",
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
        call=answers.store,
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
        call=answers.read,
    ),
    Tool(
        name="mem_stats",
        title="Count memories",
        description="Count what memory holds, and say what is degraded.",
        parameters=_parameters(),
        returns=_returns(space="string", documents="integer", nodes="integer", notes="array"),
        read_only=True,
        destructive=False,
        call=answers.stats,
    ),
    Tool(
        name="mem_dream",
        title="Merge and link",
        description=(
            "Merge memories that say the same, and rebuild the links between similar ones. Slow,"
            " and seldom needed: only when asked. The person can undo it."
        ),
        parameters=_parameters(dry_run=_DRY_RUN),
        returns=_returns(dry_run="boolean"),
        read_only=False,
        destructive=False,
        call=answers.dream,
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
        call=answers.rotate,
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
        call=answers.forget,
    ),
    Tool(
        name="mem_explain",
        title="Explain a recall",
        description="Say why an earlier recall of this space answered as it did: every score.",
        parameters=_parameters(("recall_id",), recall_id={"type": "string", "maxLength": 64}),
        returns=_returns(recall_id="string", query="string", hits="array", dropped="array"),
        read_only=True,
        destructive=False,
        call=answers.explain,
    ),
)
"""Every tool, the most used first."""

_BY_NAME = {tool.name: tool for tool in TOOLS}
