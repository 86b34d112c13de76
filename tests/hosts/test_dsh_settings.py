"""What a row of DSH's configuration may set is a setting of Ringwood, and reaches it."""

from __future__ import annotations

import re
from pathlib import Path

import ringwood.hosts
from ringwood.config import load

PLUGIN = Path(ringwood.hosts.__file__).parent / "data" / "dsh" / "ringwood.js"


def variables() -> dict[str, str]:
    """Read the names of a row and the environment variables that the plugin makes of them."""
    text = PLUGIN.read_text("utf-8")
    [block] = re.findall(r"const SETTINGS = \{\n(.*?)\n\}", text, re.DOTALL)
    return dict(re.findall(r"(\w+): '(\w+)'", block))


def test_every_setting_of_a_row_is_one_of_ours(tmp_path: Path) -> None:
    values = {"true": ("dropColdVectors", "vacuumAfterRotate"), "0.5": ("expansionDamping",)}
    by_name = {name: value for value, names in values.items() for name in names}
    known = variables()
    assert len(known) >= 6

    for name, variable in known.items():
        value = by_name.get(name, "7")
        assert load(str(tmp_path), {variable: value}) != load(str(tmp_path), {}), name


def test_a_row_can_let_rotations_compact(tmp_path: Path) -> None:
    variable = variables()["vacuumAfterRotate"]

    assert load(str(tmp_path), {variable: "true"}).tiers.vacuum_after_rotate
    assert not load(str(tmp_path), {}).tiers.vacuum_after_rotate
