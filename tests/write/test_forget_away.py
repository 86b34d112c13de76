"""Forgetting while a tier is away: what it holds of the text is read by nobody when it is back."""

from __future__ import annotations

import shutil
from contextlib import closing, suppress
from pathlib import Path

import apsw
import pytest
from tests.engine.moving import FILES, move_by_hand

from ringwood.engine.sqlite import open_engine
from ringwood.engine.sqlite.engine import tier_paths
from ringwood.engine.sqlite.read_only import ReadOnlyEngine
from ringwood.errors import AddressError
from ringwood.memory import Memory
from ringwood.types import Tier

CANARY = "The zebrafish protocol uses xylographic buffers at forty degrees."
SIBLING = "The sourdough protocol uses rye flour at twenty degrees."
NOTE = f"# Lab\n\n## Fish\n\n{CANARY}\n\n## Bread\n\n{SIBLING}\n"
_REFUSE = """
CREATE TRIGGER refuse BEFORE DELETE ON documents BEGIN SELECT raise(FAIL, 'no'); END"""
COLDER: list[Tier] = ["warm", "cold"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with one document and another, the first of which has a copy in colder tiers."""
    home = tmp_path / "home"
    with Memory.open(home, embedder="hashing", wait_s=30) as memory:
        memory.store(NOTE, source="lab")
        memory.store(f"# Other\n\n{SIBLING}", source="other")
        memory.wait()
    for tier in COLDER:
        move_by_hand(home, 1, tier, keep=True)  # as a crash in the middle of a move leaves it
    return home


def carry(home: Path, tier: Tier, target: Path) -> None:
    """Carry the file of a tier, with what lies beside it, to or from another place."""
    source, target = (home, target) if (home / FILES[tier]).exists() else (target, home)
    target.mkdir(exist_ok=True)
    for file in source.glob(f"{FILES[tier]}*"):
        file.rename(target / file.name)


def shown(memory: Memory) -> list[str]:
    """Look for the text in every way that reads it."""
    hits = memory.recall("zebrafish xylographic buffers", floor=0.0).hits
    found = [hit.text for hit in hits if "xylographic" in hit.text]
    found += [each.path for each in memory.recent() if each.path == "/lab"]
    with suppress(AddressError):
        found.append(memory.read("/lab").source)
    return found


def lists(home: Path) -> list[tuple[str, int]]:
    """Read what is still to be removed."""
    with closing(apsw.Connection(str(home / FILES["hot"]))) as connection:
        found = connection.execute("SELECT tier, document FROM removals")
        return [(str(tier), int(str(document))) for tier, document in found]


def drop_list(home: Path) -> None:
    """Take the list away: a home in which nothing was written down."""
    with closing(apsw.Connection(str(home / FILES["hot"]))) as connection:
        connection.execute("DELETE FROM removals")


@pytest.mark.parametrize("tier", COLDER)
def test_what_a_tier_holds_of_a_text_that_was_forgotten_meanwhile_is_gone_when_it_is_back(
    home: Path, tmp_path: Path, tier: Tier
) -> None:
    carry(home, tier, tmp_path / "away")
    with Memory.open(home, embedder="hashing") as memory:
        memory.forget("/lab")
    assert b"xylographic" in (tmp_path / "away" / FILES[tier]).read_bytes()
    assert lists(home) == [(tier, 1)]
    carry(home, tier, tmp_path / "away")

    with Memory.open(home, embedder="hashing", wait_s=30) as memory:
        assert shown(memory) == []
        assert SIBLING in memory.read("/other").source  # the rest is there
        assert not memory.stats().missing_tiers
        memory.compact()
    for file in home.glob("memory*"):
        assert b"xylograph" not in file.read_bytes()
    assert lists(home) == []


def test_without_the_list_the_text_would_be_back(home: Path, tmp_path: Path) -> None:
    carry(home, "warm", tmp_path / "away")
    with Memory.open(home, embedder="hashing") as memory:
        memory.forget("/lab")
    drop_list(home)
    carry(home, "warm", tmp_path / "away")

    with Memory.open(home, embedder="hashing") as memory:
        assert len(shown(memory)) == 3


def test_a_memory_that_stays_open_shows_nothing_of_it_and_removes_it_with_its_next_write(
    home: Path, tmp_path: Path
) -> None:
    carry(home, "warm", tmp_path / "away")
    with Memory.open(home, embedder="hashing", wait_s=30) as memory:
        memory.forget("/lab")
        memory.wait()
        carry(home, "warm", tmp_path / "away")

        assert shown(memory) == []
        memory.store(f"# Third\n\n{SIBLING} And salt.")
        memory.wait()

        assert shown(memory) == []
        assert not memory.stats().missing_tiers
    assert lists(home) == []


def test_who_may_only_read_sees_nothing_of_a_tier_from_which_something_is_to_be_removed(
    home: Path, tmp_path: Path
) -> None:
    carry(home, "cold", tmp_path / "away")
    with Memory.open(home, embedder="hashing") as memory:
        memory.forget("/lab")
    carry(home, "cold", tmp_path / "away")
    with closing(ReadOnlyEngine(tier_paths(home))) as engine, engine.reading() as reader:
        assert reader.missing_tiers == ("cold",)
        assert reader.document(1) is None
    drop_list(home)
    with closing(ReadOnlyEngine(tier_paths(home))) as engine, engine.reading() as reader:
        assert reader.missing_tiers == ()  # the control
        assert reader.document(1) is not None


def test_who_still_reads_a_tier_that_another_process_misses_is_kept_from_it(home: Path) -> None:
    with (
        closing(open_engine(home, create=False)) as engine,
        closing(open_engine(home, create=False)) as another,
    ):
        with engine.reading() as reader:
            assert reader.missing_tiers == ()
        with another.writing("cold") as writer:
            writer.delete_document(1)
        with another.writing() as writer:
            writer.delete_document(1)
            writer.remove_later(1, ["warm"])

        with engine.reading() as reader:
            assert reader.missing_tiers == ("warm",)
            assert reader.document(1) is None
        with engine.writing():
            pass
        with engine.reading() as reader:
            assert reader.missing_tiers == ()
            assert reader.document(1) is None


def test_a_tier_that_takes_nothing_stays_away_and_keeps_nobody_from_writing(
    home: Path, tmp_path: Path
) -> None:
    carry(home, "warm", tmp_path / "away")
    with Memory.open(home, embedder="hashing") as memory:
        memory.forget("/lab")
    carry(home, "warm", tmp_path / "away")
    with closing(apsw.Connection(str(home / FILES["warm"]))) as warm:
        warm.execute(_REFUSE)

    with closing(open_engine(home, create=False)) as engine:
        with engine.writing() as writer:
            writer.set_meta("some", "thing")
        with engine.reading() as reader:
            assert reader.missing_tiers == ("warm",)
    assert lists(home) == [("warm", 1)]


def test_a_part_that_is_forgotten_while_a_tier_is_away_leaves_no_older_copy_there(
    home: Path, tmp_path: Path
) -> None:
    carry(home, "warm", tmp_path / "away")
    with Memory.open(home, embedder="hashing") as memory:
        memory.forget("/lab/fish")
    carry(home, "warm", tmp_path / "away")

    with Memory.open(home, embedder="hashing", wait_s=30) as memory:
        assert SIBLING in memory.read("/lab").source
        memory.compact()
    assert b"xylographic" not in b"".join(file.read_bytes() for file in home.glob("memory*"))


@pytest.mark.parametrize("source", ["lab", None])
def test_verify_finds_what_an_older_backup_of_a_tier_brought_back(
    tmp_path: Path, source: str | None
) -> None:
    home, backup = tmp_path / "home", tmp_path / "backup"
    with Memory.open(home, embedder="hashing", wait_s=30) as memory:
        memory.store(NOTE, source=source)
        memory.wait()
    move_by_hand(home, 1, "warm")
    shutil.copy(home / FILES["warm"], backup)
    with Memory.open(home, embedder="hashing", wait_s=30) as memory:
        assert "forgotten" not in memory.verify().counts  # the control
        memory.forget("/lab")
        assert "forgotten" not in memory.verify().counts
    shutil.copy(backup, home / FILES["warm"])

    with Memory.open(home, embedder="hashing") as memory:
        [found] = [each for each in memory.verify().findings if each.what == "forgotten"]
        memory.forget(document="1")
        assert found.mend.startswith("ringwood forget --document 1")
        assert "forgotten" not in memory.verify().counts
