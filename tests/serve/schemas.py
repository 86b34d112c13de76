"""What hosts take from a hook, as JSON Schemas. Written from the published lists of fields."""

from __future__ import annotations

from typing import Any

_EITHER_TEXT = {"type": ["string", "null"]}

_COMMON: dict[str, Any] = {
    "continue": {"type": "boolean"},
    "suppressOutput": {"type": "boolean"},
    "stopReason": _EITHER_TEXT,
    "systemMessage": _EITHER_TEXT,
}


def output(host: str, event: str) -> dict[str, Any]:
    """Return the schema of what a hook may print at an event: Codex takes no field beyond it."""
    specific: dict[str, Any] = {"hookEventName": {"const": event}}
    if event in ("SessionStart", "UserPromptSubmit"):
        specific["additionalContext"] = {"type": "string", "minLength": 1}
    if event == "SessionStart" and host == "codex":
        specific["env"] = {"type": ["object", "null"]}
    fields = dict(_COMMON)
    if event in ("UserPromptSubmit", "Stop"):
        fields |= {"decision": {"const": "block"}, "reason": _EITHER_TEXT}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            **fields,
            "hookSpecificOutput": {
                "type": "object",
                "additionalProperties": False,
                "required": ["hookEventName"],
                "properties": specific,
            },
        },
    }
