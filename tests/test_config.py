"""Settings: where they come from, and that none of them can break recall."""

from __future__ import annotations

from pathlib import Path

import pytest

from ringwood import config
from ringwood.errors import ConfigError


def test_argument_free_precedence_is_environment_then_file_then_default(tmp_path: Path) -> None:
    home = str(tmp_path)
    assert config.load(home, {}).budget.max_nodes == 6

    config.set_value(home, "budget.max_nodes", "9")
    assert config.load(home, {}).budget.max_nodes == 9
    assert config.load(home, {"RINGWOOD_BUDGET_MAX_NODES": "3"}).budget.max_nodes == 3


def test_setting_a_value_keeps_what_a_person_wrote_around_it(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("# mine\n[budget]\nmax_chars = 5000 # wide\n", "utf-8")

    config.set_value(str(tmp_path), "budget.max_nodes", "9")

    text = file.read_text("utf-8")
    assert "# mine" in text
    assert "max_chars = 5000 # wide" in text
    assert "max_nodes = 9" in text


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("priors.recency_days", "0"),
        ("floor.asked", "7"),
        ("floor.asked", "-0.1"),
        ("floor.cosine_zero", "1"),
        ("budget.max_nodes", "0"),
        ("budget.max_nodes", "2.5"),
        ("spread.expansion_damping", "5"),
        ("candidates.top_k", "0"),
        ("worker.lease_s", "0"),
        ("link.threshold", "nan"),
        ("parse.max_leaf_chars", "0"),
        ("mirror.enabled", "perhaps"),
        ("no.such", "1"),
        ("budget", "1"),
    ],
)
def test_a_value_out_of_range_is_refused_wherever_it_comes_from(
    tmp_path: Path, key: str, value: str
) -> None:
    home = str(tmp_path)
    with pytest.raises(ConfigError) as refused:
        config.set_value(home, key, value)
    assert refused.value.mend
    assert not (tmp_path / "config.toml").exists()

    section, _, name = key.partition(".")
    (tmp_path / "config.toml").write_text(f"[{section}]\n{name or 'x'} = {value!r}\n", "utf-8")
    with pytest.raises(ConfigError):
        config.load(home, {})


@pytest.mark.parametrize("text", ["[budget", "budget = 1", "\x00", "[a.b.c]\nx=1"])
def test_a_file_that_is_no_settings_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.toml").write_text(text, "utf-8")

    with pytest.raises(ConfigError):
        config.load(str(tmp_path), {})
