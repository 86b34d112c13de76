"""The block that Ringwood keeps in a file of somebody else: between two markers, and nowhere else.

Bytes in, bytes out: whatever a person wrote around it, in whatever encoding, stays as it is. Pure.
"""

from __future__ import annotations

import re

from ringwood.errors import UsageError

BEGIN = b"<!-- ringwood:begin -->"
END = b"<!-- ringwood:end -->"
_JOINED = b"<!-- ringwood:begin, the line end before is ours -->"
MAX_BYTES = 2_000
"""Length of a block at most, markers included: an agent reads it in every session."""

_BLOCK = re.compile(
    rb"(?m)(?:(?:\r?\n)(?=%s)|^(?=%s))(?:%s|%s).*?^%s[ \t]*(?:\r?\n|\Z)"
    % (_JOINED, BEGIN, _JOINED, BEGIN, END),
    re.DOTALL,
)
_MARKER = re.compile(rb"<!-- ringwood:(?:begin[^>\n]{0,60}|end) -->")


def with_block(content: bytes, lines: list[str]) -> bytes:
    """Put a block of lines in the place of the one that is there, else at the end.

    Lines that would make it longer than `MAX_BYTES` are left out, the last first. The same lines
    again change nothing.

    Raises:
        UsageError: when the markers do not match.
    """
    found = _find(content)
    end = b"\r\n" if b"\r\n" in content else b"\n"
    if found is None:
        is_joined = content != b"" and not content.endswith(b"\n")
        if content.endswith(b"\r"):
            end = b"\r\n"  # a mere line feed after it would be taken out together with it
        start = stop = len(content)
    else:
        start, stop = found.span()
        is_joined = _JOINED in found[0]
    block = (end + _JOINED if is_joined else BEGIN) + end
    for line in lines:
        encoded = line.encode() + end
        if len(block) + len(encoded) + len(END) + len(end) > MAX_BYTES:
            break
        block += encoded
    return content[:start] + block + END + end + content[stop:]


def without_block(content: bytes) -> bytes:
    """Take the block out, with the line end that was put before it; all else is as it was.

    Raises:
        UsageError: when the markers do not match.
    """
    found = _find(content)
    return content if found is None else content[: found.start()] + content[found.end() :]


def drop_block(content: bytes) -> bytes:
    """Take the block out where there is a whole one, for reading: never raises."""
    return _BLOCK.sub(b"", content) if b"ringwood:begin" in content else content


def _find(content: bytes) -> re.Match[bytes] | None:
    found = list(_BLOCK.finditer(content))
    if len(_MARKER.findall(content)) != 2 * len(found) or len(found) > 1:
        raise UsageError(
            "The markers of Ringwood's block do not match: one is missing, changed or there twice.",
            mend="delete the lines with `ringwood:begin` and `ringwood:end`, then call again",
        )
    return found[0] if found else None
