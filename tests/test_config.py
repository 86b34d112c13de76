"""Settings: whatever the file or the environment holds, a call ends in values or in ConfigError."""

from __future__ import annotations

from pathlib import Path

import pytest

from ringwood import config
from ringwood.errors import ConfigError

SHAPELESS = {
    "no TOML": b"[budget\n",
    "no text": b"\xff\xfe\x00",
    "a value for a section": b"budget = 3\n",
    "a list for a section": b"[[budget]]\nmax_nodes = 1\n",
    "a number beyond conversion": b"[budget]\nmax_nodes = " + b"9" * 5000 + b"\n",
    "nesting beyond the interpreter": b"a = " + b"[" * 20_000 + b"\n",
}
"""Files that nothing can be written into."""
UNFIT = {
    "a table for a value": b"[budget.max_nodes]\nx = 1\n",
    "an unknown section": b"[nope]\nx = 1\n",
    "an endless number": b"[budget]\nmax_nodes = inf\n",
    "a number beyond floats": b"[budget]\nmax_nodes = " + b"9" * 400 + b"\n",
    "no number": b"[fusion]\ncosine = nan\n",
    "a NUL in a path": b'[tiers]\nwarm_path = "a\\u0000b"\n',
}
"""Files of which one value is wrong."""


@pytest.mark.parametrize("case", [*SHAPELESS, *UNFIT])
def test_a_file_of_no_settings_is_a_wrong_configuration(tmp_path: Path, case: str) -> None:
    (tmp_path / "config.toml").write_bytes((SHAPELESS | UNFIT)[case])

    with pytest.raises(ConfigError):
        config.load(str(tmp_path), {})


@pytest.mark.parametrize("case", SHAPELESS)
def test_nothing_is_written_into_what_is_no_settings_file(tmp_path: Path, case: str) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(SHAPELESS[case])

    with pytest.raises(ConfigError):
        config.set_value(str(tmp_path), "budget.max_nodes", "8")

    assert file.read_bytes() == SHAPELESS[case]


def test_a_file_as_windows_saves_it_is_read_and_written(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(b"\xef\xbb\xbf[budget]\r\nmax_nodes = 3 # few\r\n")

    assert config.load(str(tmp_path), {}).budget.max_nodes == 3
    config.set_value(str(tmp_path), "budget.max_nodes", "4")

    assert config.load(str(tmp_path), {}).budget.max_nodes == 4
    assert "# few" in file.read_text("utf-8")


@pytest.mark.parametrize("value", ["0", "-1", "1e400", "nan", "x", "1.5", "9" * 5000])
def test_a_number_that_the_parser_cannot_work_with_is_refused(tmp_path: Path, value: str) -> None:
    with pytest.raises(ConfigError, match="a whole number from 1"):
        config.load(str(tmp_path), {"RINGWOOD_PARSE_MAX_LEAF_CHARS": value})


@pytest.mark.parametrize("path", ["a\0b", "caf\udce9.db"])
def test_a_path_that_no_file_can_have_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(ConfigError):
        config.set_value(str(tmp_path), "tiers.warm_path", path)

    assert not (tmp_path / "config.toml").exists()
