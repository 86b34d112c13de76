"""Salvage: a broken tier comes back from what is readable of it, and from the mirror."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest
from tests.databases import database_of

from ringwood.errors import NoHomeError, UsageError
from ringwood.memory import Memory
from ringwood.serve.cli.app import run
from ringwood.upkeep.checking.salvage import Salvaged

NOTE = """# Pump {0}

The pump in hall {0} leaks near valve v{0}.\r
A line that ends otherwise.

## Repair

Replace gasket g{0}, then tell the shift.

更换第{0}号垫片。
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A closed home: notes, an edit, a title of its own, an exchange's actor, a keyed space."""
    made = tmp_path / "home"
    project = tmp_path / "project"
    project.mkdir()
    with Memory.open(made, embedder="hashing", directory=str(project)) as memory:
        for number in range(8):
            memory.store(NOTE.format(number), source=f"n{number}", importance=number / 10)
        memory.store("No heading, but a title.", title='Given "title"', path="/a/b/c")
        memory.store("By the assistant.", actor="assistant")
        everywhere = memory.within()
        everywhere.store("---\ntitle: T\n---\n\nFor everybody.", source="everywhere")
        memory.wait()
    return made


def content(home: Path) -> tuple[dict[str, tuple[object, ...]], dict[str, str]]:
    """Read all that a person gave, by address, and the keys of the spaces."""
    with Memory.open(home, embedder="hashing") as memory:
        memory.wait()
        found: dict[str, tuple[object, ...]] = {}
        with database_of(memory) as engine, engine.reading() as reader:
            for space in reader.documents_per_space():
                for d in reader.roots(space):
                    found[f"{space}:{d.path}"] = (
                        (d.id, d.title, d.source, d.actor, d.importance, d.sha256),
                        (d.created_at, d.stored_at, d.changed_at),
                        reader.text_of(d.id),
                        tuple((node.path, node.text) for node in reader.nodes_of(d.id)),
                    )
            keys = reader.spaces()
    assert len(found) > 1
    return found, keys


def salvaged(home: Path, *, dry_run: bool = False, force: bool = False) -> Salvaged:
    with Memory.open(home, embedder="hashing") as memory:
        done = memory.salvage("hot" if force else None, dry_run=dry_run, force=force)
        memory.wait()
        assert dry_run or memory.verify().is_clean
    return done


def drop_databases(home: Path) -> None:
    for file in home.glob("memory*.db*"):
        file.unlink()


def zero_pages(file: Path) -> None:
    image = bytearray(file.read_bytes())
    pages = len(image) // 4096
    for page in range(7, pages, 11):
        image[page * 4096 : (page + 1) * 4096] = bytes(4096)
    file.write_bytes(image)


def flip_a_text(file: Path) -> None:
    """Change one bit of a stored text: `a` becomes `e`."""
    with closing(apsw.Connection(str(file))) as connection:
        connection.execute("UPDATE documents SET text = replace(text, 'valve v3', 'velve v3')")


HARMS: dict[str, Callable[[Path], object]] = {
    "pages of zeros": zero_pages,
    "a flipped bit": flip_a_text,
    "half of it gone": lambda file: file.write_bytes(file.read_bytes()[: file.stat().st_size // 2]),
    "no header": lambda file: file.write_bytes(b"x" * 100 + file.read_bytes()[100:]),
    "empty": lambda file: file.write_bytes(b""),
    "a text file": lambda file: file.write_text("nothing of ours\n" * 400, "utf-8"),
    "gone": lambda file: file.unlink(),
}


@pytest.mark.parametrize("name", HARMS)
def test_every_text_comes_back_however_the_hot_file_was_harmed(home: Path, name: str) -> None:
    before = content(home)
    HARMS[name](home / "memory.db")
    harmed = (home / "memory.db").read_bytes() if name != "gone" else None

    done = salvaged(home)

    assert content(home) == before
    (rebuilt,) = done.tiers
    assert rebuilt.documents == len(before[0])
    assert (rebuilt.lost, rebuilt.altered) == ((), ())
    kept = list(home.glob("memory.db.damaged-*[0-9]"))
    assert [file.read_bytes() for file in kept] == ([] if harmed is None else [harmed])


def test_without_a_mirror_only_what_is_readable_comes_back(home: Path) -> None:
    """The control of the test above: where the mirror gives nothing, texts are missing."""
    before = content(home)
    shutil.rmtree(home / "mirror")
    HARMS["a text file"](home / "memory.db")

    with Memory.open(home, embedder="hashing") as memory:
        (rebuilt,) = memory.salvage().tiers

    assert rebuilt.documents == 0 < len(before[0])


def test_a_home_comes_back_from_its_mirror_alone(home: Path) -> None:
    before = content(home)
    drop_databases(home)

    done = salvaged(home)

    assert content(home) == before
    assert [each.tier for each in done.tiers] == ["cold", "warm", "hot"]
    assert any("forgotten" in note for note in done.notes)
    with Memory.open(home, embedder="hashing") as memory:
        assert memory.within(space="project").recall("gasket g3", counted=False).hits


def test_what_was_forgotten_does_not_come_back_from_the_mirror(home: Path) -> None:
    with Memory.open(home, embedder="hashing") as memory:
        memory.forget("project:/pump-3")
        memory.wait()
    drop_databases(home)

    salvaged(home)

    assert "project:/pump-3" not in content(home)[0]


def test_tombstones_that_can_be_read_stay(home: Path) -> None:
    with Memory.open(home, embedder="hashing", space="project") as memory:
        memory.forget("project:/pump-3")
        memory.wait()
    zero_pages(home / "memory.db")
    salvaged(home)

    with Memory.open(home, embedder="hashing", space="project") as memory:
        assert memory.store(NOTE.format(3), source="n3").state == "forgotten"


HOSTILE: dict[str, tuple[str, str]] = {
    "another space": ('space: "project"', 'space: "global"'),
    "a way out": ('path: "/pump-1"', 'path: "/../../../escaped"'),
    "no id": ('id: "2"', 'id: "-1"'),
    "a huge id": ('id: "2"', 'id: "99999999999999999999999"'),
    "no time": ("created: ", "created: x"),
    "an unknown actor": ('actor: "person"', 'actor: "system"'),
    "another text": ("leaks", "leans"),
    "an unquoted value": ('title: "Pump 1"', "title: [*a, &b]"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_mirror_file_that_was_tampered_with_is_skipped_with_a_reason(
    home: Path, name: str, tmp_path: Path
) -> None:
    before, _ = content(home)
    file = home / "mirror" / "project" / "pump-1.md"
    text = file.read_bytes().decode()
    old, new = HOSTILE[name]
    assert old in text
    file.write_bytes(text.replace(old, new, 1).encode())
    drop_databases(home)

    done = salvaged(home)

    after, _ = content(home)
    assert after.keys() == before.keys() - {"project:/pump-1"}
    assert [each.file for each in done.tiers[-1].skipped] == ["project/pump-1.md"]
    assert not list(tmp_path.glob("escaped*"))


def test_of_two_files_with_one_id_the_one_in_its_place_is_taken(home: Path) -> None:
    before = content(home)
    mirror = home / "mirror" / "project"
    (mirror / "aaa.md").write_bytes((mirror / "pump-1.md").read_bytes())
    drop_databases(home)

    done = salvaged(home)

    assert content(home) == before
    assert [each.reason for each in done.tiers[-1].skipped] == ["another file has its id"]


def test_an_older_head_without_title_and_key_is_read_too(home: Path) -> None:
    before, _ = content(home)
    newer = ("key", "title", "importance", "changed", "form")
    for file in (home / "mirror").rglob("*.md"):
        head, text = file.read_bytes().decode().split("\n---\n", 1)
        lines = [line for line in head.split("\n") if not line.startswith(newer)]
        file.write_bytes(("\n".join(lines) + "\n---\n" + text).encode())
    drop_databases(home)

    salvaged(home)

    after, _ = content(home)
    assert {a: each[2] for a, each in after.items()} == {a: each[2] for a, each in before.items()}


def test_a_home_that_began_anew_takes_in_what_was_there_before(home: Path) -> None:
    before, _ = content(home)
    drop_databases(home)
    with Memory.open(home, embedder="hashing", space="project") as memory:
        memory.store("# The new beginning\n\nAfter the loss.", source="new")
        memory.wait()

    salvaged(home, force=True)

    after, _ = content(home)
    assert after.keys() == before.keys() | {"project:/the-new-beginning"}


def test_a_text_that_nobody_else_has_is_kept_as_it_is_and_named(home: Path) -> None:
    flip_a_text(home / "memory.db")
    shutil.rmtree(home / "mirror")

    with Memory.open(home, embedder="hashing") as memory:
        (rebuilt,) = memory.salvage().tiers

    assert rebuilt.altered == ("project:/pump-3",)
    assert rebuilt.documents == 11


def test_a_broken_warm_file_comes_back_into_warm(home: Path) -> None:
    with Memory.open(home, embedder="hashing", space="project") as memory:
        memory.store("# Old\n\nFrom long ago.", at=_long_ago(60), source="old")
        memory.wait()
        memory.rotate()
    before = content(home)
    HARMS["a text file"](home / "memory-warm.db")
    with Memory.open(home, embedder="hashing", space="project") as memory:
        assert memory.recall("pump hall", counted=False).hits  # hot goes on meanwhile
        assert memory.stats().missing_tiers == ("warm",)

    done = salvaged(home)

    assert [(each.tier, each.from_mirror) for each in done.tiers] == [("warm", 1)]
    assert content(home) == before


def _long_ago(days: int) -> datetime:
    return datetime.now(UTC) - timedelta(days=days)


def test_what_is_sound_is_left_alone(home: Path) -> None:
    image = (home / "memory.db").read_bytes()
    with Memory.open(home, embedder="hashing") as memory:
        for tier in (None, "hot"):
            with pytest.raises(UsageError, match="sound"):
                memory.salvage(tier)
    assert (home / "memory.db").read_bytes() == image
    assert not list(home.glob("*damaged*"))


def test_a_dry_run_says_what_would_be_and_changes_nothing(home: Path) -> None:
    zero_pages(home / "memory.db")
    image = (home / "memory.db").read_bytes()
    names = {file.name for file in home.iterdir()}

    done = salvaged(home, dry_run=True)

    assert done.tiers[0].documents == 11
    assert (home / "memory.db").read_bytes() == image
    assert {f.name for f in home.iterdir() if not f.name.endswith(("-wal", "-shm"))} == names


def test_a_missing_tier_is_named_and_not_taken_for_a_sound_one(home: Path) -> None:
    (home / "memory-warm.db").unlink()
    with (
        Memory.open(home, embedder="hashing") as memory,
        pytest.raises(UsageError, match="warm tier is not there") as caught,
    ):
        memory.salvage()
    assert "ringwood salvage warm" in caught.value.mend


@pytest.mark.parametrize("left", ["mirror", "older tiers"])
def test_a_home_without_its_hot_file_names_what_makes_it_anew(home: Path, left: str) -> None:
    if left == "mirror":
        drop_databases(home)
    else:
        (home / "memory.db").unlink()
        shutil.rmtree(home / "mirror")
    with Memory.open(home) as memory, pytest.raises(NoHomeError) as caught:
        memory.recall("pump")
    assert "ringwood salvage" in caught.value.mend
    assert "ringwood init" in caught.value.mend


def test_where_nothing_is_there_is_nothing_to_salvage(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "none") as memory, pytest.raises(NoHomeError):
        memory.salvage()


def test_the_command_tells_what_came_of_it(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    HARMS["empty"](home / "memory.db")

    assert run(["salvage", "--home", str(home), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["tiers"][0]["from_mirror"] == 11
    assert run(["salvage", "hot", "--home", str(home), "--json"]) == 2
