"""Hand recalled text to a model so that it reads as reference and can never speak as the system.

The block has a fresh nonce: nothing stored earlier can know where it ends. It is made inert as a
whole, after assembly, so that a tag split over two memories does not come together.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from ringwood.names import POLICY
from ringwood.text.echo import FRAME_TAG
from ringwood.text.inert import inert
from ringwood.types import Hit

__all__ = ["POLICY", "enclose", "entry_length", "overhead", "render"]


def render(hits: Sequence[Hit], nonce: str) -> str:
    """Write the block for a prompt; an empty string when there is nothing to hand over.

    Args:
        hits: best first, texts already within their budget.
        nonce: 16 or more hex digits, new for every block.
    """
    if not hits:
        return ""
    return enclose("\n".join(_entry(hit, at) for at, hit in enumerate(hits, start=1)), nonce)


def enclose(text: str, nonce: str) -> str:
    """Write the block around one text of the memory, as `render` does around hits."""
    return f"{_opening(nonce)}{inert(text)}{_closing(nonce)}"


def overhead(nonce: str) -> int:
    """Count the code points of a block without hits."""
    return len(_opening(nonce)) + len(_closing(nonce))


def entry_length(hit: Hit, number: int) -> int:
    """Count the code points that a hit adds to the block."""
    return len(_entry(hit, number)) + 1


def _opening(nonce: str) -> str:
    return f'<{FRAME_TAG} nonce="{nonce}">\n{POLICY} It ends after the line "end {nonce}".\n'


def _closing(nonce: str) -> str:
    return f"\nend {nonce}\n</{FRAME_TAG}>"


def _entry(hit: Hit, number: int) -> str:
    head = f"[{number}] {_day(hit.created_at)} {hit.actor} {hit.address}"
    titles = f"\n{hit.title_path}" if hit.title_path else ""
    return f"{head}{titles}\n{hit.text}"


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}"
