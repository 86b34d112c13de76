"""The command as a person runs it: in this process, on real streams of any encoding."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ringwood.serve.cli.app import run


@dataclass(frozen=True, slots=True)
class Answer:
    """What one call came to."""

    code: int
    """Exit code."""
    out: str
    """Standard output, decoded strictly."""
    err: str
    """Standard error, decoded strictly."""

    @property
    def json(self) -> dict[str, Any]:
        """Read standard output as the one object that `--json` promises."""
        loaded: dict[str, Any] = json.loads(self.out)
        return loaded


class Command:
    """Runs `ringwood` in one home; words alone, unless arguments say otherwise."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Take the home and what puts streams back."""
        self._home = home
        self._monkeypatch = monkeypatch

    def __call__(self, *arguments: str, stdin: bytes = b"", encoding: str = "utf-8") -> Answer:
        """Run one command line on streams of an encoding."""
        out, err = io.BytesIO(), io.BytesIO()
        streams = {
            "stdin": io.TextIOWrapper(io.BytesIO(stdin), encoding),
            "stdout": io.TextIOWrapper(out, encoding),
            "stderr": io.TextIOWrapper(err, encoding),
        }
        with self._monkeypatch.context() as patch:
            for name, stream in streams.items():
                patch.setattr(sys, name, stream)
            code = run(["--home", str(self._home), "--space", "global", *arguments])
        for stream in streams.values():
            stream.flush()
        return Answer(code, out.getvalue().decode(encoding), err.getvalue().decode(encoding))
