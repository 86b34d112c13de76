"""A rotation between two steps of an edit or of forgetting: neither is undone by it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from tests.upkeep.aged import NOW, fill, rotated, text_of, tiers_of

from ringwood.engine.base import Engine, Writer
from ringwood.types import Tier
from ringwood.upkeep.rotate import Rotated
from ringwood.write.forget import Erasure, forget_documents
from ringwood.write.ingest import Draft, Intake, ingest


def rotate_before_the_first_write(
    engine: Engine, tier: Tier, monkeypatch: pytest.MonkeyPatch
) -> list[Rotated]:
    """Let a rotation run just before the next write to a tier; it is then in the list."""
    real, done = engine.writing, list[Rotated]()

    def writing(
        asked: Tier = "hot", *, timeout_s: float | None = None
    ) -> AbstractContextManager[Writer]:
        if asked == tier and not done:
            done.append(rotated(engine))
        return real(asked, timeout_s=timeout_s)

    monkeypatch.setattr(engine, "writing", writing)
    return done


def test_an_edit_outlives_a_rotation_before_its_older_copy_is_deleted(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    [document] = fill(engine, [100])
    rotated(engine)
    done = rotate_before_the_first_write(engine, "warm", monkeypatch)
    mended = text_of(0) + "\nMended.\n"

    ingest(engine, [Draft(mended, "global", "person", source="note 0")], Intake(NOW, "ready"))

    assert [each.moved["warm"] for each in done] == [1]
    assert tiers_of(engine, [document]) == ["warm"]
    with engine.reading() as reader:
        assert reader.text_of(document) == mended


def test_forgetting_outlives_a_rotation_that_goes_the_other_way(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    [document] = fill(engine, [400])
    done = rotate_before_the_first_write(engine, "warm", monkeypatch)
    with engine.reading() as reader:
        card = reader.documents([document])[document]

    forget_documents(Erasure(engine, str(tmp_path / "mirror"), "", Intake(NOW, "ready")), [card])

    assert [each.moved["cold"] for each in done] == [1]
    assert tiers_of(engine, [document]) == [None]
    with engine.reading() as reader:
        assert all(tier.nodes == 0 for tier in reader.totals().tiers.values())
