"""Ctrl-C, at whatever moment, ends a command with 130 and, under `--json`, with one object."""

from __future__ import annotations

import json
import subprocess
import sys

HELD_UP = """
import sys
class Finder:
    def find_spec(self, name, path, target=None):
        if name == "click":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Finder())
from ringwood.serve.cli import main
main()
"""


def test_an_interrupt_while_the_command_still_loads_is_said_like_any_other() -> None:
    for option in ("--json", "--quiet"):
        done = subprocess.run(
            [sys.executable, "-c", HELD_UP, "stats", option],
            capture_output=True,
            text=True,
            check=False,
        )

        assert (done.returncode, done.stderr) == (130, "")
        if option == "--json":
            assert json.loads(done.stdout)["error"]["code"] == "interrupted"
        else:
            assert done.stdout == ""
