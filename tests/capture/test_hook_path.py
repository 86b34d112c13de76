"""What a hook imports to keep what was said is small, and stays so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FORBIDDEN = {
    "apsw",
    "asyncio",
    "click",
    "contextlib",
    "dataclasses",
    "inspect",
    "logging",
    "numpy",
    "pathlib",
    "regex",
    "sentencex",
    "subprocess",
    "tempfile",
    "tomlkit",
    "typing",
    "unittest",
    "urllib",
}
"""Each of them costs a hook as much as all of its own work, or leads to what does."""

KEEP = """
import sys
from ringwood.capture import consent, exchange, spool
home = sys.argv[1]
assert not consent.is_paused(home, home)
said = "Please read the token handling in the key store, and do recall the memory limits. " * 25
event = exchange.admit(host="codex", session="s", sequence="", kind="person", text=said,
    at=0.0, directory=home)
spool.append(home, event)
"""


def modules_after(code: str, *arguments: str) -> set[str]:
    """Run code in a fresh interpreter without site packages' start-up hooks; list its modules."""
    whole = f"{code}\nimport sys\nprint(*sys.modules)"
    source = str(Path(__file__).resolve().parents[2] / "src")
    start = f"import sys; sys.path.insert(0, {source!r})\n"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", start + whole, *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_keeping_what_was_said_imports_nothing_dear(tmp_path: Path) -> None:
    loaded = modules_after(KEEP, str(tmp_path / "home"))

    assert {"ringwood.capture.spool", "ringwood.text.redact", "json"} <= loaded
    assert loaded & FORBIDDEN == set()
    assert (tmp_path / "home" / "spool").is_dir()


def test_what_is_forbidden_would_be_seen() -> None:
    assert (
        modules_after("import dataclasses, pathlib, logging")
        >= {
            "dataclasses",
            "pathlib",
            "logging",
            "contextlib",
        }
        & FORBIDDEN
    )


def test_importing_compiles_no_pattern(tmp_path: Path) -> None:
    counted = (
        "import re, json, fnmatch\n"
        "before = len(re._cache)\n"
        "from ringwood.capture import consent, exchange, spool\n"
        "assert len(re._cache) == before, list(re._cache)\n"
    )

    assert "ringwood.capture.spool" in modules_after(counted)
