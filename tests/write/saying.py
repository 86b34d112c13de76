"""One exchange a test, in which something is always kept."""

from __future__ import annotations

from tests.cases import speaking


def say(home: str, kind: str, text: str = "", *, sequence: str = "1", session: str = "s") -> None:
    """Capture one event, as a hook does."""
    name = speaking.say(home, kind, text, sequence=sequence, session=session)
    assert name is not None
