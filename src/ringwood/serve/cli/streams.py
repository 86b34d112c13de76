"""The three standard streams, as the caller left them. Imported before all else: `os` and `sys`."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO


def stand_in() -> None:
    """Put the null device where a standard stream is closed: whoever did that wants no answer.

    Otherwise the next file that is opened would take its number, and be written to by mistake.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(descriptor, mode, encoding="utf-8"))


def answer(text: str) -> None:
    """Write to standard output, at once.

    Raises:
        SystemExit: when it takes no more; a reader that went away, as `head` does, is no fault.
    """
    error = _written(sys.stdout, text)
    if error is not None and not isinstance(error, BrokenPipeError):
        remark(f"ringwood: The answer cannot be written: {error.strerror}.\n")
        raise SystemExit(1)


def remark(text: str) -> None:
    """Write to standard error, at once; where nobody can read it, nothing is lost."""
    _written(sys.stderr, text)


def _written(stream: TextIO, text: str) -> OSError | None:
    try:
        stream.write(text)
        stream.flush()
    except OSError as error:
        # What is left in the stream goes nowhere: the interpreter would try it again at its end.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
        return error
    return None
