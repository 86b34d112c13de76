"""What a new session is told of a space: how much there is and where it lies, in a few lines.

It stands at the head of a conversation, where a host caches what it has read already. So it holds
nothing that changes by itself: the same documents give the same words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ringwood.names import GLOBAL
from ringwood.recall.frame import enclose
from ringwood.types import Document, address_of

PARTS = 12
"""Lines for the parts of a space, the largest first."""

_NONCE = 'nonce="'


def outline(space: str, counts: dict[str, int], documents: Iterable[Document]) -> str:
    """Say what a space and `global` hold; an empty string when that is nothing.

    Args:
        space: the name of the space.
        counts: documents per space, all of them.
        documents: the newest of both, whose folders are listed.
    """
    names = [each for each in dict.fromkeys((space, GLOBAL)) if counts.get(each)]
    if not names:
        return ""
    held = [f"{each} ({_documents(counts[each])})" for each in names]
    parts = Counter(address_of(each.space, _first_part(each.path)) for each in documents)
    largest = sorted(parts.items(), key=lambda part: (-part[1], part[0]))[:PARTS]
    lines = [f"{address} ({_documents(count)})" for address, count in largest]
    return "\n".join(["Memory of earlier sessions: " + ", ".join(held), *lines])


def renew(before: str, body: str, nonce: str) -> str:
    """Frame an outline; what was told before stays word for word while it still holds.

    Args:
        before: the block as it was told last; empty for none.
        body: the outline as it is now.
        nonce: 16 hex digits for a new block.
    """
    if not body:
        return ""
    told_nonce = before.partition(_NONCE)[2].partition('"')[0]
    return before if enclose(body, told_nonce) == before else enclose(body, nonce)


def _documents(count: int) -> str:
    return f"{count} document" + ("" if count == 1 else "s")


def _first_part(path: str) -> str:
    return "/" + path.split("/", 2)[1]
