"""What the DSH plugin offers before its child is up: the policy line and the tools, as a file.

The host asks for tools while it starts, and does not wait for Python. So they lie beside the plugin
as `hosts/data/dsh/tools.json`, made from the same table that MCP serves.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ringwood.recall.frame import POLICY
from ringwood.serve.tools import TOOLS

_KEYWORDS = (
    "type",
    "oneOf",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "description",
    "title",
    "default",
)
"""Of JSON Schema, what the host takes: at any other keyword it refuses the tool."""


def offer() -> str:
    """Write the policy line and every tool as the host wants them, as JSON with a final newline."""
    tools = [
        {
            "name": tool.name,
            "description": tool.description,
            "parameters": _reduced(tool.parameters),
        }
        for tool in TOOLS
    ]
    return json.dumps({"policy": POLICY, "tools": tools}, ensure_ascii=False, indent=2) + "\n"


def _reduced(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what the host does not take: `arguments.fit` judges the bounds."""
    kept = {name: schema[name] for name in _KEYWORDS if name in schema}
    if "properties" in kept:
        kept["properties"] = {name: _reduced(each) for name, each in kept["properties"].items()}
    return kept
