"""What a host's hook tells us, in our own words. On a hook's path: standard library only.

Claude Code and Codex speak one protocol: an object on standard input, an object or nothing on
standard output. They differ in a few names, which `claude_code` and `codex` know.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Notice:
    """One event of a conversation, as a host reports it."""

    __slots__ = ("directory", "event", "host", "sequence", "session", "source", "text")

    def __init__(self, host: str, payload: dict[str, Any], sequence_key: str) -> None:
        """Take from a payload what is ours to know; what is missing or no text is empty."""
        self.host = host
        """`claude-code` or `codex`."""
        self.event = _text(payload, "hook_event_name")
        """The host's name of the event."""
        self.session = _text(payload, "session_id")
        """The host's id of the conversation."""
        self.sequence = _text(payload, sequence_key)
        """The host's id of the exchange; empty where it gives none."""
        self.directory = _text(payload, "cwd")
        """Where the host works."""
        self.source = _text(payload, "source")
        """Why a session starts: `startup`, `resume`, `clear`, `compact`."""
        said = "prompt" if self.event == "UserPromptSubmit" else "last_assistant_message"
        self.text = _text(payload, said)
        """What was said: by the person at a prompt, by the assistant at a stop."""


def read(host: str, payload: object, sequence_key: str, events: frozenset[str]) -> Notice | None:
    """Read the object that a hook gets; None where it is nothing for us.

    What a sub-agent does is not part of the conversation: nothing of it is captured or answered.
    """
    if not isinstance(payload, dict):
        return None
    if payload.get("agent_id") or payload.get("is_sidechain") or payload.get("isSidechain"):
        return None
    notice = Notice(host, payload, sequence_key)
    return notice if notice.event in events and notice.session else None


def context(event: str, text: str) -> bytes:
    """Write the answer that adds a text to what the model reads: one line of ASCII JSON."""
    mended = text.encode("utf-8", "replace").decode("utf-8")  # half a character is no JSON
    answer = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": mended}}
    return json.dumps(answer).encode("ascii") + b"\n"


def _text(payload: dict[str, Any], key: str) -> str:
    value = payload.get(key)
    return value if isinstance(value, str) else ""
