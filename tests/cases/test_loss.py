"""A folder that is gone for a while takes nothing with it, and doubles nothing when it is back.

The mirror may lie on a disk that is not mounted, and so may the folder that notes came from.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ringwood.errors import UsageError
from ringwood.memory import Memory

NOTES = ("ash", "birch", "cedar")


def documents(memory: Memory) -> dict[str, str]:
    """Read every text by its id and path."""
    cards = memory.recent(limit=1000)
    return {f"{card.id} {card.path}": memory.read(card.path).source for card in cards}


def use(memory: Memory) -> None:
    """Do all that may look at the mirror."""
    memory.wait()
    memory.rotate()
    memory.dream()
    memory.compact()
    memory.verify(mend=True)
    memory.wait()


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name in NOTES:
        (folder / f"{name}.md").write_text(f"# {name.title()}\n\nThe {name} grows.\n", "utf-8")
    return folder


@pytest.mark.parametrize("is_used", [True, False])
def test_a_mirror_that_is_away_and_put_back_deletes_and_doubles_nothing(
    memory: Memory, tmp_path: Path, is_used: bool
) -> None:  # LOSS 115
    for name in NOTES:
        memory.store(f"The {name} grows.", path=f"trees/{name}")
    memory.wait()
    mirror, away = Path(memory.home) / "mirror", tmp_path / "away"
    pages = {page.relative_to(mirror): page.read_bytes() for page in mirror.rglob("*.md")}
    before = documents(memory)
    assert len(pages) == len(before) == 3

    mirror.rename(away)
    if is_used:
        use(memory)  # now there is a mirror again
    assert documents(memory) == before
    for page in pages:
        (mirror / page).parent.mkdir(parents=True, exist_ok=True)
        (away / page).replace(mirror / page)

    use(memory)
    assert documents(memory) == before
    assert {p.relative_to(mirror): p.read_bytes() for p in mirror.rglob("*.md")} == pages
    assert memory.verify().findings == ()
    for name in NOTES:
        assert [hit.text for hit in memory.recall(name).hits] == [f"The {name} grows."]


def empty(folder: Path, away: Path) -> None:
    """Leave the folder without its content, as that of a disk that is not mounted."""
    folder.rename(away)
    folder.mkdir()


def take_away(folder: Path, away: Path) -> None:
    folder.rename(away)


@pytest.mark.parametrize("gone", [empty, take_away])
def test_a_folder_of_notes_that_is_away_and_put_back_deletes_and_doubles_nothing(
    memory: Memory, notes: Path, tmp_path: Path, gone: Callable[[Path, Path], None]
) -> None:  # LOSS 115
    memory.import_notes([notes])
    before = documents(memory)
    assert len(before) == 3

    gone(notes, tmp_path / "away")
    if notes.exists():
        assert memory.import_notes([notes], prune=True).pruned == 0
        notes.rmdir()
    else:
        with pytest.raises(UsageError, match="notes"):
            memory.import_notes([notes], prune=True)
    assert documents(memory) == before

    (tmp_path / "away").rename(notes)
    again = memory.import_notes([notes], prune=True)
    assert (again.imported.documents, again.pruned) == ((), 0)
    assert documents(memory) == before

    # The control: a single note that is gone is pruned.
    (notes / "ash.md").unlink()
    assert memory.import_notes([notes], prune=True).pruned == 1
    assert len(documents(memory)) == 2
