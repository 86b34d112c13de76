"""What Codex's hooks send. On a hook's path: standard library only."""

from __future__ import annotations

from ringwood.hosts import notice

HOST = "codex"
"""How its exchanges are keyed."""

EVENTS = frozenset(("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "PostCompact"))
"""What we act upon. Everything else is answered with nothing. There is no end of a session."""


def read(payload: object) -> notice.Notice | None:
    """Read the object that a hook gets; None where it is nothing for us."""
    return notice.read(HOST, payload, "turn_id", EVENTS)
