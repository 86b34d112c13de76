"""Paths, modes and odd arguments: no name leads out of the home, and no wildcard is one.

Ids are those of our list of faults and attacks. Not here, since there is no such thing yet: reading
a stranger's database as an import (`fs-06`); what exists, that none is taken for a note or for a
home, is here. `qry-05` is tried at the library and the command, which are the ways in that exist.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.cases.commands import Command

from ringwood.errors import AddressError, RingwoodError, StorageError, UsageError
from ringwood.memory import Memory
from ringwood.recall.budget import Budget

NAMES = {
    "above": "../../.ssh/authorized_keys",
    "absolute": "/etc/passwd",
    "a NUL": "a\x00b",
    "a device": "CON",
    "a device with an ending": "nul.txt",
    "long": "x" * 300,
    "long and wide": "😀字" * 300,
    "a dot behind": "trailing.",
    "an option": "-rf",
    "two lines": "a\nb",
    "hidden": ".bashrc",
    "dots": "..",
    "home": "~/x",
    "another system's": "C:\\Windows\\x",
    "half a surrogate": "\ud800",
}


def files_below(folder: Path) -> list[Path]:
    return sorted(each for each in folder.rglob("*") if not each.is_dir())


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)  # fs-01
def test_no_name_leads_out_of_the_mirror(words: Memory, tmp_path: Path, name: str) -> None:
    titled = words.store("The canary of the title.", title=name, source=f"title {name}")
    placed = words.store("The canary of the path.", path=name, source=f"path {name}")
    headed = words.store(f"# {name}\n\nThe canary of the heading.")
    assert words.wait()

    mirror = Path(words.home, "mirror")
    pages = files_below(mirror)
    assert len(pages) == 3
    assert all(page.resolve().is_relative_to(mirror.resolve()) for page in pages)
    assert all(len(part.encode()) <= 255 for page in pages for part in page.parts)
    assert all(page.name.isprintable() and page.name[0] not in "-." for page in pages)
    assert [each for each in tmp_path.iterdir() if each.name != "home"] == []
    assert len({page.read_text("utf-8").rpartition("The canary of")[2] for page in pages}) == 3
    for receipt in (titled, placed, headed):
        assert "canary" in words.read(receipt.address).source


@pytest.mark.parametrize(
    "space", ["../../out", "..", ".", "-rf", "*", "x" * 300, "CON", "字" * 200]
)
def test_no_space_leads_out_of_the_mirror(tmp_path: Path, space: str) -> None:  # fs-01
    with Memory.open(tmp_path / "home", space=space, embedder="words") as memory:
        receipt = memory.store("The canary of the space.", title="Canary")
        assert memory.wait()

        [page] = files_below(tmp_path / "home" / "mirror")
        assert all(len(part.encode()) <= 255 for part in page.parts)
        assert page.parent.parent == tmp_path / "home" / "mirror"
        assert memory.read(receipt.address).document.title == "Canary"


def test_a_link_planted_for_a_page_is_replaced_and_its_target_is_not_touched(
    words: Memory, tmp_path: Path
) -> None:  # fs-02
    target = tmp_path / "bashrc"
    target.write_text("untouched", "utf-8")
    page = Path(words.home, "mirror", "global", "note.md")
    page.parent.mkdir(parents=True)
    page.symlink_to(target)

    words.store("The canary.", title="Note")
    assert words.wait()

    assert target.read_text("utf-8") == "untouched"
    assert not page.is_symlink()
    assert "canary" in page.read_text("utf-8")


@pytest.mark.parametrize("folder", ["mirror", "mirror/global", "mirror/global/deep"])  # fs-02
def test_a_folder_that_became_a_link_is_not_followed_and_the_memory_goes_on(
    words: Memory, tmp_path: Path, folder: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "note.md").write_text("untouched", "utf-8")
    link = Path(words.home, folder)
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside, target_is_directory=True)

    receipt = words.store("The canary.", path="/deep/note")

    assert not words.wait()  # and says so
    assert [each.read_text("utf-8") for each in files_below(outside)] == ["untouched"]
    assert words.stats().unmirrored == 1
    assert words.recall("canary").hits
    words.forget(receipt.address)
    assert [each.read_text("utf-8") for each in files_below(outside)] == ["untouched"]
    # The control: without the link the mirror is written.
    link.unlink()
    words.store("Another canary.", path="/deep/note")
    assert words.wait()
    assert [page.name for page in files_below(Path(words.home, "mirror"))] == ["note.md"]


@pytest.fixture(params=[0o022, 0o000], ids=["umask 022", "umask 000"])
def _umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("_umask")  # fs-05
@pytest.mark.parametrize("stands", [False, True], ids=["new folder", "folder that stood open"])
def test_nobody_else_can_read_a_home(tmp_path: Path, command: Command, stands: bool) -> None:
    home = tmp_path / "home"
    if stands:
        home.mkdir(mode=0o777)
    with Memory.open(home, embedder="hashing") as memory:
        memory.store("# Canary\n\nIt sings.")
        memory.wait()
        memory.recall("canary")
        open_files = files_below(home)
        assert command("config", "budget.max_nodes", "4").code == 0

        for each in (home, *home.rglob("*")):
            allowed = 0o700 if each.is_dir() else 0o600
            assert stat.S_IMODE(each.stat().st_mode) == allowed, each

    assert {"memory.db", "memory.db-wal", "memory.db-shm"} <= {each.name for each in open_files}
    assert (home / "config.toml").exists()


def database_of_a_stranger(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE documents (text TEXT);"
        "INSERT INTO documents VALUES ('the canary of a stranger');"
        "CREATE TRIGGER mine AFTER INSERT ON documents BEGIN DELETE FROM documents; END;"
    )
    connection.close()


def test_a_strangers_database_is_no_note(words: Memory, tmp_path: Path) -> None:  # fs-06
    folder = tmp_path / "notes"
    folder.mkdir()
    database_of_a_stranger(folder / "theirs.db")
    database_of_a_stranger(folder / "theirs.md")
    (folder / "ours.md").write_text("The canary of our own.", "utf-8")

    imported = words.import_notes([folder, folder / "theirs.db"]).imported

    assert imported.changed == 1
    assert {Path(each.file).name for each in imported.skipped} == {"theirs.db", "theirs.md"}
    assert {hit.text for hit in words.recall("canary", floor=0.0).hits} == {
        "The canary of our own."
    }


def test_a_strangers_database_is_no_home_and_is_left_as_it_is(tmp_path: Path) -> None:  # fs-06
    home = tmp_path / "home"
    home.mkdir()
    database_of_a_stranger(home / "memory.db")
    before = (home / "memory.db").read_bytes()

    with Memory.open(home, embedder="words") as memory:
        with pytest.raises(StorageError, match="another program"):
            memory.store("A text.")
        with pytest.raises(StorageError, match="another program"):
            memory.recall("canary")

    assert (home / "memory.db").read_bytes() == before


LIKE = {"a_b": "axb", "100%": "1000 per cent", "[x]": "x", "a*": "ab", "it's": "it", '";--': "q"}


@pytest.mark.parametrize("name", LIKE)  # qry-04
def test_a_folder_is_no_pattern_when_what_is_gone_is_pruned(
    words: Memory, tmp_path: Path, name: str
) -> None:
    for folder in (name, LIKE[name]):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "note.md").write_text(f"The canary of {folder}.", "utf-8")
        (tmp_path / folder / "kept.md").write_text("Kept.", "utf-8")
    words.import_notes([tmp_path / name, tmp_path / LIKE[name]])
    for folder in (name, LIKE[name]):
        (tmp_path / folder / "note.md").unlink()

    report = words.import_notes([tmp_path / name], prune=True)

    assert report.pruned == 1
    assert {hit.text for hit in words.recall("canary", floor=0.0).hits} == {
        f"The canary of {LIKE[name]}."
    }


def test_an_address_is_no_pattern(words: Memory) -> None:  # qry-04
    words.store("The canary.", title="Note")

    for wild in ("/%", "/_ote", "/n*", "/[n]ote", "/note/%", "%:/note", "/note' --"):
        for look in (words.read, words.tree, words.forget):
            with pytest.raises(AddressError):
                look(wild)
    assert words.read("/note").document.title == "Note"


def test_what_is_below_an_address_is_not_what_begins_like_it(words: Memory) -> None:  # qry-04
    for path in ("/a_b", "/axb", "/a_b/c", "/a_bc", "/a-b"):
        words.store(f"The canary of {path}.", path=path, source=path)

    words.forget(source="/a_b")

    assert len(words.recent()) == 4


Way = Callable[[Memory, str], object]
WAYS_FOR_TEXT: dict[str, Way] = {
    "text": lambda memory, odd: memory.store(f"x {odd}"),
    "title": lambda memory, odd: memory.store("x", title=odd),
    "path": lambda memory, odd: memory.store("x", path=odd),
    "source": lambda memory, odd: memory.store("x", source=odd),
    "replace": lambda memory, odd: memory.store("x", replace=odd),
    "query": lambda memory, odd: memory.recall(odd, floor=0.0),
    "read": lambda memory, odd: memory.read(odd),
    "tree": lambda memory, odd: memory.tree(odd),
    "forget": lambda memory, odd: memory.forget(odd),
    "forget a document": lambda memory, odd: memory.forget(document=odd),
    "forget a source": lambda memory, odd: memory.forget(source=odd),
    "forget a space": lambda memory, odd: memory.forget(space=odd),
    "explain": lambda memory, odd: memory.explain(odd),
    "import": lambda memory, odd: memory.import_notes([Path(memory.home, odd)]),
    "space": lambda memory, odd: Memory.open(memory.home, odd).recall("canary"),
    "embedder": lambda memory, odd: Memory.open(memory.home, embedder=odd).recall("canary"),
}
ODD = ["a\x00b", "\ud800", str(2**63), "", "\n", "x" * 10_000]


@pytest.mark.parametrize("way", WAYS_FOR_TEXT)  # qry-05
def test_an_odd_text_is_cleaned_or_refused_in_words(words: Memory, way: str) -> None:
    words.store("The canary sings.", source="kept")

    for odd in ODD:
        with suppress(RingwoodError):  # and nothing else
            WAYS_FOR_TEXT[way](words, odd)

    assert words.recall("canary").hits


def test_an_odd_key_of_a_source_means_the_same_in_storing_and_in_forgetting(words: Memory) -> None:
    words.store("The canary sings.", source="kept")
    words.store("The canary is out.", source="a\x00\ud800")

    assert words.forget(source="a\x00\ud800").documents == 1
    assert [document.source for document in words.recent()] == ["kept"]


@pytest.mark.parametrize("space", ["a:/b", "/a", " a", "a\nb", "a\x00", "\ud800"])  # qry-05
def test_a_space_whose_addresses_lead_elsewhere_is_refused(tmp_path: Path, space: str) -> None:
    with pytest.raises(UsageError, match="no name for a space"):
        Memory.open(tmp_path / "home", space=space)


def hits(memory: Memory, budget: Budget) -> int:
    return len(memory.recall("canary", budget=budget).hits)


NUMBERS: dict[str, Callable[[Memory, int], int]] = {
    "limit": lambda memory, number: len(memory.recent(limit=number)),
    "depth": lambda memory, number: len(memory.tree(depth=number)),
    "nodes": lambda memory, number: hits(memory, Budget(max_nodes=number)),
    "chars": lambda memory, number: hits(memory, Budget(max_chars=number)),
    "chars of a node": lambda memory, number: hits(memory, Budget(max_node_chars=number)),
}


@pytest.mark.parametrize("way", NUMBERS)  # qry-05
def test_a_number_beyond_every_count_means_all(words: Memory, way: str) -> None:
    words.store("The canary sings.")

    some = NUMBERS[way](words, 5_000)

    assert some > 0
    assert {NUMBERS[way](words, number) for number in (2**31, 2**63 - 1, 2**63, 2**64)} == {some}


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -0.1, 1.1])  # qry-05
def test_a_share_is_a_share(words: Memory, number: float) -> None:
    with pytest.raises(UsageError):
        words.store("x", importance=number)
    words.store("The canary sings.", importance=1.0)
    with pytest.raises(UsageError):
        words.recall("canary", floor=number)
    assert words.recall("canary", floor=1.0).hits


ARGUMENTS = (
    ["show", "/\udcff"],
    ["recall", "\udcff", "--floor", "0"],
    ["store", "/no/\udcff"],
    ["store", "x" * 5_000],
    ["import", "/no/\udcff"],
    ["import", "x" * 5_000],
    ["explain", "\udcff"],
    ["forget", "--document", str(2**63), "--yes"],
    ["recent", "--limit", str(2**63)],
    ["tree", "--depth", str(2**63)],
    ["recall", "x", "--k", str(2**63)],
    ["recent", "--since", "99999-01-01"],
    ["recall", "x", "--as-of", "0001-01-01T00:00+14:00"],
    ["--space", "\udcff", "recall", "x"],
    ["--embedder", "\udcff", "recall", "x"],
    ["config", "\udcff"],
    ["config", "budget.max_nodes", str(2**63)],
)


def test_no_argument_ends_in_a_traceback(command: Command) -> None:  # qry-05
    command("store", stdin=b"The canary sings.")

    for arguments in ARGUMENTS:
        answer = command(*arguments, "--json")

        assert answer.code in (0, 1, 2), arguments
        assert answer.json.get("error", {}).get("code") != "internal", arguments
        assert "Traceback" not in answer.err, arguments
    assert command("recall", "canary").code == 0
