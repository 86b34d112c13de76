"""What may be stored, read from any bytes or string, and what a terminal may be shown."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

REPLACEMENT = "\ufffd"
"""Stands where something could not be kept."""

_BOM = "\ufeff"
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")

# ESC and the escapes of an eight-bit terminal, whatever moves the cursor back, whatever reorders
# what is already on screen, and lone surrogates, which no encoder takes.
_COMMANDING = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_UNPRINTABLE = re.compile(f"\r\n|{_COMMANDING}")
_UNPRINTABLE_IN_JSON = re.compile(_COMMANDING)

_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")  # ESC stands in honest terminal logs
_NOT_TEXT = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ue000-\uf8ff\ufdd0-\ufdef\ufffe\uffff]"
)
_HAN = re.compile("[\u3400-\u9fff]")
_WIDE = re.compile("[^\x00-\x7f]")
_SAMPLE = 65_536
_CONTROLS = 0.1  # the share from which a file is binary: a stray NUL or bell makes none


@dataclass(frozen=True, slots=True)
class Decoded:
    """A file's bytes as text."""

    text: str
    """Clean: what `clean` leaves alone."""
    encoding: str
    """`utf-8`, `utf-16-le`, `utf-16-be` or `gb18030`."""
    bom: bool
    """Whether a byte order mark stood in front. It is not part of `text`."""
    repaired: int
    """Characters that stand as U+FFFD because their bytes could not be read."""


def clean(text: str) -> tuple[str, int]:
    """Return what may be stored of a text, and how many characters were replaced.

    Two surrogates that make a pair become their character. Lone surrogates and NUL become U+FFFD
    and are counted. A byte order mark in front is removed uncounted: all of them, where several
    stand, so that cleaning twice changes nothing. Line ends stay as they are.
    """
    if not text.isascii():
        text = _PAIR.sub(_join, text.lstrip(_BOM))
    return _UNSTORABLE.subn(REPLACEMENT, text)


def decode(data: bytes) -> Decoded | None:
    """Read bytes as text, or return None when they are none.

    UTF-8 and UTF-16 by their byte order mark; UTF-16 without one by where its NULs lie; then UTF-8;
    GB18030 when all of it decodes and reads as Chinese; else UTF-8 with the bad bytes replaced.
    Binary is what holds many NULs or control characters then, or is mostly unreadable.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _decoded(data[len(mark) :], encoding, bom=True)
    guess = _utf16_without_mark(data)
    if guess is not None:
        return guess
    return _decoded(data, "gb18030" if _is_gb18030(data) else "utf-8", bom=False)


def printable(text: str) -> str:
    r"""Make visible whatever would command a terminal or reorder its line.

    Control characters except newline and tab, bidirectional controls, line separators and lone
    surrogates come out as `\x1b` or `\u202e`. A carriage return before a newline is part of it.
    """
    return _UNPRINTABLE.sub(_visible, text)


def printable_json(text: str) -> str:
    r"""Escape in a JSON document what `printable` makes visible: the document says the same.

    A JSON writer escapes only the controls below U+0020 by itself.
    """
    return _UNPRINTABLE_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def _join(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16", "surrogatepass").decode("utf-16")


def _visible(match: re.Match[str]) -> str:
    if match[0] == "\r\n":
        return "\n"
    code = ord(match[0])
    if match[0] == "\r":
        return r"\r"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _decoded(data: bytes, encoding: str, *, bom: bool) -> Decoded | None:
    """Decode, repair and count; None when the outcome is no text."""
    if encoding.startswith("utf-16"):
        odd = len(data) % 2
        raw = data[: len(data) - odd].decode(encoding, "surrogatepass") + REPLACEMENT * odd
        lost = odd
    else:
        raw = data.decode(encoding, "replace")
        lost = 0
        if encoding == "utf-8":
            lost = raw.count(REPLACEMENT) - data.count(REPLACEMENT.encode())
    text, repaired = clean(raw)
    repaired += lost
    controls = raw.count("\0") + len(_CONTROL.findall(text))
    if repaired > max(4, len(text) // 3) or controls > len(text) * _CONTROLS:
        return None
    return Decoded(text, encoding, bom, repaired)


def _utf16_without_mark(data: bytes) -> Decoded | None:
    """Read UTF-16 whose ASCII characters betray its byte order: their high byte is NUL.

    One stray NUL does too; so where NULs are few, the bytes must not read well without them.
    """
    sample = data[:_SAMPLE]
    at_even, at_odd = sample[::2].count(0), sample[1::2].count(0)
    if len(data) % 2 or bool(at_even) == bool(at_odd):
        return None
    if (at_even + at_odd) * 4 < len(sample) and _is_utf8(sample.replace(b"\0", b"")):
        return None
    decoded = _decoded(data, "utf-16-be" if at_even else "utf-16-le", bom=False)
    if decoded and not decoded.repaired and not _NOT_TEXT.search(decoded.text):
        return decoded
    return None


def _is_utf8(data: bytes) -> bool:
    return "\ufffd" not in data.decode("utf-8", "replace")


def _is_gb18030(data: bytes) -> bool:
    """Say whether bytes are Chinese in GB18030 rather than UTF-8.

    The encoding takes nearly any bytes, so two more things are asked. UTF-8 with a few bad bytes
    has more characters that read well than that do not. And real Chinese is written with the 6,763
    common characters, while a Latin-1 umlaut before a letter lands among the rare ones.
    """
    as_utf8 = data.decode("utf-8", "replace")
    bad = as_utf8.count(REPLACEMENT)
    if bad * 2 <= len(_WIDE.findall(as_utf8)):
        return False
    try:
        text = data.decode("gb18030")
    except UnicodeDecodeError:
        return False
    wide = "".join(_WIDE.findall(text))
    common = len(wide.encode("gb2312", "ignore")) // 2
    return common * 10 >= len(wide) * 9 and len(_HAN.findall(wide)) * 2 >= len(wide)
