"""The plugin's row in DSH's `cordis.patch.yml`, put in and taken out without touching the rest.

The file is the person's: a list of changes to the host's configuration, with comments. The row is
text between two marked lines, so it goes in and comes out byte for byte; YAML is only read, before
and after, to be sure that the file was a list of changes and still is one. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from ringwood.errors import ConfigError

ROW_ID = "ringwood"
"""The row's stable id."""
BEGIN = "# >>> ringwood >>>"
END = "# <<< ringwood <<<"

_NOTE = "# Written by `ringwood dsh install`; `ringwood dsh uninstall` takes it out."
_MADE = "# The file was made for it."
_OPEN = "# The line before it was open."
_INSTEAD = "# Instead of: "
_BLOCK = re.compile(
    rf"^[ ]*{re.escape(BEGIN)}\r?\n(?P<inside>.*?)^[ ]*{re.escape(END)}(?:\r?\n)?",
    re.DOTALL | re.MULTILINE,
)
_LONE_CR = re.compile(r"\r(?!\n)")
_EMPTY_LIST = re.compile(r"^\[[ ]*\][^\n]*(?:\n|\Z)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Row:
    """What the host is told of the plugin."""

    script: str
    """The plugin's file, absolute; a `file:` URL on Windows."""
    config: Mapping[str, Any]
    """Its settings, among them the command that starts the child."""


class _Loader(yaml.SafeLoader):
    """Reads what the host's own tags say as nothing: only the shape of the file matters here."""


_Loader.add_multi_constructor("", lambda loader, suffix, node: None)


def install_row(text: str | None, row: Row) -> str:
    """Return the file's text with the plugin's row; in place of the one it has, with its settings.

    Args:
        text: the file as it is, line ends kept; None where there is no file.
        row: what to put in. What the person set in the row that is there goes on to hold.

    Raises:
        ConfigError: when the file is no list of changes, or would not be one afterwards.
    """
    if text is not None and _LONE_CR.search(text):
        raise _no_list("its lines end in a bare carriage return")
    held = installed_row(text)
    before = remove_row(text)
    rows, indent = _read(before or "")
    if _configs(rows):
        raise ConfigError(
            f"There is a row {ROW_ID!r} that the installer did not write.",
            mend="take it out, then run ringwood dsh install again",
        )
    if held is not None:
        row = Row(row.script, {**held.config, **row.config})
    remarks = [_NOTE] if before is not None else [_NOTE, _MADE]
    before = before or ""
    newline = "\r\n" if "\r\n" in before else "\n"
    after = ""
    empty = None if rows else _EMPTY_LIST.search(before)
    if empty is not None:
        remarks.append(_INSTEAD + json.dumps(empty.group()))
        before, after = before[: empty.start()], before[empty.end() :]
    if before and not before.endswith("\n"):
        remarks.append(_OPEN)
        before += newline
    lines = [BEGIN, *remarks, *_lines(row), END]
    block = "".join(f"{' ' * indent}{line}{newline}" for line in lines)
    result = before + block + after
    if len(_configs(_read(result)[0])) != 1:
        raise _no_list("a row cannot be added to it")
    return result


def remove_row(text: str | None) -> str | None:
    """Return the text as it was before the row was put in; None where there was no file.

    Raises:
        ConfigError: when one of the two marked lines is gone.
    """
    if text is None:
        return None
    found = _BLOCK.search(text)
    if found is None:
        if BEGIN in text or END in text:
            raise ConfigError(
                "The lines that mark the plugin's row are no longer both there.",
                mend=f"take out the row {ROW_ID!r} and what is left of its marks by hand",
            )
        return text
    before, after = text[: found.start()], text[found.end() :]
    remarks = [line.strip() for line in found["inside"].splitlines()]
    if _OPEN in remarks:
        before = before.removesuffix("\n").removesuffix("\r")
    instead = [line.removeprefix(_INSTEAD) for line in remarks if line.startswith(_INSTEAD)]
    rest = before + (json.loads(instead[0]) if instead else "") + after
    return None if _MADE in remarks and not rest else rest


def installed_row(text: str | None) -> Row | None:
    """Return the row that the installer put in; None where there is none.

    Raises:
        ConfigError: when the file is no list of changes.
    """
    if text is None or _BLOCK.search(text) is None:
        return None
    found = _configs(_read(text)[0])
    return found[0] if found else None


def _read(text: str) -> tuple[list[Any], int]:
    """Read the list of changes, and the column in which its items begin."""
    try:
        loader = _Loader(text)  # refuses control characters
        try:
            node = loader.get_single_node()
            rows = None if node is None else loader.construct_document(node)
        finally:
            loader.dispose()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _no_list(str(error).replace("\n", " ")[:200]) from error
    if rows is None:
        return [], 0
    if not isinstance(node, yaml.SequenceNode) or not isinstance(rows, list):
        raise _no_list("it holds something else")
    if rows and node.flow_style:
        raise _no_list("it is written in brackets; write each change on lines of its own")
    return rows, 0 if node.flow_style else node.start_mark.column


def _configs(rows: list[Any]) -> list[Row]:
    """List the rows with our id, inserted or changed."""
    entries = [row for row in rows if isinstance(row, dict)]
    for row in list(entries):
        inserted = row.get("insert")
        entries += [each for each in inserted or () if isinstance(each, dict)]
    return [
        Row(str(entry.get("name")), dict(config) if isinstance(config, dict) else {})
        for entry in entries
        if entry.get("id") == ROW_ID
        for config in (entry.get("config"),)
    ]


def _lines(row: Row) -> list[str]:
    """Write the row; JSON is YAML, and needs no second set of rules for quoting."""
    settings = [
        f"        {name}: {json.dumps(value, ensure_ascii=False)}"
        for name, value in row.config.items()
    ]
    return [
        "- insert:",
        f"    - id: {ROW_ID}",
        f"      name: {json.dumps(row.script, ensure_ascii=False)}",
        "      config:" if settings else "      config: {}",
        *settings,
    ]


def _no_list(reason: str) -> ConfigError:
    return ConfigError(
        f"The file is no list of changes that a row can be added to: {reason}.",
        mend="correct it, or move it away, then run ringwood dsh install again",
    )
