"""Which space a directory belongs to, and what it is called."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ringwood.capture.space import free_name, space_key, space_slug
from ringwood.names import GLOBAL


def git(folder: Path, *arguments: str) -> None:
    command = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def test_every_folder_of_a_repository_is_one_space(repository: Path) -> None:
    deep = repository / "src" / "deep"
    deep.mkdir(parents=True)

    assert space_key(str(deep)) == space_key(str(repository)) == str(repository / ".git")


def test_worktrees_share_the_space_of_their_repository(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", str(tmp_path / "elsewhere"))

    assert space_key(str(tmp_path / "elsewhere")) == space_key(str(repository))
    assert space_slug(space_key(str(tmp_path / "elsewhere"))) == "app"


def test_a_link_leads_to_the_space_of_what_it_points_at(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(repository)

    assert space_key(str(tmp_path / "link")) == space_key(str(repository))


def test_a_folder_outside_any_repository_is_its_own_space(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()

    assert space_key(str(one)) == str(one)
    assert space_key(str(one)) != space_key(str(two))


@pytest.mark.parametrize("place", ["", "/", "/no/such/folder", os.path.expanduser("~")])  # noqa: PTH111 - as a host names it
def test_no_folder_the_root_and_the_home_folder_are_global(place: str) -> None:
    assert space_key(place) is None
    assert space_slug(space_key(place)) == GLOBAL


def test_a_broken_pointer_of_a_worktree_makes_the_folder_its_own_space(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("no pointer at all", "utf-8")

    assert space_key(str(tmp_path)) == str(tmp_path)


@pytest.mark.parametrize(
    ("key", "slug"),
    [
        ("/a/App Server/.git", "app-server"),
        ("/a/app.git", "app"),
        ("/a/中文 笔记", "中文-笔记"),
        ("/a/ＡＰＰ", "app"),
        ("/a/...", "space"),
        ("/a/Global", "global-folder"),
        ("/a/" + "x" * 300, "x" * 60),
    ],
)
def test_a_space_is_called_as_its_folder(key: str, slug: str) -> None:
    assert space_slug(key) == slug


def test_a_name_that_another_space_has_gets_a_number() -> None:
    assert free_name("app", {}) == "app"
    assert free_name("app", {"app", "app~2"}) == "app~3"


def test_a_folder_that_is_gone_keeps_to_the_space_that_it_was_in(tmp_path: Path) -> None:
    repository = tmp_path / "app"
    (repository / ".git").mkdir(parents=True)

    assert space_key(str(repository / "worktrees" / "one")) == space_key(str(repository))
    assert space_key(str(tmp_path / "plain" / "deep")) == str(tmp_path)


def test_a_path_of_no_length_that_exists_costs_nothing() -> None:
    assert space_key("/tmp" + "/x" * 1_000_000) is None


def test_the_key_of_a_folder_whose_name_is_no_text_can_be_stored(tmp_path: Path) -> None:
    odd, other = tmp_path / "caf\udce9", tmp_path / "caf\udcea"
    odd.mkdir()
    other.mkdir()

    keys = [space_key(str(odd)), space_key(str(other))]

    assert [key and key.encode("utf-8") for key in keys] == [
        f"{tmp_path}/caf\\xe9".encode(),
        f"{tmp_path}/caf\\xea".encode(),
    ]
