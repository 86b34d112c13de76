"""Ten thousand recalls in a home of many spaces, and never a word of another one.

Every space holds the same notes but for a canary, a word that is nowhere else, so that ranking,
links, duplicates and neighbours all lead over to the others if anything does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random

import pytest
from tests.capture.test_space import git
from tests.cases.speaking import say

from ringwood.errors import AddressError
from ringwood.memory import Memory
from ringwood.names import GLOBAL
from ringwood.serve import tools

RECALLS = 10_000
NAMES = ("A", "a", "a%", "*", "_", "app", "app-2", "空间")
TOPICS = (
    "harbour lantern",
    "autumn budget",
    "kiln glaze",
    "job queue",
    "release train",
    "港口的灯",
)
CANARIES = [f"zq{first}{second}vex" for first, second in itertools.product("bdfgk", "lmnpr")]


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, Path]:
    """Folders of many a name, and of two repositories called `app` one with a worktree."""
    made = {name: tmp_path / "spaces" / name for name in NAMES}
    made["other app"] = tmp_path / "elsewhere" / "app"
    for folder in made.values():
        folder.mkdir(parents=True)
    for name in ("app", "other app"):
        git(made[name], "init", "-q")
        git(made[name], "commit", "-q", "--allow-empty", "-m", "first")
    return made


def ways_in(folders: Mapping[str, Path], tmp_path: Path) -> dict[str, list[Path]]:
    """Return for each space the folders that lead to it: itself, a link, a detour, a worktree."""
    ways = {
        name: [folder, tmp_path / f"link-{at}"] for at, (name, folder) in enumerate(folders.items())
    }
    for name, (folder, link) in list(ways.items()):
        link.symlink_to(folder)
        ways[name].append(Path(f"{folder}/."))
    git(folders["app"], "worktree", "add", "-q", str(tmp_path / "worktree"))
    ways["app"].append(tmp_path / "worktree")
    return ways


@pytest.fixture
def home(folders: dict[str, Path], memory: Memory) -> dict[str, str]:
    """A home whose spaces differ in their canary alone; returns space -> canary."""
    canaries = dict(zip([*folders, GLOBAL], CANARIES, strict=False))
    for name, canary in canaries.items():
        view = memory.within(directory=str(folders[name])) if name in folders else memory.within()
        for topic in TOPICS:
            view.store(
                f"# Notes on {topic}\n\nThe {topic} is {canary} this year.\n\n## Why\n\n"
                f"Because the {topic} was {canary} before.\n\nThe {topic} stays.",
                source=f"note {topic}",
            )
            view.store(f"The {topic} stays.\n\nAs of today the {topic} stays {canary}.")
    for name, folder in folders.items():
        lantern = f"The harbour lantern is {canaries[name]}."
        for kind, text in (
            ("person", "What about the lantern?"),
            ("assistant", lantern),
            ("end", ""),
        ):
            say(memory.home, kind, text, session=name, directory=str(folder))
    assert len(memory.take_in(everything=True).documents) == len(folders)
    assert memory.wait(60.0)
    return canaries


def recalled(view: Memory, query: str) -> str:
    answer = view.recall(query, floor=0.0, counted=False)
    return repr((answer.hits, answer.dropped))


def injected(view: Memory, query: str) -> str:
    view.compacted("codex:s")
    return repr(view.inject(query, session="codex:s").hits)


def called(view: Memory, query: str) -> str:
    return repr({**tools.call(view, "mem_recall", {"query": query}).content, "query": ""})


def read(view: Memory, query: str) -> str:
    lines = view.tree(depth=9)
    line = lines[len(query) % len(lines)]
    return repr(view.read(f"{line.space}:{line.node.path}"))


WAYS: list[Callable[[Memory, str], str]] = [recalled, injected, called]


def queries(random: Random, canaries: list[str]) -> Iterator[str]:
    while True:
        topic, canary = random.choice(TOPICS), random.choice(canaries)
        yield random.choice(
            (
                topic,
                f"{topic} {canary}",
                canary,
                f"why was the {topic} {canary} before",
                f"*:/{canary}",
            )
        )


@pytest.mark.slow
def test_of_ten_thousand_recalls_none_shows_another_space(
    folders: dict[str, Path], home: dict[str, str], memory: Memory, tmp_path: Path
) -> None:
    random = Random(20_261_130)
    ways = ways_in(folders, tmp_path)
    asked = queries(random, list(home.values()))
    leaks, own = [], 0
    for number in range(RECALLS):
        name = random.choice(list(ways))
        view = memory.within(directory=str(random.choice(ways[name])))
        query = next(asked)
        shown = WAYS[number % len(WAYS)](view, query)
        if number % 10 == 0:
            shown += read(view, query)
        own += home[name] in shown
        foreign = {each for each in home.values() if each in shown} - {home[name], home[GLOBAL]}
        if foreign:
            leaks.append((name, query, foreign))

    assert leaks == []
    assert own > RECALLS / 2  # what is looked for is found where it belongs


@pytest.mark.slow
def test_under_its_own_space_each_canary_is_found_and_links_stay_there(
    folders: dict[str, Path], home: dict[str, str], memory: Memory
) -> None:
    for name, folder in folders.items():
        view = memory.within(directory=str(folder))
        assert home[name] in view.recall(f"harbour lantern {home[name]}").hits[0].text
        joined = [
            neighbour.path
            for line in view.tree(depth=9)
            for neighbour, _ in view.read(f"{line.space}:{line.node.path}").neighbours
        ]
        assert joined  # there are links, and each leads to where this space can read
        for path in joined:
            assert view.read(path).document.space == view.space


@pytest.mark.slow
def test_no_name_of_a_space_opens_another(home: dict[str, str], memory: Memory) -> None:
    taken = memory.spaces()
    assert len(taken) == len(home)
    for name in ("%", "*", "a%", "A", "_", "__", "ap", "app~", "APP", "app~3"):
        view = memory.within(space=name)
        if name not in taken:
            shown = recalled(view, "harbour lantern")
            assert [each for each in home.values() if each in shown] in ([], [home[GLOBAL]])
            with pytest.raises(AddressError):
                view.read(f"{name}:/notes-on-harbour-lantern")
