"""A conversation as a host's hook captures it."""

from __future__ import annotations

from time import time

from ringwood.capture import spool
from ringwood.capture.exchange import admit


def say(
    home: str,
    kind: str,
    text: str = "",
    *,
    session: str = "s",
    sequence: str = "",
    directory: str = "",
) -> str | None:
    """Capture one event; return its name in the spool, None when nothing of it was kept."""
    event = admit(
        host="codex",
        session=session,
        sequence=sequence,
        kind=kind,
        text=text,
        at=time(),
        directory=directory,
    )
    return None if event is None else spool.append(home, event)


def converse(home: str, question: str, answer: str, *, session: str = "s") -> None:
    """Capture a question, its answer, and the end of the turn."""
    say(home, "person", question, session=session)
    say(home, "assistant", answer, session=session)
    say(home, "end", session=session)
