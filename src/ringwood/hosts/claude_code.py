"""What Claude Code's hooks send. On a hook's path: standard library only."""

from __future__ import annotations

from ringwood.hosts import notice

HOST = "claude-code"
"""How its exchanges are keyed."""

EVENTS = frozenset(("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"))
"""What we act upon. Everything else is answered with nothing."""


def read(payload: object) -> notice.Notice | None:
    """Read the object that a hook gets; None where it is nothing for us."""
    return notice.read(HOST, payload, "prompt_id", EVENTS)
