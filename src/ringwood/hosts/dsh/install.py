"""Put the plugin's row into a DSH home and take it out again, file by file."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import unified_diff
from importlib.resources import files
from pathlib import Path
from typing import Any

from ringwood.durable import draft_of, replacing
from ringwood.errors import ConfigError, StorageError, refusal
from ringwood.hosts.dsh.patch import Row, install_row, installed_row, remove_row

PATCH_FILE = "cordis.patch.yml"
BACKUP = ".ringwood-backup"
"""Ending of the copy that keeps the file as it was before the row."""


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of the host's file."""

    file: Path
    """Where it is; links are followed."""
    before: str | None
    """Its text; None where there is none."""
    after: str | None
    """Its text afterwards; None where it goes."""

    def diff(self) -> str:
        """Write the change as people read it; empty where there is none."""
        before, after = ((text or "").splitlines(keepends=True) for text in self._texts())
        lines = unified_diff(before, after, str(self.file), str(self.file))
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)

    def _texts(self) -> tuple[str | None, str | None]:
        return self.before, self.after


def default_home() -> Path:
    """Return where DSH lives: `DSH_HOME`, else `~/.dsh`."""
    return Path(os.environ.get("DSH_HOME") or "~/.dsh").expanduser()


def plugin_file() -> Path:
    """Return the plugin's file, which lies in this package."""
    return Path(str(files("ringwood.hosts").joinpath("data", "dsh", "ringwood.js")))


def row_of(config: Mapping[str, Any]) -> Row:
    """Build the row for this installation: its plugin, and the interpreter that runs it now.

    `-P` keeps the interpreter from looking for modules in a working directory.
    """
    script = plugin_file()
    command = [sys.executable, "-P", "-m", "ringwood", "dsh", "child"]
    name = script.as_uri() if sys.platform == "win32" else str(script)
    return Row(name, {"command": command, **config})


def installed(dsh_home: Path) -> Row | None:
    """Return the row that is in a DSH home; None where there is none.

    Raises:
        ConfigError: when the file is no list of changes.
    """
    return installed_row(_text(_patch_file(dsh_home)))


def install(dsh_home: Path, row: Row, *, dry_run: bool = False) -> Change:
    """Put the row into the home's file, with a copy of the file as it was. Idempotent.

    Raises:
        ConfigError: when the file cannot take it; then it is as it was.
        StorageError: when the disk refuses; then it is as it was.
    """
    file = _patch_file(dsh_home)
    before = _text(file)
    change = Change(file, before, install_row(before, row))
    if not dry_run and change.after != before:
        backup = file.with_name(file.name + BACKUP)
        original = remove_row(before)
        if original is not None:
            _write(backup, original)
        _write(file, change.after or "")
    return change


def uninstall(dsh_home: Path, *, dry_run: bool = False) -> Change:
    """Take the row out of the home's file, which is then byte for byte as it was. Idempotent.

    Raises:
        ConfigError: when the row's marks are damaged; then the file is as it was.
        StorageError: when the disk refuses; then it is as it was.
    """
    file = _patch_file(dsh_home)
    before = _text(file)
    change = Change(file, before, remove_row(before))
    if not dry_run and change.after != before:
        if change.after is None:
            file.unlink()
        else:
            _write(file, change.after)
        backup = file.with_name(file.name + BACKUP)
        if _text(backup) == change.after:
            backup.unlink(missing_ok=True)
    return change


def _patch_file(dsh_home: Path) -> Path:
    return (
        dsh_home.expanduser() / PATCH_FILE
    ).resolve()  # a link into somebody's dotfiles stays one


def _text(file: Path) -> str | None:
    try:
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not UTF-8.", mend=f"save {file} as UTF-8") from error
    except OSError as error:
        raise StorageError(
            f"{file} cannot be read: {error.strerror}.", mend=f"check the permissions of {file}"
        ) from error


def _write(file: Path, text: str) -> None:
    """Replace a file in one step, with the mode that it has."""
    draft = draft_of(str(file))
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        mode = file.stat().st_mode & 0o7777 if file.exists() else 0o644
        with replacing(str(file), draft=draft) as opened:
            opened.write(text.encode())
            Path(draft).chmod(mode)
    except OSError as error:
        raise refusal(error, f"{file} cannot be written") from error
