"""The `ringwood` command. Version and help are answered before click is imported."""

from __future__ import annotations

import sys

from ringwood.serve.cli.table import COMMANDS, help_text
from ringwood.version import __version__

__all__ = ["COMMANDS", "main"]


def main() -> None:
    """Run the command line and exit with its code."""
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        sys.stdout.write(f"ringwood {__version__}\n")
        return
    if arguments in ([], ["--help"], ["-h"], ["help"]):
        sys.stdout.write(help_text())
        return
    # Only now: click alone costs as much as a bare interpreter.
    from ringwood.serve.cli.app import run  # noqa: PLC0415

    sys.exit(run(arguments))
