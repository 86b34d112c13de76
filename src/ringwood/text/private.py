"""What a person marked as private, taken out before anything else looks at a text.

On a hook's path: standard library only, patterns compiled on first use.
"""

from __future__ import annotations

import functools
import re


def drop_private(text: str) -> tuple[str, int]:
    """Take out every `<private>…</private>`, and say how many were taken out.

    Case does not matter, nor attributes, full-width brackets, escaped brackets or invisible
    characters in the tag. A part inside another goes with it, and one that is never closed reaches
    to the end of the text: rather a word too few on the disk than one too many. `<private/>` holds
    nothing, and only itself goes. A text without such a part is returned as it is.
    """
    kept: list[str] = []
    at = depth = count = 0
    for tag in _tags().finditer(text):
        if tag["closing"] and depth == 0:
            continue  # it closes nothing: somebody speaks of it
        if depth == 0:
            kept.append(text[at : tag.start()])
            count += 1
        if not tag["empty"]:
            depth += -1 if tag["closing"] else 1
        at = tag.end()
    if not count:
        return text, 0
    return "".join(kept) + ("" if depth else text[at:]), count


@functools.cache
def _tags() -> re.Pattern[str]:
    unseen = "[\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f\ufeff]*+"
    less = rf"(?:[<＜〈《‹﹤]|&(?:amp;)*+(?:lt|#0*+60|#x0*+3c);)[ \t]*+{unseen}"
    more = r"(?:[>＞〉》›﹥]|&(?:amp;)*+(?:gt|#0*+62|#x0*+3e);)"
    name = unseen.join("private") + unseen
    attributes = rf"(?:(?![/／][ \t]*+{more})[\s/／](?:(?!{more})[^<＜]){{0,200}}?)?"
    return re.compile(
        rf"{less}(?P<closing>[/／])?[ \t]*+{name}{attributes}(?P<empty>[/／])?[ \t]*+{more}",
        re.IGNORECASE | re.DOTALL,
    )
