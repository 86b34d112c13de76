"""Pages of the mirror that somebody who died left go when no document has them, and only then."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ringwood.engine.sqlite import open_engine
from ringwood.memory import Memory
from ringwood.write.mirror import PAGE

TEXT = "# Plan\n\nThe canary sings at dawn."
DIES_BEFORE_IT_IS_TOLD = """
import os, sys
from ringwood.memory import Memory
from ringwood.write import mirror
mirror.is_there = lambda root, relative: os._exit(9)
with Memory.open(sys.argv[1], embedder="words") as memory:
    memory.store(sys.argv[2], source="plan")
    memory.wait()
"""
DIES_WHEN_THE_TEXT_IS_GONE = """
import os, sys
from ringwood.memory import Memory
from ringwood.write import forget, mirroring, strays

def overtaken(erasure, document, file):
    # Whoever writes the mirror comes to it just now.
    mirroring.refresh(erasure.engine, erasure.mirror_root)
    return ()

forget._remove_file = overtaken
strays.is_taken = lambda reader, space, path: os._exit(9)
with Memory.open(sys.argv[1], embedder="words", wait_s=0.0) as memory:
    memory.forget(source="plan")
"""

DIES_WHEN_THE_PAGE_IS_GONE_AND_ANOTHER_WAS_AT_IT = """
import os, sys
from pathlib import Path
from ringwood.engine.sqlite import open_engine
from ringwood.memory import Memory
from ringwood.write import mirror

engine = open_engine(Path(sys.argv[1]), create=False)
with engine.reading() as reader:
    documents = reader.roots("global")
with engine.writing() as writer:
    notes = mirror.note_pages(writer, documents)
note_pages, remove_file = mirror.note_pages, mirror.remove_file

def overtaken(writer, documents):
    # Whoever wrote the page is done when this one has noted that it goes.
    mine = note_pages(writer, documents)
    mirror.drop_notes(writer, notes)
    return mine

def dies(root, file):
    remove_file(root, file)
    os._exit(9)

mirror.note_pages, mirror.remove_file = overtaken, dies
with Memory.open(sys.argv[1], embedder="words", wait_s=0.0) as memory:
    memory.forget(sys.argv[2])
"""

DIES_WHEN_THE_PAGE_IS_GONE = """
import os, sys
from ringwood.memory import Memory
from ringwood.write import mirror

remove_file = mirror.remove_file

def dies(root, file):
    remove_file(root, file)
    os._exit(9)

mirror.remove_file = dies
with Memory.open(sys.argv[1], embedder="words", wait_s=0.0) as memory:
    memory.forget(sys.argv[2])
"""


def dies(program: str, *arguments: object) -> None:
    command = [sys.executable, "-c", program, *map(str, arguments)]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    assert ended.returncode == 9, ended.stderr


def pages(home: Path) -> list[str]:
    root = home / "mirror"
    return sorted(each.relative_to(root).as_posix() for each in root.rglob("*.md"))


def notes(home: Path) -> int:
    engine = open_engine(home, create=False)
    with engine.reading() as reader:
        found = len(reader.under_way(PAGE))
    engine.close()
    return found


def test_a_page_that_nobody_was_told_of_goes_when_its_document_has_another_path(
    tmp_path: Path,
) -> None:
    dies(DIES_BEFORE_IT_IS_TOLD, tmp_path, TEXT)
    assert (pages(tmp_path), notes(tmp_path)) == (["global/plan.md"], 1)

    with Memory.open(tmp_path, embedder="words") as memory:
        memory.store("# Deed\n\nThe canary is fed.", source="plan")
        assert memory.wait()

    assert (pages(tmp_path), notes(tmp_path)) == (["global/deed.md"], 0)


def test_a_page_that_nobody_was_told_of_stays_when_its_document_does(tmp_path: Path) -> None:
    dies(DIES_BEFORE_IT_IS_TOLD, tmp_path, TEXT)
    mine = tmp_path / "mirror" / "global" / "mine.md"
    mine.write_text("A person's own file.", "utf-8")

    with Memory.open(tmp_path, embedder="words") as memory:
        memory.recall("canary")
        assert memory.wait()

    assert (pages(tmp_path), notes(tmp_path)) == (["global/mine.md", "global/plan.md"], 0)
    assert mine.read_text("utf-8") == "A person's own file."


@pytest.mark.parametrize(
    "program", [DIES_WHEN_THE_PAGE_IS_GONE, DIES_WHEN_THE_PAGE_IS_GONE_AND_ANOTHER_WAS_AT_IT]
)
@pytest.mark.parametrize("address", ["global:/plan", "global:/plan/birds"])
def test_a_document_whose_page_is_gone_when_it_was_not_forgotten_after_all_has_it_again(
    tmp_path: Path, address: str, program: str
) -> None:
    with Memory.open(tmp_path, embedder="words") as memory:
        memory.store(f"{TEXT}\n\n## Birds\n\nA canary eats seeds.", source="plan")
    dies(program, tmp_path, address)
    assert (pages(tmp_path), notes(tmp_path)) == ([], 1)

    with Memory.open(tmp_path, embedder="words") as memory:
        memory.recall("canary")
        assert memory.wait()

    assert (pages(tmp_path), notes(tmp_path)) == (["global/plan.md"], 0)


def test_a_page_written_while_its_text_was_being_forgotten_is_gone_before_the_text(
    tmp_path: Path,
) -> None:
    with Memory.open(tmp_path, embedder="words") as memory:
        memory.store(TEXT, source="plan")
    (tmp_path / "mirror" / "global" / "plan.md").unlink()
    engine = open_engine(tmp_path, create=False)
    with engine.writing() as writer:
        writer.set_mirrored(1, "", "global/plan.md")
    engine.close()

    dies(DIES_WHEN_THE_TEXT_IS_GONE, tmp_path)

    assert pages(tmp_path) == []
    with Memory.open(tmp_path, embedder="words") as memory:
        assert not memory.recall("canary").hits
