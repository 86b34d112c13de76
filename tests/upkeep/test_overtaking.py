"""A rotation between two steps of an edit or of forgetting: neither is undone by it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from tests.upkeep.aged import NOW, fill, rotated, text_of, tiers_of

from ringwood.engine.base import Engine
from ringwood.types import Tier
from ringwood.upkeep.aging.rotate import Rotated
from ringwood.write.draft import Draft, Intake
from ringwood.write.forget import Erasure, forget_documents
from ringwood.write.ingest import ingest


def rotate_before_the_first(
    engine: Engine, step: str, monkeypatch: pytest.MonkeyPatch, tier: Tier, *, after: int = 0
) -> list[Rotated]:
    """Let a rotation run just before the first step of its name in a tier; it is then listed.

    Or before the first that comes `after` so many.
    """
    real, begun, done = getattr(engine, step), list[str](), list[Rotated]()

    def called(asked: Tier = "hot", *arguments: object, **named: object) -> object:
        if asked == tier:
            begun.append(step)
            if len(begun) == 1 + after:
                done.append(rotated(engine))
        return real(asked, *arguments, **named)

    monkeypatch.setattr(engine, step, called)
    return done


def test_an_edit_outlives_a_rotation_before_its_older_copy_is_deleted(engine: Engine) -> None:
    [document] = fill(engine, [100])
    rotated(engine)
    mended = text_of(0) + "\nMended.\n"

    ingest(engine, [Draft(mended, "global", "person", source="note 0")], Intake(NOW, "ready"))
    assert engine.copies()["warm"] == (document,)

    assert rotated(engine).moved["warm"] == 1
    assert tiers_of(engine, [document]) == ["warm"]
    with engine.reading() as reader:
        assert reader.text_of(document) == mended


def test_an_edit_is_begun_anew_when_a_rotation_takes_its_document_back_before_it_is_written(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    [document] = fill(engine, [100])
    rotated(engine)
    # The first says that the document is about to be brought in.
    done = rotate_before_the_first(engine, "writing", monkeypatch, "hot", after=1)
    mended = text_of(0) + "\nMended.\n"

    ingest(engine, [Draft(mended, "global", "person", source="note 0")], Intake(NOW, "ready"))

    assert [each.moved["warm"] for each in done] == [1]
    assert tiers_of(engine, [document]) == ["hot"]
    with engine.reading() as reader:
        assert reader.text_of(document) == mended
        assert reader.text_at(document, NOW - timedelta(days=50)) == text_of(0)


def test_forgetting_outlives_a_rotation_that_goes_the_other_way(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    [document] = fill(engine, [400])
    done = rotate_before_the_first(engine, "writing", monkeypatch, "warm")
    with engine.reading() as reader:
        card = reader.documents([document])[document]

    forget_documents(Erasure(engine, str(tmp_path / "mirror"), "", Intake(NOW, "ready")), [card])

    assert [each.moved["cold"] for each in done] == [1]
    assert tiers_of(engine, [document]) == [None]
    with engine.reading() as reader:
        assert all(tier.nodes == 0 for tier in reader.totals().tiers.values())
