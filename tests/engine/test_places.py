"""Places that settings give to colder tiers: each has a file of its own, and of this home alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.engine.moving import FILES

from ringwood.errors import ConfigError
from ringwood.memory import Memory


def stored(home: Path) -> Path:
    """Make a home with a document in it."""
    with Memory.open(home, embedder="words") as memory:
        memory.store("The turbine turns.")
    return home


def refuse(home: Path) -> None:
    """See that nothing is done there, and that the setting is named."""
    with Memory.open(home, embedder="words") as memory:
        for act in (memory.rotate, memory.verify, memory.salvage, memory.compact):
            with pytest.raises(ConfigError) as caught:
                act()
            assert "tiers.warm_path" in caught.value.mend


@pytest.mark.parametrize(
    ("tier", "other"), [("warm", "hot"), ("warm", "cold"), ("cold", "hot"), ("cold", "warm")]
)
@pytest.mark.parametrize("how", ["plain", "around", "link", "second name"])
def test_no_two_tiers_share_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tier: str, other: str, how: str
) -> None:
    home = stored(tmp_path / "home")
    place = home / FILES[other]  # type: ignore[index]
    if how == "around":
        place = home / ".." / "home" / place.name
    elif how == "link":
        (tmp_path / "link.db").symlink_to(place)
        place = tmp_path / "link.db"
    elif how == "second name":
        (tmp_path / "second.db").hardlink_to(place)
        place = tmp_path / "second.db"
    with monkeypatch.context() as settings:
        settings.setenv(f"RINGWOOD_TIERS_{tier.upper()}_PATH", str(place))
        settings.setenv("RINGWOOD_TIERS_HOT_DAYS", "0")
        refuse(home)
    with Memory.open(home, embedder="words") as memory:
        assert len(memory.recall("turbine").hits) == 1


@pytest.mark.parametrize("name", ["memory.db", "memory-warm.db", "new.db"])
def test_no_tier_lies_in_another_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    home, other = stored(tmp_path / "home"), stored(tmp_path / "other")
    with monkeypatch.context() as settings:
        settings.setenv("RINGWOOD_TIERS_WARM_PATH", str(other / name))
        refuse(home)
        with (
            Memory.open(tmp_path / "third", embedder="words") as memory,
            pytest.raises(ConfigError),
        ):
            memory.store("The pump leaks.")
    with Memory.open(other, embedder="words") as memory:
        assert memory.verify().documents == 1


def test_all_tiers_may_lie_on_another_disk_by_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = stored(tmp_path / "home")
    (tmp_path / "disk").mkdir()
    for name in FILES.values():
        (home / name).rename(tmp_path / "disk" / name)
        (home / name).symlink_to(tmp_path / "disk" / name)
    monkeypatch.setenv("RINGWOOD_TIERS_COLD_PATH", str(tmp_path / "disk" / FILES["cold"]))
    with Memory.open(home, embedder="words") as memory:
        assert len(memory.recall("turbine").hits) == 1


def test_a_relative_place_begins_in_the_home_wherever_one_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RINGWOOD_TIERS_WARM_PATH", "older.db")
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        with Memory.open(tmp_path / "home", embedder="words") as memory:
            memory.store(f"The turbine of {name}.")
            assert memory.verify().is_clean
            assert memory.rotate().missing_tiers == ()
    assert (tmp_path / "home" / "older.db").exists()
