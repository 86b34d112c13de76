"""A database of another program where a colder tier belongs: left as it is, the rest goes on."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw
import pytest
from tests.engine.moving import FILES

from ringwood.engine.sqlite.schema import MIGRATIONS
from ringwood.errors import StorageError
from ringwood.memory import Memory
from ringwood.types import Tier


def put_a_stranger(path: Path) -> bytes:
    """Put a database of another program there; its version is, by chance, ours."""
    theirs = path.with_name("theirs.db")  # made elsewhere: whoever has the home open may look
    with closing(apsw.Connection(str(theirs))) as connection:
        connection.execute("CREATE TABLE theirs (x)")
        connection.pragma("user_version", len(MIGRATIONS))
    theirs.chmod(0o600)
    theirs.replace(path)
    return path.read_bytes()


@pytest.fixture(params=["warm", "cold"])
def tier(request: pytest.FixtureRequest) -> Tier:
    """Every colder tier."""
    tier: Tier = request.param
    return tier


def test_the_rest_goes_on_and_it_is_left_as_it_is(tmp_path: Path, tier: Tier) -> None:
    with Memory.open(tmp_path, embedder="words") as memory:
        memory.store("The turbine turns.")
    path = tmp_path / FILES[tier]
    theirs = put_a_stranger(path)

    with Memory.open(tmp_path, embedder="words") as memory:
        memory.store("The pump leaks.")
        assert len(memory.recall("turbine").hits) == 1
        assert memory.rotate().missing_tiers == (tier,)
        memory.compact()
        [finding] = [each for each in memory.verify().findings if each.level != "untidy"]
        assert "another program" in finding.says
        assert f"tiers.{tier}_path" in finding.mend
        with pytest.raises(StorageError, match="another program") as caught:
            memory.salvage(tier, force=True)
        assert f"tiers.{tier}_path" in caught.value.mend
    assert path.read_bytes() == theirs


def test_it_is_open_already_when_it_comes(tmp_path: Path, tier: Tier) -> None:
    with Memory.open(tmp_path, embedder="words") as memory:
        memory.store("The turbine turns.")
        theirs = put_a_stranger(tmp_path / FILES[tier])
        memory.store("The pump leaks.")
        assert len(memory.recall("turbine").hits) == 1
        assert len(memory.recall("pump").hits) == 1
    assert (tmp_path / FILES[tier]).read_bytes() == theirs


def test_a_new_home_is_not_begun_beside_it(tmp_path: Path, tier: Tier) -> None:
    theirs = put_a_stranger(tmp_path / FILES[tier])
    with (
        Memory.open(tmp_path, embedder="words") as memory,
        pytest.raises(StorageError, match="another program") as caught,
    ):
        memory.store("The turbine turns.")
    assert f"tiers.{tier}_path" in caught.value.mend
    assert (tmp_path / FILES[tier]).read_bytes() == theirs
    assert not (tmp_path / FILES["hot"]).exists()
