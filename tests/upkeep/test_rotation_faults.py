"""Rotation among others and on bad days: cut short, overtaken, refused by a disk, asked twice."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Thread

import apsw
import pytest
from tests.engine.moving import FILES, move_by_hand
from tests.engine.test_moves import rows
from tests.upkeep.aged import NOW, fill, rotated, text_of, tiers_of

from ringwood.engine.base import Engine, TierOptions
from ringwood.engine.placement import MOVING
from ringwood.engine.sqlite import SqliteEngine, moves, open_engine
from ringwood.engine.sqlite.vector_copy import Horizon, horizon_of
from ringwood.memory import Memory
from ringwood.types import TIERS, Tier
from ringwood.upkeep.aging.rotate import READERS_LEAVE, ROTATION, finish, is_unfinished
from ringwood.upkeep.lease import holding
from ringwood.write.draft import Draft, Intake
from ringwood.write.forget import Erasure, forget_documents, forget_node
from ringwood.write.hot import drop_older
from ringwood.write.ingest import ingest

DAY = timedelta(days=1)
YOUNG = TierOptions(hot_days=500, warm_days=600)
WAYS: list[tuple[float, Tier]] = [(100, "warm"), (400, "cold")]


class Crash(BaseException):
    """What ends a process between two steps."""


@contextmanager
def before_deleting(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> Iterator[None]:
    """Act once in the window in which a document has two copies, before the older one goes."""
    real, begun = moves.remove_document, list[int]()

    def called(connection: object, document: int) -> bool:
        # Once to make room for the copy, then to delete what it was made from.
        begun.append(document)
        if begun.count(document) == 2 and begun.index(document) == 0:
            act()
        return real(connection, document)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(moves, "remove_document", called)
        yield


def crash() -> None:
    raise Crash


def crashed(engine: Engine, monkeypatch: pytest.MonkeyPatch, now: datetime = NOW) -> None:
    """Rotate, and end between the commit in the new tier and the one in the old."""
    with before_deleting(monkeypatch, crash), pytest.raises(Crash):
        rotated(engine, now)
    assert any(engine.copies().values())


def erasure(engine: Engine, home: Path) -> Erasure:
    return Erasure(engine, str(home / "mirror"), "", Intake(NOW, "ready"))


def holders_of(home: Path, document: int) -> list[Tier]:
    """List the tiers whose files hold anything of a document, a copy that is not read included."""
    return [tier for tier in TIERS if any(rows(home, tier, document).values())]


# -- cut short -------------------------------------------------------------------------------------


def test_a_rotation_that_ends_well_leaves_no_mark_and_one_that_is_cut_short_does(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(engine, [100, 101])
    assert not is_unfinished(engine)
    crashed(engine, monkeypatch)
    assert is_unfinished(engine)

    rotated(engine)

    assert not is_unfinished(engine)
    assert not any(engine.copies().values())


@pytest.mark.parametrize(("age", "target"), WAYS)
def test_what_a_crash_left_is_cleared_at_the_next_open_without_a_rotation(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, age: float, target: Tier
) -> None:
    [document] = fill(engine, [age])
    crashed(engine, monkeypatch)
    assert engine.copies()[target] == (document,)

    assert finish(engine, NOW) == 1

    assert not any(engine.copies().values())
    assert tiers_of(engine, [document]) == ["hot"]  # the source counts until it is deleted
    assert not is_unfinished(engine)
    assert finish(engine, NOW) == 0


def test_opening_looks_at_the_mark_and_at_nothing_else(engine: Engine, home: Path) -> None:
    [document] = fill(engine, [100])
    move_by_hand(home, document, "warm", keep=True)  # a copy of which no mark speaks

    assert finish(engine, NOW) == 0

    assert engine.copies()["warm"] == (document,)
    with engine.writing() as writer:  # the control
        writer.set_meta(MOVING, "some move")
    assert finish(engine, NOW) == 1


def test_a_memory_that_is_opened_finishes_what_a_crash_left(
    home: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(engine, [100])
    crashed(engine, monkeypatch)

    with Memory.open(home, embedder="words", wait_s=30) as memory:
        memory.warm()

    assert not any(engine.copies().values())
    assert not is_unfinished(engine)


def test_another_move_meanwhile_keeps_its_mark(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(engine, [100])
    crashed(engine, monkeypatch)
    real = engine.drop_copies

    def drop(tier: Tier, documents: object) -> int:
        with engine.writing() as writer:
            writer.set_meta(MOVING, "an edit that brings a document in")
        return real(tier, documents)  # type: ignore[arg-type]

    monkeypatch.setattr(engine, "drop_copies", drop)
    finish(engine, NOW)

    assert is_unfinished(engine)


def test_an_edit_of_an_old_document_that_is_cut_short_is_finished_too(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    [document] = fill(engine, [100])
    rotated(engine)
    monkeypatch.setattr("ringwood.write.hot.drop_stale_edges", lambda *_: crash())
    edit = Draft(text_of(0) + "\nMended.\n", "global", "person", source="note 0")
    with pytest.raises(Crash):
        ingest(engine, [edit], Intake(NOW, "ready"))
    assert engine.copies()["warm"] == (document,)

    assert finish(engine, NOW + READERS_LEAVE) == 1

    with engine.reading() as reader:
        assert reader.text_of(document).endswith("Mended.\n")


@pytest.mark.parametrize("leaves", [True, False], ids=["left", "the control: dropped at once"])
def test_who_began_to_read_before_an_edit_of_an_old_document_still_finds_it(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, leaves: bool
) -> None:
    [document] = fill(engine, [100])
    rotated(engine)
    with engine.reading() as reader:
        card = reader.documents([document])[document]
    assert card.tier == "warm"
    edit = Draft(text_of(0) + "\nMended.\n", "global", "person", source="note 0")
    begun = list[int]()

    def pin(connection: apsw.Connection, tier: int) -> Horizon:
        begun.append(tier)
        if begun == [0, 1]:  # hot is pinned, warm is not
            ingest(engine, [edit], Intake(NOW, "ready"))
            if not leaves:
                drop_older(engine, [card])
        return horizon_of(connection, tier)

    monkeypatch.setattr("ringwood.engine.sqlite.connected.horizon_of", pin)
    with engine.reading() as reader:
        found = reader.document(document)
        assert (found is not None) == leaves
        assert found is None or reader.text_of(document) == text_of(0)
    with engine.reading() as reader:
        assert reader.text_of(document).endswith("Mended.\n")


def test_the_older_copy_of_what_was_edited_goes_once_no_reader_is_as_old(engine: Engine) -> None:
    [document] = fill(engine, [100])
    rotated(engine)
    edit = Draft(text_of(0) + "\nMended.\n", "global", "person", source="note 0")
    ingest(engine, [edit], Intake(NOW, "ready"))

    assert finish(engine, NOW + READERS_LEAVE / 2) == 0
    assert engine.copies()["warm"] == (document,)
    assert is_unfinished(engine)
    assert finish(engine, NOW + READERS_LEAVE) == 1
    assert not any(engine.copies().values())
    assert not is_unfinished(engine)


# -- overtaken -------------------------------------------------------------------------------------


def test_one_process_of_a_home_rotates_at_a_time(home: Path, engine: Engine) -> None:
    [document] = fill(engine, [100])
    with Memory.open(home, embedder="words") as memory:
        with holding(home, ROTATION) as held:
            assert held
            done = memory.rotate()

            assert "Another process rotates" in done.notes[0]
            assert tiers_of(engine, [document]) == ["hot"]
            assert memory.rotate(dry_run=True).moved["cold"] == 1  # looking is free
        assert memory.rotate().moved_from == ("hot",)  # the control
    assert tiers_of(engine, [document]) != ["hot"]


def test_a_worker_that_clears_what_a_crash_left_is_waited_for(home: Path, engine: Engine) -> None:
    fill(engine, [100])
    taken, told = Event(), Event()

    def clear() -> None:
        with holding(home, ROTATION):
            taken.set()
            told.wait(0.2)

    clearing = Thread(target=clear)
    clearing.start()
    assert taken.wait(30)
    with Memory.open(home, embedder="words") as memory:
        done = memory.rotate()
    clearing.join(30)

    assert done.moved_from == ("hot",)


def test_an_edit_in_the_window_waits_and_wins(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:  # dur-07
    [document] = fill(engine, [100])
    mended = text_of(0) + "\nMended.\n"
    edit = Draft(mended, "global", "person", source="note 0")
    editing = Thread(target=lambda: ingest(engine, [edit], Intake(NOW, "ready")))

    with before_deleting(monkeypatch, editing.start):
        rotated(engine)
    editing.join(60)

    with engine.reading() as reader:
        assert reader.text_of(document) == mended
        assert len(reader.roots("global")) == 1
    finish(engine, NOW + READERS_LEAVE)
    assert not any(engine.copies().values())


@pytest.mark.parametrize(("age", "target"), WAYS)
def test_forgetting_in_the_window_removes_every_copy(
    engine: Engine, home: Path, monkeypatch: pytest.MonkeyPatch, age: float, target: Tier
) -> None:
    [document] = fill(engine, [age])
    with engine.reading() as reader:
        card = reader.documents([document])[document]
    forgetting = Thread(target=lambda: forget_documents(erasure(engine, home), [card]))

    with before_deleting(monkeypatch, forgetting.start):
        rotated(engine)
    forgetting.join(60)

    assert tiers_of(engine, [document]) == [None]
    assert holders_of(home, document) == []


@pytest.mark.parametrize(("age", "target"), WAYS)
def test_forgetting_after_a_crash_removes_every_copy(
    engine: Engine, home: Path, monkeypatch: pytest.MonkeyPatch, age: float, target: Tier
) -> None:
    [document] = fill(engine, [age])
    crashed(engine, monkeypatch)
    assert holders_of(home, document) == ["hot", target]  # the control
    with engine.reading() as reader:
        card = reader.documents([document])[document]

    forget_documents(erasure(engine, home), [card])

    assert holders_of(home, document) == []
    assert finish(engine, NOW) == 0
    assert tiers_of(engine, [document]) == [None]


def test_forgetting_a_part_after_a_crash_leaves_it_in_no_copy(
    engine: Engine, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [document] = fill(engine, [100])
    crashed(engine, monkeypatch)
    with engine.reading() as reader:
        gasket = next(
            node
            for node in reader.nodes_of(document)
            if "gasket g0" in node.text and node.kind == "paragraph"
        )

    forget_node(erasure(engine, home), gasket.id)

    for tier in TIERS:
        assert "gasket g0" not in repr(rows(home, tier, document))
    with engine.reading() as reader:
        assert "leaks near valve v0" in reader.text_of(document)  # the control: the rest is there


# -- refused ---------------------------------------------------------------------------------------


def test_a_full_destination_waits_and_says_so_and_the_other_tier_takes_its_own(
    engine: SqliteEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = fill(engine, [5, 400, *[100] * 60])
    warm: list[apsw.Connection] = []

    def fill_up(opened: apsw.Connection) -> None:
        if opened.filename.endswith(FILES["warm"]):
            opened.pragma("max_page_count", int(opened.pragma("page_count")))
            warm.append(opened)

    monkeypatch.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, fill_up])

    done = rotated(engine)

    assert done.moved == {"hot": 0, "warm": 0, "cold": 1}
    assert done.waiting == 60
    assert "full" in done.notes[0]
    assert FILES["warm"] in done.notes[0]
    assert tiers_of(engine, documents) == ["hot", "cold", *["hot"] * 60]
    assert is_unfinished(engine)
    warm[-1].pragma("max_page_count", 2**30)
    assert rotated(engine).moved["warm"] == 60
    assert not is_unfinished(engine)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """A small file system of its own; skipped where none can be mounted."""
    place = tmp_path / "elsewhere"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_the_cold_tier_may_lie_on_another_disk_which_may_fill_up_or_be_read_only_or_gone(
    home: Path, elsewhere: Path
) -> None:
    engine = open_engine(home, cold_path=elsewhere / "cold.db", create=True)
    documents = fill(engine, [400.0] * 3)
    assert rotated(engine).moved["cold"] == 3
    (elsewhere / "ballast").write_bytes(bytes(1_000_000))  # of two megabytes
    later = fill(engine, [400.0] * 400)[3:]

    full = rotated(engine)

    assert full.waiting > 0
    assert "full" in full.notes[0]
    assert None not in tiers_of(engine, documents + later)
    (elsewhere / "ballast").unlink()
    engine.close()
    subprocess.run(["mount", "-o", "remount,ro", str(elsewhere)], check=True)
    engine = open_engine(home, cold_path=elsewhere / "cold.db", create=False)
    read_only = rotated(engine)
    assert read_only.waiting == full.waiting
    assert fill(engine, [400.0] * 3) == documents  # what lies there already may be stored again
    assert "waits" in read_only.notes[0]
    assert None not in tiers_of(engine, documents + later)
    engine.close()
    subprocess.run(["umount", str(elsewhere)], check=True)
    engine = open_engine(home, cold_path=elsewhere / "cold.db", create=False)
    gone = rotated(engine)
    assert gone.missing_tiers == ("cold",)
    assert "waits" in gone.notes[0]
    with engine.reading() as reader:  # the rest works
        assert reader.roots("global")
    engine.close()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(elsewhere)], check=True)


# -- and back --------------------------------------------------------------------------------------


def test_up_and_down_again_changes_nothing_of_a_document(engine: Engine, home: Path) -> None:
    ages = [5, 100, 400]
    documents = fill(engine, ages)
    rotated(engine)
    before = {tier: rows(home, tier, each) for tier, each in zip(TIERS, documents, strict=True)}

    up = rotated(engine, NOW + DAY, options=YOUNG)
    assert tiers_of(engine, documents) == ["hot"] * 3
    assert up.moved_from == ("warm", "cold")
    assert is_unfinished(engine)  # copies stay for readers
    rotated(engine, NOW + 2 * DAY)

    assert tiers_of(engine, documents) == ["hot", "warm", "cold"]
    for tier, each in zip(TIERS, documents, strict=True):
        assert rows(home, tier, each) == before[tier]
    assert not is_unfinished(engine)


def test_a_jump_by_two_years_and_back_moves_nothing(engine: Engine) -> None:
    documents = fill(engine, [i / 3 for i in range(80)])
    rotated(engine)

    for days in (730, -40, 40):
        done = rotated(engine, NOW + days * DAY)
        assert sum(done.moved.values()) == 0
        assert done.notes
    assert set(tiers_of(engine, documents)) == {"hot"}
    assert sum(rotated(engine, NOW + DAY).moved.values()) == 0
    assert (
        rotated(engine, NOW + 8 * DAY).moved["warm"] > 0
    )  # the control: a clock that just goes on


def test_rotation_compacts_what_it_moved_from_where_that_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = datetime.now(UTC) - 400 * DAY
    sizes: dict[str, int] = {}
    for setting in ("false", "true"):
        monkeypatch.setenv("RINGWOOD_TIERS_VACUUM_AFTER_ROTATE", setting)
        with Memory.open(tmp_path / setting, embedder="words") as memory:
            for number in range(60):
                memory.store(text_of(number), at=at)
            done = memory.rotate()
            assert (done.given_back > 0) == (setting == "true")
            sizes[setting] = (tmp_path / setting / FILES["hot"]).stat().st_size
            assert memory.rotate().given_back == 0  # nothing was moved
    assert sizes["true"] < sizes["false"]


def test_a_disk_without_room_for_compacting_is_no_failure_of_rotating(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RINGWOOD_TIERS_VACUUM_AFTER_ROTATE", "true")
    monkeypatch.setattr("ringwood.engine.sqlite.compaction._SMALL", 10**15)
    with Memory.open(tmp_path, embedder="words") as memory:
        memory.store(text_of(1), at=datetime.now(UTC) - 400 * DAY)

        done = memory.rotate()

    assert done.moved["cold"] == 1
    assert "MB are missing" in done.notes[-1]
    assert asdict(done)["given_back"] == 0
