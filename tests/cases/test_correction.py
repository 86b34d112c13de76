"""A corrected value answers, whatever is done again afterwards, and what it was stays known.

Ids are those of the acceptance list (`correction.*`), the number that of the public reports (kind
SCOPE). A fact that expires by itself does not exist: bounded validity is a text that says until
when, and a later one in its place.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ringwood.embed.hashing import HashingEmbedder
from ringwood.memory import Memory
from ringwood.recall.budget import Budget

NOW = datetime.now(UTC)
BEFORE, AFTER = NOW - timedelta(days=90), NOW - timedelta(days=20)
REST = "The deployment owner is the platform group."


@dataclass(frozen=True, slots=True)
class Correction:
    """A value, what it became, and a question about it."""

    question: str
    old: str
    new: str
    wrong: str
    """The words of the old value."""
    right: str
    """The words of the new one."""


CORRECTIONS = {
    "replacement": Correction(
        "which port does the gateway listen on",
        "The gateway listens on port 8090.",
        "The gateway listens on port 9443.",
        "8090",
        "9443",
    ),
    "polarity flip": Correction(
        "do we retry failed uploads",
        "Failed uploads are retried by us.",
        "Failed uploads are never retried by us.",
        "are retried",
        "never retried",
    ),
    "partial supersession": Correction(
        "which regions does the gateway serve",
        "The gateway serves the regions Oslo and Lima.",
        "The gateway serves the regions Oslo and Quito.",
        "Lima",
        "Oslo and Quito",
    ),
    "bounded validity": Correction(
        "which certificate does the gateway use",
        "The gateway uses the certificate Amber until May.",
        "The gateway uses the certificate Birch from May on.",
        "Amber",
        "Birch",
    ),
}


def note(value: str) -> str:
    return f"# Gateway\n\n## Setting\n\n{value}\n\n## Owner\n\n{REST}\n"


def said(memory: Memory, question: str, as_of: datetime | None = None) -> str:
    """Return everything that a recall hands over."""
    budget = Budget(max_nodes=20, max_chars=40_000)
    hits = memory.recall(question, floor=0.0, budget=budget, as_of=as_of).hits
    return "\n".join(hit.text + "".join(each.text for each in hit.siblings) for hit in hits)


def do_all_again(memory: Memory) -> None:
    """Run every kind of upkeep that there is."""
    memory.wait(60)
    memory.rotate()
    memory.dream(everything=True, wait_s=60)
    memory.reindex(HashingEmbedder(dim=96), drop_old=True)


@pytest.mark.parametrize("kind", CORRECTIONS)
@pytest.mark.parametrize("way", ["source", "section", "document"])
def test_a_corrected_value_answers_after_everything_is_done_again(
    memory: Memory, kind: str, way: str
) -> None:  # correction.survives_reindex
    case = CORRECTIONS[kind]
    memory.store(note(case.old), source="gateway", at=BEFORE)
    memory.wait(60)
    assert case.wrong in said(memory, case.question)

    if way == "source":
        memory.store(note(case.new), source="gateway", at=AFTER)
    elif way == "section":
        memory.store(case.new, replace="/gateway/setting", at=AFTER)
    else:
        memory.store(note(case.new), replace="/gateway", at=AFTER)
    for _ in range(2):
        now = said(memory, case.question)
        assert case.right in now
        assert case.wrong not in now
        assert case.wrong in said(memory, case.question, AFTER - timedelta(days=1))
        assert case.right not in said(memory, case.question, AFTER - timedelta(days=1))
        assert case.right in said(memory, case.question, AFTER)
        do_all_again(memory)


def test_what_is_taken_back_without_another_value_takes_effect(
    memory: Memory,
) -> None:  # correction.retraction_without_replacement
    case = CORRECTIONS["replacement"]
    memory.store(note(case.old), source="gateway", at=BEFORE)
    without = note(case.old).replace(f"## Setting\n\n{case.old}\n\n", "")
    memory.store(without, source="gateway", at=AFTER)

    for _ in range(2):
        assert case.wrong not in said(memory, case.question)
        assert REST in said(memory, "who is the deployment owner")
        do_all_again(memory)


def test_what_was_noted_in_a_worktree_outlives_it(tmp_path: Path) -> None:  # 57
    app, tree = tmp_path / "app", tmp_path / "app-fix"
    environment = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}

    def git(*arguments: str) -> None:
        who = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
        subprocess.run(["git", *who, *arguments], check=True, capture_output=True, env=environment)

    git("init", "-q", str(app))
    (app / "NOTES.md").write_text("# Cache\n\nThe cache is emptied on Mondays.\n", "utf-8")
    git("-C", str(app), "add", ".")
    git("-C", str(app), "commit", "-q", "-m", "Begin")
    git("-C", str(app), "worktree", "add", "-q", str(tree))
    with Memory.open(tmp_path / "home", embedder="words", directory=str(tree)) as memory:
        memory.store("The fix is to empty the cache twice.")
        memory.import_notes([tree])
        document = memory.read("/cache").document.id
    shutil.rmtree(tree)

    with Memory.open(tmp_path / "home", embedder="words", directory=str(app)) as memory:
        assert "twice" in said(memory, "empty the cache twice")
        report = memory.import_notes([app], prune=True)

        assert (report.pruned, memory.read("/cache").document.id) == (0, document)
        assert memory.read("/cache").document.source == str(app / "NOTES.md")
    with Memory.open(tmp_path / "home", embedder="words", directory=str(tmp_path)) as elsewhere:
        assert "twice" not in said(elsewhere, "empty the cache twice")
