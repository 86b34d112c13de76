"""Compaction: files as small as what they hold, whoever reads meanwhile, whatever ends it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import apsw
import pytest
from tests.engine.moving import FILES
from tests.engine.test_log import write_megabytes
from tests.upkeep.aged import fill, rotated, text_of, tiers_of

from ringwood.engine.base import Engine
from ringwood.engine.sqlite import open_engine
from ringwood.errors import FullError
from ringwood.memory import Memory
from ringwood.types import TIERS, Tier
from ringwood.upkeep.aging import compact as compaction
from ringwood.upkeep.aging.compact import compact

AGES = [400] * 80 + [5] * 10


def size_of(home: Path, tier: Tier) -> int:
    """Count the bytes of a tier's file and log on disk."""
    files = (home / FILES[tier], home / f"{FILES[tier]}-wal")
    return sum(file.stat().st_size for file in files if file.exists())


def holds(home: Path, tier: Tier, text: str) -> bool:
    """Say whether the bytes of a tier's files hold a text."""
    files = (home / FILES[tier], home / f"{FILES[tier]}-wal")
    return any(text.encode() in file.read_bytes() for file in files if file.exists())


@pytest.fixture
def aged(engine: Engine) -> list[int]:
    """Documents most of which were moved out of hot."""
    documents = fill(engine, AGES)
    rotated(engine)
    return documents


@pytest.fixture(autouse=True)
def no_long_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for readers as often as ever, and shorter."""
    monkeypatch.setattr(compaction, "PAUSES_S", (0.01, 0.02))


def test_hot_takes_afterwards_what_a_home_of_just_these_documents_takes(
    engine: Engine, home: Path, aged: list[int], tmp_path: Path
) -> None:
    before = size_of(home, "hot")

    done = compact(engine)

    assert done.tiers["hot"].before == before
    assert done.tiers["hot"].after == size_of(home, "hot") < before / 2
    assert done.before == sum(each.before for each in done.tiers.values())
    assert done.after == sum(size_of(home, tier) for tier in TIERS) < done.before
    assert (done.later, done.missing_tiers, done.notes) == ((), (), ())
    other = open_engine(tmp_path / "other", create=True)
    fill(other, AGES[-10:])
    fresh = compact(other).tiers["hot"].after
    other.close()
    assert size_of(home, "hot") <= 1.05 * fresh


def test_everything_is_found_as_before(engine: Engine, aged: list[int]) -> None:
    before = tiers_of(engine, aged)

    compact(engine)

    assert tiers_of(engine, aged) == before
    with engine.reading() as reader:
        assert [reader.text_of(each) for each in aged] == [text_of(i) for i in range(len(aged))]
    fill(engine, [1.0] * 95)  # and there is room for more
    with engine.reading() as reader:
        assert len(reader.roots("global")) == 95


def test_a_dry_run_writes_nothing_and_says_about_what_would_be_left(
    engine: Engine, home: Path, aged: list[int]
) -> None:
    before = [size_of(home, tier) for tier in TIERS]

    planned = compact(engine, dry_run=True)

    assert [size_of(home, tier) for tier in TIERS] == before
    done = compact(engine)
    assert planned.before == done.before
    assert planned.tiers["hot"].after == pytest.approx(done.tiers["hot"].after, rel=0.3)


def test_a_reader_in_the_way_means_later(engine: Engine, home: Path, aged: list[int]) -> None:
    told: list[Tier] = []
    other = apsw.Connection(str(home / FILES["hot"]))
    other.execute("BEGIN")
    count = "SELECT count(*) FROM documents"
    seen = other.execute(count).get
    fill(engine, [5] * 91)  # so that the log holds what this reader does not see
    log = home / "memory.db-wal"
    before, log_before = size_of(home, "hot"), log.stat().st_size

    done = compact(engine, on_tier=told.append)

    assert other.execute(count).get == seen  # it was not disturbed
    assert done.later == ("hot",)  # and the other tiers were not held up
    assert done.tiers["hot"].later
    assert "hot tier is left for later" in done.notes[0]
    assert log.stat().st_size == log_before  # nothing was begun that has to wait
    assert told == ["hot", "warm", "cold"]
    other.close()
    assert compact(engine).later == ()
    assert size_of(home, "hot") < before


def test_a_missing_tier_is_left_out_and_said(engine: Engine, home: Path, aged: list[int]) -> None:
    (home / FILES["cold"]).rename(home / "unmounted")

    done = compact(engine)

    assert done.missing_tiers == ("cold",)
    assert list(done.tiers) == ["hot", "warm"]
    assert "cold tier is missing" in done.notes[0]


def test_only_the_tiers_that_are_asked_for_are_compacted(
    engine: Engine, home: Path, aged: list[int]
) -> None:
    before = size_of(home, "hot")

    assert list(compact(engine, tiers=["cold"]).tiers) == ["cold"]

    assert size_of(home, "hot") == before


def test_too_little_room_is_said_in_figures_before_anything_is_begun(
    engine: Engine, home: Path, aged: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [size_of(home, tier) for tier in TIERS[1:]]
    monkeypatch.setattr("ringwood.engine.sqlite.compaction._SMALL", 10**15)

    with pytest.raises(FullError) as raised:
        compact(engine)

    assert "MB are missing" in raised.value.message
    assert raised.value.code == "disk_full"
    assert [size_of(home, tier) for tier in TIERS[1:]] == before
    monkeypatch.undo()
    compact(engine)  # the control


def test_deleted_text_is_in_no_byte_afterwards(engine: Engine, home: Path) -> None:
    [document, _] = fill(engine, [1, 1])
    with engine.writing() as writer:
        writer.delete_document(document)
    copy = home.with_name("as it was")
    subprocess.run(["cp", "-r", home, copy], check=True)  # opened here, they would lose our locks
    assert holds(copy, "hot", "gasket g0")  # the control: in the log

    compact(engine)

    engine.close()
    assert not holds(home, "hot", "gasket g0")
    assert holds(home, "hot", "gasket g1")


def test_the_files_stay_in_wal_mode(engine: Engine, home: Path, aged: list[int]) -> None:
    compact(engine)
    engine.close()

    for name in FILES.values():
        connection = apsw.Connection(str(home / name))
        assert connection.pragma("journal_mode") == "wal"
        assert connection.pragma("integrity_check") == "ok"
        connection.close()
    assert not [file.name for file in home.iterdir() if "vacuum" in file.name]


def test_stats_say_that_a_log_is_large_and_why(engine: Engine, home: Path) -> None:
    fill(engine, [1])
    other = apsw.Connection(str(home / FILES["hot"]))
    other.execute("BEGIN")
    assert other.execute("SELECT count(*) FROM documents").get == 1
    with Memory.open(home, embedder="words") as memory:
        assert memory.stats().notes == ()
        write_megabytes(engine, 20)

        held = memory.stats().notes
        other.close()
        free = memory.stats().notes

    assert "log of the hot tier has" in held[0]
    assert "something still reads" in held[0]
    assert "the next write empties it" in free[0]
