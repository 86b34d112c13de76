"""A person who says no is heard: everywhere, in one space, or by a file in a folder."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from tests.scaling import grows_at_most

from ringwood.capture import consent


@pytest.fixture
def home(tmp_path: Path) -> str:
    return str(tmp_path / "home")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project three folders below the person's home folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    place = tmp_path / "code" / "clients" / "harbour"
    place.mkdir(parents=True)
    return place


def test_nothing_is_paused_at_first(home: str, folder: Path) -> None:
    assert not consent.is_paused(home, str(folder))
    assert not consent.is_paused(home, "")
    assert not Path(home).exists()


def test_a_pause_holds_everywhere_until_it_is_resumed(home: str, folder: Path) -> None:
    for _ in range(2):
        consent.pause(home, None)
        assert consent.is_paused(home, str(folder))
        assert consent.is_paused(home, "")
    for _ in range(2):
        consent.resume(home, None)
        assert not consent.is_paused(home, str(folder))


def test_a_pause_here_holds_in_the_space_and_nowhere_else(home: str, folder: Path) -> None:
    (folder / ".git").mkdir()
    inside, beside = folder / "src", folder.parent / "depot"
    inside.mkdir()
    beside.mkdir()
    for _ in range(2):
        consent.pause(home, str(folder))

    assert consent.is_paused(home, str(inside))
    assert not consent.is_paused(home, str(beside))
    consent.resume(home, str(beside))
    assert consent.is_paused(home, str(inside))
    for _ in range(2):
        consent.resume(home, str(inside))
    assert not consent.is_paused(home, str(folder))


def test_resuming_everywhere_leaves_what_was_paused_by_itself(home: str, folder: Path) -> None:
    consent.pause(home, str(folder))
    consent.pause(home, None)

    consent.resume(home, None)

    assert consent.is_paused_here(home, str(folder))
    assert not consent.is_paused_everywhere(home)


def test_global_can_be_paused_by_itself(home: str, folder: Path) -> None:
    consent.pause(home, "/")

    assert consent.is_paused(home, "")
    assert not consent.is_paused(home, str(folder))


def test_a_folder_whose_name_is_no_text_can_be_paused(home: str, folder: Path) -> None:
    odd = folder / "caf\udce9 \u2028 \n name"
    odd.mkdir()

    consent.pause(home, str(odd))

    assert consent.is_paused(home, str(odd))
    assert not consent.is_paused(home, str(folder))


def test_what_is_paused_is_its_owners_business_alone(home: str, folder: Path) -> None:
    consent.pause(home, str(folder))

    assert stat.S_IMODE(Path(home).stat().st_mode) == 0o700
    assert stat.S_IMODE((Path(home) / consent.PAUSED_SPACES_FILE).stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [b"no JSON", b"5\n", b'["a"]\n', b"\xff\xfe"])
def test_a_list_that_cannot_be_read_counts_as_a_no_and_can_be_mended(
    home: str, folder: Path, content: bytes
) -> None:
    Path(home).mkdir()
    (Path(home) / consent.PAUSED_SPACES_FILE).write_bytes(content)

    assert consent.is_paused(home, str(folder))
    consent.resume(home, str(folder))
    assert not consent.is_paused(home, str(folder))


def test_a_list_that_is_a_folder_counts_as_a_no(home: str, folder: Path) -> None:
    (Path(home) / consent.PAUSED_SPACES_FILE).mkdir(parents=True)

    assert consent.is_paused(home, str(folder))


# The file lies in `code`; the directory is `code/clients/harbour`.
@pytest.mark.parametrize(
    "lines",
    [
        "*",
        "**",
        "/",
        ".",
        "clients",
        "clients/",
        "/clients",
        "harbour",
        "clients/harbour",
        "/clients/harbour/",
        "clients/*",
        "**/harbour",
        "clients/**",
        "**/clients/**/harbour",
        "harb*",
        "# a remark\n\nharbour",
        "!harbour\nharbour",
        "\ufeffharbour",
        "  harbour  \r\n",
    ],
)
def test_a_file_above_leaves_the_folder_out(home: str, folder: Path, lines: str) -> None:
    (folder.parents[1] / consent.IGNORE_FILE).write_text(lines, "utf-8")

    assert consent.is_paused(home, str(folder))
    assert not consent.is_paused(home, str(folder.parents[2]))


@pytest.mark.parametrize(
    "lines",
    [
        "",
        "depot",
        "# harbour",
        "/harbour",
        "harbour/clients",
        "clients/harbour/deeper",
        "*.md",
        "Harbour",
        "*\n!harbour",
        "clients\n!/clients/harbour",
        "*/harbour/**/x",
    ],
)
def test_a_file_that_means_something_else_leaves_it_in(home: str, folder: Path, lines: str) -> None:
    (folder.parents[1] / consent.IGNORE_FILE).write_text(lines, "utf-8")

    assert not consent.is_paused(home, str(folder))


def test_the_file_of_the_folder_itself_has_the_last_word(home: str, folder: Path) -> None:
    (folder.parents[1] / consent.IGNORE_FILE).write_text("*", "utf-8")
    assert consent.is_paused(home, str(folder))

    (folder / consent.IGNORE_FILE).write_text("!.", "utf-8")

    assert not consent.is_paused(home, str(folder))
    assert consent.is_paused(home, str(folder.parent))


def test_a_link_is_left_out_as_what_it_points_at_is(home: str, folder: Path) -> None:
    (folder / consent.IGNORE_FILE).write_text("*", "utf-8")
    link = folder.parents[2] / "link"
    link.symlink_to(folder)

    assert consent.is_paused(home, str(link))


@pytest.mark.parametrize("kind", ["folder", "pipe", "UTF-16", "link to nothing"])
def test_a_file_that_cannot_be_read_leaves_the_folder_out(
    home: str, folder: Path, kind: str
) -> None:
    file = folder / consent.IGNORE_FILE
    if kind == "folder":
        file.mkdir()
    elif kind == "pipe":
        os.mkfifo(file)
    elif kind == "UTF-16":
        file.write_text("*\n", "utf-16")
    else:
        file.symlink_to("nothing")

    assert consent.is_paused(home, str(folder))


@pytest.mark.parametrize("odd", ["a\0b", "/\ud800", "/" + "x" * 5_000, "nowhere/at/all", "/.."])
def test_what_is_no_folder_belongs_to_global_and_breaks_nothing(home: str, odd: str) -> None:
    assert not consent.is_paused(home, odd)

    consent.pause(home, odd)

    assert consent.is_paused(home, "")


def test_many_ways_of_matching_cost_no_more_than_few() -> None:
    def match(length: int) -> None:
        consent._leads(["**", "a"] * length, ["a"] * length + ["b"])

    assert grows_at_most(match, 10, 40, 20.0)
