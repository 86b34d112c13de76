"""Verify: what is wrong with a home is found, named with its command, and mended from the texts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args

import apsw
import pytest

from ringwood.errors import DamagedError, NoHomeError
from ringwood.memory import Memory
from ringwood.serve.cli.app import run
from ringwood.upkeep.checking.findings import MEND, FindingKind, Verified

NOTE = """# Pump {0}

The pump in hall {0} leaks near valve v{0}.

## Repair

Replace gasket g{0}, then tell the shift.

更换第{0}号垫片。
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A closed home of six notes with vectors and a mirror."""
    made = tmp_path / "home"
    with Memory.open(made, embedder="hashing") as memory:
        for number in range(6):
            memory.store(NOTE.format(number), source=f"n{number}")
        memory.wait()
    return made


def change(home: Path, *statements: str, file: str = "memory.db") -> None:
    """Break something by hand, as no program of ours would."""
    with closing(apsw.Connection(str(home / file))) as connection:
        for statement in statements:
            connection.execute(statement).fetchall()


def verified(
    home: Path, *, mend: bool = False, dry_run: bool = False, quick: bool = False
) -> Verified:
    with Memory.open(home, embedder="hashing") as memory:
        done = memory.verify(mend=mend, dry_run=dry_run, quick=quick)
        memory.wait()
    return done


BREAKAGES: dict[str, tuple[str, str]] = {
    "words": ("words", "DELETE FROM words WHERE rowid = 3"),
    "foreign words": ("words", "INSERT INTO words (rowid, terms) VALUES (999, '1:ghost')"),
    "text of a node": (
        "nodes",
        "UPDATE nodes SET text = replace(text, 'Pump', 'Jump') WHERE id = 1",
    ),
    "parent": ("nodes", "UPDATE nodes SET parent = 999 WHERE id = 3"),
    "span": ("nodes", "UPDATE nodes SET span_end = 100000 WHERE id = 2"),
    "no node": ("nodes", "DELETE FROM nodes WHERE document = 2"),
    "text that is none": ("nodes", "UPDATE nodes SET title = CAST(x'ff41' AS TEXT) WHERE id = 2"),
    "orphaned vector": ("vectors", "UPDATE vectors SET node = 999 WHERE node = 2"),
    "short vector": ("vectors", "UPDATE vectors SET row = x'0102' WHERE node = 2"),
    "vector of another space": ("vectors", "UPDATE vectors SET space = 7 WHERE node = 2"),
    "no vector": ("lacking", "DELETE FROM vectors WHERE node = 2"),
    "edge to nowhere": ("edges", "INSERT INTO edges VALUES (1, 999, 'similar', 0.9, 1)"),
    "alias of nothing": ("aliases", "INSERT INTO aliases VALUES (1, '/old', 999, 999, 0)"),
    "counts": ("counts", "UPDATE spaces SET nodes = nodes + 3"),
}
"""What is broken by hand, as which kind it is found, and how it is broken."""


@pytest.mark.parametrize("name", BREAKAGES)
def test_what_is_made_from_a_text_is_found_broken_and_mended(home: Path, name: str) -> None:  # 73
    kind, statement = BREAKAGES[name]
    assert verified(home).findings == ()  # the control
    change(home, statement)

    found = verified(home)
    assert kind in found.counts
    assert {each.mend for each in found.findings if each.what == kind} == {MEND}
    foretold = verified(home, mend=True, dry_run=True)
    assert foretold == replace(found, mended=foretold.mended, dry_run=True)

    mended = verified(home, mend=True)
    assert mended.mended == foretold.mended >= 1
    assert verified(home).findings == ()
    with Memory.open(home, embedder="hashing") as memory:
        assert memory.recall("gasket g1", counted=False).hits


def test_a_dry_run_promises_nothing_of_what_only_salvage_mends(home: Path) -> None:
    change(home, "UPDATE documents SET text = replace(text, 'leaks', 'leans') WHERE id = 3")

    foretold = verified(home, mend=True, dry_run=True, quick=True)

    assert (foretold.mended, foretold.counts) == (0, {"text": 1})


def test_the_copy_that_an_edit_leaves_for_a_minute_is_no_fault_and_not_counted(home: Path) -> None:
    with Memory.open(home, embedder="hashing") as memory:
        before = datetime.now(UTC) - timedelta(days=60)
        memory.store(NOTE.format(7), source="old", at=before)
        memory.wait()
        assert memory.rotate().moved["warm"] == 1
        memory.store(NOTE.format(8), source="old", at=before)
        memory.wait()

        found, held = memory.verify(), memory.stats().totals.tiers

    assert [(each.what, each.tier, each.level) for each in found.findings] == [
        ("copies", "warm", "untidy")
    ]
    assert (held["hot"].documents, held["warm"].documents) == (7, 0)
    assert (found.documents, found.nodes, found.vectors, found.files) == (
        7,
        sum(each.nodes for each in held.values()),
        sum(each.vectors for each in held.values()),
        7,
    )


def test_every_kind_of_finding_is_documented_with_what_mends_it() -> None:
    operations = Path(__file__).parents[2] / "docs" / "operations.md"
    section = operations.read_text("utf-8").partition("\n## Verify\n")[2].partition("\n## ")[0]
    table = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in section.splitlines()
        if line.startswith("| `")
    ]

    assert [row[0].strip("`") for row in table] == list(get_args(FindingKind))
    for _, level, wrong, mend in table:
        assert set(level.split(", ")) <= {"damage", "fault", "untidy"}
        assert wrong
        assert re.search(r"`ringwood [a-z]|nothing: |yourself", mend), mend


def test_a_text_that_is_not_what_was_stored_is_never_mended_nor_deleted(home: Path) -> None:
    change(home, "UPDATE documents SET text = replace(text, 'leaks', 'leans') WHERE id = 3")

    found = verified(home, mend=True, quick=True)

    (finding,) = found.findings
    assert (finding.what, finding.level, finding.mend) == ("text", "damage", "ringwood salvage hot")
    assert finding.where == "global:/pump-2"
    with Memory.open(home, embedder="hashing") as memory:
        assert "leans" in memory.read("global:/pump-2").source


def test_an_earlier_text_is_compared_with_its_digest_too(home: Path) -> None:
    with Memory.open(home, embedder="hashing") as memory:
        memory.store(NOTE.format("9"), source="n1")
        memory.wait()
    assert verified(home).versions == 1
    change(home, "UPDATE versions SET text = text || '!'")

    assert verified(home, quick=True).counts == {"versions": 1}


@pytest.mark.parametrize(
    "harm",
    [
        lambda file: file.unlink(),
        lambda file: file.write_text(file.read_text("utf-8").replace("leaks", "leans"), "utf-8"),
        lambda file: file.write_bytes(b"\xff\xfe"),
        lambda file: file.write_text("no head at all", "utf-8"),
    ],
)
def test_a_mirror_file_that_is_gone_or_changed_is_found_and_written_again(
    home: Path, harm: Callable[[Path], None]
) -> None:
    file = home / "mirror" / "global" / "pump-2.md"
    before = file.read_bytes()
    harm(file)

    assert verified(home).counts == {"mirror": 1}
    verified(home, mend=True)

    assert file.read_bytes() == before


def test_a_stray_file_of_the_mirror_is_told_and_left(home: Path) -> None:
    stray = home / "mirror" / "global" / "mine.md"
    stray.write_text("# Written by hand\n", "utf-8")

    found = verified(home, mend=True)

    assert found.counts == {"stray": 1}
    assert found.is_clean
    assert stray.exists()


def test_modes_that_let_others_read_are_found_and_closed(home: Path) -> None:
    (home / "memory.db").chmod(0o644)

    assert verified(home).counts["mode"] >= 1
    assert verified(home, mend=True).findings == ()
    assert (home / "memory.db").stat().st_mode & 0o777 == 0o600


def test_what_was_forgotten_and_is_stored_is_found(home: Path) -> None:
    change(home, "INSERT INTO documents SELECT 900, space, 'back', '/back', title, sha256, actor,"
           " importance, created_at, stored_at, changed_at, state, error, seen, mirrored_sha256,"
           " mirrored_path, text FROM documents WHERE id = 2")  # fmt: skip
    with Memory.open(home, embedder="hashing") as memory:
        memory.forget("global:/pump-1")
    change(home, "UPDATE documents SET source = 'n1' WHERE id = 900")

    assert verified(home, quick=True).counts["forgotten"] == 1


def test_a_broken_tier_is_told_and_the_rest_is_looked_at(home: Path) -> None:
    (home / "memory-warm.db").write_text("this is a text file\n" * 99, "utf-8")

    found = verified(home)

    assert [(each.tier, each.mend) for each in found.findings] == [
        ("warm", "ringwood salvage warm")
    ]
    assert found.documents == 6


@pytest.mark.parametrize("junk", [b"", b"this is a text file\n" * 999])
def test_a_hot_file_that_is_none_is_told_and_not_begun_anew(home: Path, junk: bytes) -> None:
    (home / "memory.db").write_bytes(junk)

    assert verified(home).counts["file"] == 1
    with Memory.open(home, embedder="hashing") as memory, pytest.raises(DamagedError):
        memory.store("A new text.")
    assert (home / "memory.db").read_bytes() == junk


def test_a_home_that_never_was_is_no_home(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "none") as memory, pytest.raises(NoHomeError):
        memory.verify()


def test_a_writer_goes_on_while_all_is_looked_at(home: Path) -> None:
    with Memory.open(home, embedder="hashing") as memory:
        stored: Iterator[int] = iter(range(100, 10_000))

        def store(what: str, done: int, total: int | None) -> None:
            number = next(stored)
            if number < 110:
                memory.store(NOTE.format(number), source=f"m{number}")

        found = memory.verify(on_progress=store)

    assert found.is_clean


def test_the_command_tells_what_it_found_and_ends_with_one(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["verify", "--home", str(home), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["clean"] is True
    change(home, "UPDATE documents SET text = text || '!' WHERE id = 3")

    assert run(["verify", "--home", str(home), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["findings"][0]["mend"] == "ringwood salvage hot"
    assert run(["verify", "--home", str(home), "--quiet"]) == 1
    assert "salvage hot" in capsys.readouterr().out


def test_the_command_says_what_it_would_mend_and_mends_nothing(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(home, "UPDATE spaces SET nodes = nodes + 3")
    told = []
    for _ in range(2):
        assert run(["verify", "--mend", "--dry-run", "--home", str(home), "--json"]) == 1
        told.append(json.loads(capsys.readouterr().out))

    assert [(each["mended"], each["dry_run"], each["counts"]) for each in told] == [
        (1, True, {"counts": 1})
    ] * 2
    assert run(["verify", "--mend", "--dry-run", "--home", str(home), "--quiet"]) == 1
    assert "1 finding would be mended" in capsys.readouterr().out
    assert run(["verify", "--mend", "--home", str(home), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["dry_run"] is False


def test_what_is_forgotten_while_it_is_looked_at_is_no_finding(home: Path) -> None:
    with (
        Memory.open(home, embedder="hashing") as memory,
        Memory.open(home, embedder="hashing") as other,
    ):

        def forget(what: str, done: int, total: int | None) -> None:
            if what.startswith("documents") and done == 5:
                for each in other.recent():
                    other.forget(each.path)

        looked = memory.verify(on_progress=forget)

    assert "forgotten" not in looked.counts
    assert looked.is_clean, looked.findings
