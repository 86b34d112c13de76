"""Messages that the protocol's own parser refuses although they can be understood."""

from __future__ import annotations

import json
import re

from ringwood.text.clean import clean

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def readable(message: bytes) -> str:
    """Return a JSON message with what is no character in it as U+FFFD.

    Half a surrogate pair, in which a cut-off emoji ends, is JSON all the same. The parser of the
    SDK refuses the message as a whole, id and all, and the client would wait for ever.
    """
    text = message.decode("utf-8", "replace")
    if not _SURROGATE.search(message):
        return text
    try:
        return clean(json.dumps(json.loads(text), ensure_ascii=False))[0] + "\n"
    except (ValueError, RecursionError):
        return text  # refused by who parses it
