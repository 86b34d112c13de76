"""The text that is embedded and indexed for a node. The stored text is never touched by it.

The heading path gives a paragraph its context, which is worth more than a better model. A change
here is a change of `embed.meaning.TEMPLATE`: vectors of two templates are never compared.
"""

from __future__ import annotations

from collections.abc import Sequence

from ringwood.types import Kind

SEPARATOR = " › "


def embedded_text(titles: Sequence[str], text: str) -> str:
    """Put the titles above a node before its text.

    Args:
        titles: titles from the document down to the node's parent.
        text: the node's text.
    """
    return f"{SEPARATOR.join(titles)}\n{text}" if titles else text


def indexed_text(kind: Kind, titles: Sequence[str], text: str) -> str:
    """Return the text whose words find a node: a paragraph's own, others' with the titles above.

    A paragraph that inherited the words of its titles would answer a question about its document
    with whatever is shortest in it: "Status: implemented". Its section holds those words and the
    paragraph's, while code, tables and quotes stand in no section's text.
    """
    return text if kind in ("paragraph", "item") else embedded_text(titles, text)
