"""The `ringwood` command. Version, help and hooks are answered before click is imported."""

from __future__ import annotations

import sys

from ringwood.serve.cli import streams
from ringwood.serve.cli.table import COMMANDS, help_text
from ringwood.version import __version__

__all__ = ["COMMANDS", "main"]

_INTERRUPTED = """\
{"error": {"code": "interrupted", "message": "Interrupted before anything was begun.",
           "mend": "give the command again"}}
"""
"""What `app.py` says, in the moment before it is there: a command starts by importing."""


def main() -> None:
    """Run the command line and exit with its code."""
    arguments = sys.argv[1:]
    streams.stand_in()
    if arguments == ["--version"]:
        return streams.answer(f"ringwood {__version__}\n")
    if arguments in ([], ["--help"], ["-h"], ["help"]):
        return streams.answer(help_text())
    if arguments[0] == "hook" and not {"--help", "-h"} & set(arguments):
        # A host waits for this one at every turn: it costs as little as can be.
        try:
            from ringwood.serve.hook import main as answer_hook  # noqa: PLC0415
        except Exception:  # noqa: BLE001 - half an installation, as while it is upgraded
            return None
        answer_hook(arguments[1:])
    if arguments[0] == "help":
        arguments = [*arguments[1:], "--help"]
    try:
        # Only now: click alone costs as much as a bare interpreter.
        from ringwood.serve.cli.app import run  # noqa: PLC0415
    except KeyboardInterrupt:
        if "--json" in arguments:
            streams.answer(_INTERRUPTED)
        sys.exit(130)
    exit_code = run(arguments)
    streams.answer("")  # what click wrote
    sys.exit(exit_code)
