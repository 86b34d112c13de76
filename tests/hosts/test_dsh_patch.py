"""The plugin's row goes into the host's file and out again, and everything else stays as it was."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ringwood.errors import ConfigError
from ringwood.hosts.dsh import install as installer
from ringwood.hosts.dsh.patch import BEGIN, END, Row, install_row, installed_row, remove_row

ROW = Row("/opt/ringwood.js", {"command": ["/usr/bin/python3", "-P"], "dataDir": "/srv/memory"})
FILES = {
    "an empty file": "",
    "a comment": "# mine\n",
    "a comment without a line end": "# mine",
    "an empty list": "[]\n",
    "the host's own first file": "# Your patch layer:\n# a list.\n[]\n",
    "an empty list with a remark": "# mine\n[]   # nothing yet\n\n# more\n",
    "an empty list without a line end": "[]",
    "one change": "- id: session-title-llm\n  disabled: true\n",
    "no line end at the end": "- id: tool-bash\n  disabled: true",
    "indented items": "  # mine\n  - id: tool-bash\n    disabled: true\n",
    "Windows line ends": "# mine\r\n- id: tool-bash\r\n  disabled: true\r\n",
    "Windows, no line end at the end": "- id: tool-bash\r\n  disabled: true",
    "a document mark": "---\n- id: tool-bash\n  disabled: true\n",
    "a byte order mark": "\ufeff- id: tool-bash\n  disabled: true\n",
    "the host's own tags": "- id: x\n  config: {key: !!js process.env.KEY, b: !custom {a: 1}}\n",
    "blank lines at the end": "- id: tool-bash\n  disabled: true\n\n\n",
    "a block of text at the end": "- id: x\n  config:\n    note: |\n      two\n      lines\n",
    "a text that keeps its line ends": "- id: x\n  note: |+\n    kept\n\n\n",
    "other letters": "- id: 记忆\n  note: '灯塔 🗼'\n",
}


class Loader(yaml.SafeLoader):
    """Reads the host's own tags as nothing."""


Loader.add_multi_constructor("", lambda loader, suffix, node: None)


def load(text: str) -> list[object]:
    rows: list[object] = yaml.load(text, Loader) or []
    return rows


@pytest.mark.parametrize("before", FILES.values(), ids=FILES)
def test_a_row_goes_in_as_one_more_change_and_comes_out_byte_for_byte(before: str) -> None:
    after = install_row(before, ROW)

    expected = {"id": "ringwood", "name": ROW.script, "config": dict(ROW.config)}
    assert load(after) == [*load(before), {"insert": [expected]}]
    assert installed_row(after) == ROW
    assert remove_row(after) == before
    assert install_row(after, ROW) == after


@given(
    st.lists(st.sampled_from(["# one\n", "\n", "- id: a\n  b: 1\n", "- c\n", "#\ttwo\n"])),
    st.booleans(),
    st.booleans(),
)
def test_any_list_comes_back_byte_for_byte(parts: list[str], windows: bool, open_: bool) -> None:
    before = "".join(parts)
    before = before.replace("\n", "\r\n") if windows else before
    before = before.rstrip("\r\n") if open_ else before

    assert remove_row(install_row(before, ROW)) == before


def test_a_file_that_was_made_for_the_row_goes_with_it_unless_somebody_used_it() -> None:
    made = install_row(None, ROW)

    assert remove_row(made) is None
    assert remove_row(made + "- id: mine\n") == "- id: mine\n"
    assert remove_row(install_row("", ROW)) == ""


def test_what_the_person_set_in_the_row_holds_when_it_is_written_anew() -> None:
    theirs = install_row("", ROW).replace(
        "        dataDir:", "        maxNodes: 3  # enough\n        dataDir:"
    )

    again = installed_row(install_row(theirs, Row("/new/ringwood.js", {"command": ["python"]})))

    assert again is not None
    assert again.script == "/new/ringwood.js"
    assert again.config == {"command": ["python"], "maxNodes": 3, "dataDir": "/srv/memory"}


@pytest.mark.parametrize(
    "text",
    [
        "just: a mapping\n",
        "a text\n",
        "[{id: x}]\n",
        "- a\n- [unclosed\n",
        "- a\n...\n",
        "- a\n---\n- b\n",
        "- {insert: [{id: ringwood, name: mine}]}\n",
        "- id: ringwood\n  disabled: true\n",
        f"{BEGIN}\n- id: x\n",
        f"- id: x\n{END}\n",
        "- &a [*a]\n- \t- tab\n",
        "-" * 5000 + "\n",
        "- a\0\n",
        "- a\r- b\r",
    ],
)
def test_a_file_that_cannot_take_the_row_is_refused_with_a_way_out(text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        install_row(text, ROW)

    assert refused.value.mend


def test_installing_keeps_the_mode_the_link_and_a_copy(tmp_path: Path) -> None:
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    kept = dotfiles / "dsh.yml"
    kept.write_bytes(b"# mine\r\n- id: tool-bash\r\n  disabled: true")
    kept.chmod(0o640)
    home = tmp_path / "dsh"
    home.mkdir()
    (home / installer.PATCH_FILE).symlink_to(kept)
    before = kept.read_bytes()

    installer.install(home, ROW)
    installer.install(home, ROW)

    assert (home / installer.PATCH_FILE).is_symlink()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o640
    assert kept.read_bytes() != before
    assert kept.with_name("dsh.yml" + installer.BACKUP).read_bytes() == before
    installer.uninstall(home)
    assert kept.read_bytes() == before
    assert sorted(each.name for each in dotfiles.iterdir()) == ["dsh.yml"]


def test_a_try_writes_nothing_and_shows_the_lines(tmp_path: Path) -> None:
    change = installer.install(tmp_path / "dsh", ROW, dry_run=True)

    assert "+    - id: ringwood" in change.diff()
    assert not (tmp_path / "dsh").exists()
    assert installer.uninstall(tmp_path / "dsh").diff() == ""


def test_the_row_runs_this_interpreter_without_modules_of_a_working_directory() -> None:
    row = installer.row_of({})

    assert row.config["command"] == [sys.executable, "-P", "-m", "ringwood", "dsh", "child"]
    assert Path(row.script).is_file()
