"""The Markdown mirror: complete, private, in step, and never led astray by a link."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from ringwood.errors import StorageError
from ringwood.memory import Memory
from ringwood.write.mirror import remove_file, write_file


def mirror_of(memory: Memory) -> Path:
    return Path(memory.home) / "mirror"


def page(file: Path) -> tuple[dict[str, str], str]:
    _, card, text = file.read_bytes().decode().split("---\n", 2)
    return yaml.safe_load(card), text


def test_every_document_is_a_file_with_its_card_and_its_exact_text(memory: Memory) -> None:
    text = '---\ntitle: "Own: front matter"\n---\n\n# Heading\r\n\nText\twith 中文.'
    receipt = memory.store(text, source='odd "source"\n\x07')
    memory.wait()

    card, body = page(mirror_of(memory) / "global" / "own-front-matter.md")

    assert body == text
    assert card["id"] == receipt.document
    assert card["source"] == 'odd "source"\n\x07'
    assert card["space"] == "global"


def test_an_edit_replaces_the_file_and_a_new_path_moves_it(memory: Memory) -> None:
    memory.store("# One\n\nText.", source="s")
    memory.wait()
    memory.store("# Two\n\nText.", source="s")
    memory.wait()

    files = [str(each.relative_to(mirror_of(memory))) for each in mirror_of(memory).rglob("*.md")]
    assert files == ["global/two.md"]


def test_a_second_mirroring_changes_no_byte(memory: Memory) -> None:
    memory.store("---\ntitle: T\n---\nBody.", source="s")
    memory.wait()
    file = mirror_of(memory) / "global" / "t.md"
    before = file.read_bytes(), file.stat().st_mtime_ns

    memory.store("---\ntitle: T\n---\nBody.", source="s")
    memory.wait()

    assert (file.read_bytes(), file.stat().st_mtime_ns) == before


def test_files_and_folders_are_private_from_the_start(memory: Memory) -> None:
    old = os.umask(0o022)
    try:
        memory.store("Private.", path="/a/b/c")
        memory.wait()
    finally:
        os.umask(old)

    for each in (mirror_of(memory), *mirror_of(memory).rglob("*")):
        assert stat.S_IMODE(each.stat().st_mode) == (0o700 if each.is_dir() else 0o600), each


def test_a_symbolic_link_is_never_followed(memory: Memory, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    victim = outside / "victim"
    victim.write_text("untouched", "utf-8")
    (mirror_of(memory)).mkdir(parents=True)
    (mirror_of(memory) / "global").symlink_to(outside)

    memory.store("Text that goes nowhere.", path="/victim")
    assert not memory.wait()

    assert [each.name for each in outside.iterdir()] == ["victim"]
    assert victim.read_text("utf-8") == "untouched"
    assert memory.recall("nowhere").hits
    assert any("mirror" in note for note in memory.stats().notes)
    assert memory.stats().unmirrored == 1


def test_a_link_in_the_place_of_a_file_is_replaced_and_its_target_stays(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("untouched", "utf-8")
    root = tmp_path / "mirror"
    (root / "s").mkdir(parents=True)
    (root / "s" / "a.md").symlink_to(victim)

    write_file(str(root), "s/a.md", "new")

    assert victim.read_text("utf-8") == "untouched"
    assert (root / "s" / "a.md").read_text("utf-8") == "new"
    assert not (root / "s" / "a.md").is_symlink()


def test_an_unwritable_mirror_loses_no_memory_and_catches_up(memory: Memory) -> None:  # res-04
    mirror_of(memory).parent.mkdir(parents=True, exist_ok=True)
    mirror_of(memory).write_text("a file in the way", "utf-8")
    memory.store("Kept all the same.")
    assert not memory.wait()
    assert memory.stats().unmirrored == 1
    assert memory.recall("kept").hits

    mirror_of(memory).unlink()
    memory.store("Another.")
    assert memory.wait()

    assert len(list(mirror_of(memory).rglob("*.md"))) == 2


@pytest.mark.parametrize("space", ["", "*", "../../etc", "a/b", "CON", "x" * 300, "中文", "."])
def test_any_space_name_stays_below_the_mirror(tmp_path: Path, space: str) -> None:
    home = tmp_path / "deep" / "home"
    with Memory.open(home, space=space, embedder="words") as memory:
        memory.store("Text.")
        memory.wait()

        files = list(tmp_path.rglob("text.md"))
        assert len(files) == 1
        assert files[0].resolve().is_relative_to(mirror_of(memory).resolve())
        assert memory.recall("text").hits


def test_removing_takes_empty_folders_along_and_nothing_else(tmp_path: Path) -> None:
    root = str(tmp_path / "mirror")
    write_file(root, "s/a/b/one.md", "1")
    write_file(root, "s/a/two.md", "2")

    assert remove_file(root, "s/a/b/one.md")
    assert not remove_file(root, "s/a/b/one.md")

    assert not (tmp_path / "mirror" / "s" / "a" / "b").exists()
    assert (tmp_path / "mirror" / "s" / "a" / "two.md").exists()


def test_a_folder_in_the_place_of_a_file_is_an_error_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "mirror" / "s" / "a.md").mkdir(parents=True)

    with pytest.raises(StorageError, match=r"s/a\.md"):
        write_file(str(tmp_path / "mirror"), "s/a.md", "text")


def test_what_a_killed_process_left_half_written_is_forgotten_too(memory: Memory) -> None:
    text = "# Plan\n\nThe canary sings at dawn."
    receipt = memory.store(text)
    memory.wait()
    killed = (
        "import os, sys\n"
        "from ringwood.write.mirror import write_file\n"
        "os.replace = lambda *names, **folders: os._exit(9)\n"
        "write_file(*sys.argv[1:])\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", killed, mirror_of(memory), "global/plan.md", text], check=False
    )
    left = [each.name for each in mirror_of(memory).rglob("*") if each.is_file()]

    memory.forget(document=receipt.document)

    assert ended.returncode == 9
    assert len(left) == 2
    assert [each for each in mirror_of(memory).rglob("*") if each.is_file()] == []


def test_a_folder_in_the_way_of_one_file_holds_up_no_other_and_no_forgetting(
    memory: Memory,
) -> None:
    blocked = mirror_of(memory) / "global" / "blocked.md"
    (blocked / "mine").mkdir(parents=True)
    receipt = memory.store("# Blocked\n\nThe canary sings.")
    memory.store("# Free\n\nText.")

    assert memory.wait() is False
    assert (mirror_of(memory) / "global" / "free.md").is_file()

    forgotten = memory.forget(document=receipt.document)

    assert (forgotten.documents, memory.recall("canary").hits) == (1, ())
    assert (blocked / "mine").is_dir()
