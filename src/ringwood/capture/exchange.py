"""One event of a conversation, cleaned before it may touch the disk.

On a hook's path: standard library only, without dataclasses, typing or enum.
"""

from __future__ import annotations

from ringwood.capture.space import space_key
from ringwood.text.echo import drop_blocks
from ringwood.text.private import drop_private
from ringwood.text.redact import redact

KINDS = ("person", "assistant", "end")
"""Who spoke; `end` says that nothing follows soon."""
MAX_CHARS = 1_000_000
"""Of one message. A hundred times the longest that people write by hand; what is pasted beyond it
is no conversation. Longer ones are cut and say so."""


class Event:
    """What somebody said at one moment of a conversation, or that it came to an end.

    Its text is clean: private parts, blocks of recalled memory and secrets are out of it.
    """

    __slots__ = ("at", "dropped", "host", "kind", "masked", "sequence", "session", "space", "text")

    def __init__(  # noqa: PLR0913 - the record that the spool keeps, field by field
        self,
        *,
        host: str,
        session: str,
        sequence: str,
        kind: str,
        text: str,
        at: float,
        space: str | None = None,
        masked: int = 0,
        dropped: int = 0,
    ) -> None:
        """Take the fields as they are; `admit` is the way in for what a host sends.

        Args:
            host: which program, for example `claude-code`.
            session: the host's id of the conversation.
            sequence: names the exchange within it; empty where the host has no name for it.
            kind: one of `KINDS`.
            text: what was said; empty at an end.
            at: when, in seconds since 1970, UTC.
            space: key of the space; None for `global`.
            masked: secrets that were masked.
            dropped: parts that were taken out.
        """
        self.host = host
        self.session = session
        self.sequence = sequence
        self.kind = kind
        self.text = text
        self.at = at
        self.space = space
        self.masked = masked
        self.dropped = dropped

    def __repr__(self) -> str:
        # Never the text: this may reach a log.
        return f"<Event {self.kind} of {self.host}:{self.session}:{self.sequence}>"


def conversation(host: str, session: str) -> str:
    """Name a conversation as no other is named: `host:session`, a colon in the session escaped.

    The source keys of its exchanges begin with it and a colon.
    """
    return f"{host}:{session.replace('%', '%25').replace(':', '%3A')}"


def admit(  # noqa: PLR0913 - what a host knows of a message
    *,
    host: str,
    session: str,
    sequence: str,
    kind: str,
    text: str,
    at: float,
    directory: str,
) -> Event | None:
    """Clean what a host sends and decide its space; None when nothing is left to keep.

    Of a sub-agent nothing may be brought here, whose prompts no person wrote: only its host knows.

    Args:
        host: which program.
        session: its id of the conversation.
        sequence: its name of the exchange; empty where it has none.
        kind: one of `KINDS`. An end is always admitted, and so is a prompt that was private as a
            whole: without its words.
        text: what was said.
        at: when, in seconds since 1970, UTC.
        directory: the working directory, which decides the space.

    Raises:
        ValueError: when there is no such kind.
    """
    if kind not in KINDS:
        raise ValueError(f"an event is one of {', '.join(KINDS)}, not {kind!r}")
    private = blocks = masked = 0
    if kind == "end":
        text = ""
    else:
        text = _bounded(text)
        # Private parts first: an unclosed one must not be closed by what is taken out around it.
        text, private = drop_private(text)
        text, blocks = drop_blocks(text)
        text, masked = redact(text)
        if not text.strip(" \t\r\n>`~"):  # the marks that stood around what was taken out
            if not private or kind != "person":
                return None
            text = ""  # what is answered to it is private, too: the buffer must know
    return Event(
        host=host,
        session=_storable(session),
        sequence=_storable(sequence),
        kind=kind,
        text=text,
        at=at,
        space=space_key(directory),
        masked=masked,
        dropped=private + blocks,
    )


def _storable(name: str) -> str:
    """Make a host's id one that a database takes: it knows no NUL and no half of a character."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\0")


def _bounded(text: str) -> str:
    """Cut a text that is too long between two words, else outside a grapheme, and say so in it."""
    if len(text) <= MAX_CHARS:
        return text
    cut = max(text.rfind(mark, MAX_CHARS // 2, MAX_CHARS) for mark in ("\n", " ", "\u3000"))
    if cut < 0:
        # Only for a million characters without a space: graphemes cost more than a whole hook.
        from ringwood.text.sentences import clip  # noqa: PLC0415

        cut = len(clip(text, MAX_CHARS)) - 1
    return f"{text[:cut]}\n\n[{len(text) - cut:,} more characters were not kept]"
