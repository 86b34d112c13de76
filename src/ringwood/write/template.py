"""The text that is embedded and indexed for a node. The stored text is never touched by it.

The heading path gives a paragraph its context, which is worth more than a better model. A change
here is a change of `embed.meaning.TEMPLATE`: vectors of two templates are never compared.
"""

from __future__ import annotations

from collections.abc import Sequence

SEPARATOR = " › "


def embedded_text(titles: Sequence[str], text: str) -> str:
    """Put the titles above a node before its text.

    Args:
        titles: titles from the document down to the node's parent.
        text: the node's text.
    """
    return f"{SEPARATOR.join(titles)}\n{text}" if titles else text
