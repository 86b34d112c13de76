"""The plugin's file of tools says what the tools are, in the words that the host takes."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from typing import Any

from ringwood import config
from ringwood.hosts.dsh.install import plugin_file
from ringwood.serve.dsh.child import PROTOCOL
from ringwood.serve.dsh.offer import offer
from ringwood.serve.tools import TOOLS

TAKEN = {"type", "properties", "required", "description", "title", "default", "enum"}
"""Of JSON Schema, what both releases take and we use; at another keyword they refuse a tool."""
REMAKE = (
    "python -c 'from ringwood.serve.dsh.offer import offer; print(offer(), end=str())'"
    " > src/ringwood/hosts/data/dsh/tools.json"
)


def keywords(schema: dict[str, Any]) -> set[str]:
    """Return every keyword that a schema uses, those of its properties included."""
    below = [keywords(each) for each in schema.get("properties", {}).values()]
    return set(schema).union(*below)


def test_the_file_beside_the_plugin_is_what_the_tools_are_now() -> None:
    assert plugin_file().with_name("tools.json").read_text("utf-8") == offer(), REMAKE


def test_every_tool_is_offered_in_the_schema_that_the_host_takes() -> None:
    offered = json.loads(offer())["tools"]

    assert [tool["name"] for tool in offered] == [tool.name for tool in TOOLS]
    for tool in offered:
        assert keywords(tool["parameters"]) <= TAKEN
    assert any("minimum" in json.dumps(dict(tool.parameters)) for tool in TOOLS)  # left out above


def test_nothing_offered_is_a_template_to_the_host() -> None:
    assert "{{" not in offer().replace("\n", "").replace(" ", "").replace('":{"', "")


def test_plugin_and_child_speak_the_same_protocol() -> None:
    [declared] = re.findall(r"^const PROTOCOL = (\d+)$", plugin_file().read_text("utf-8"), re.M)

    assert int(declared) == PROTOCOL


def test_what_a_row_may_set_are_settings_that_there_are() -> None:
    table = re.findall(r"^  (\w+): '(RINGWOOD_\w+)',$", plugin_file().read_text("utf-8"), re.M)
    known = {
        f"RINGWOOD_{section.name}_{option.name}".upper()
        for section in fields(config.Config)
        for option in fields(getattr(config.Config(), section.name))
    }

    assert len(table) == 6
    assert {variable for key, variable in table if key != "vacuumAfterRotate"} <= known
