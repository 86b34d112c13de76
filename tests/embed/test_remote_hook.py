"""A hook is on time although the embedding server accepts and never answers: real processes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.embed.server import KEY, serving
from tests.processes import eventually
from tests.serve.calling import Host

LIGHT = "The lighthouse keeper counts the ships that pass at night."


@pytest.mark.slow
def test_a_hook_hands_over_what_words_find_within_its_time(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    with (
        serving() as place,
        Host(
            tmp_path / "home",
            project,
            RINGWOOD_EMBEDDER="openai:fake",
            OPENAI_BASE_URL=f"{place.url}/v1",
            OPENAI_API_KEY=KEY,
        ) as host,
    ):
        (project / "note.md").write_text(f"# Light\n\n{LIGHT}\n", "utf-8")
        assert host.command("store", "note.md")["state"] == "ready"
        place.behaviour.mode = "hangs"
        host.hook("SessionStart", source="startup")
        eventually(host.answers)

        calls = [
            host.hook("UserPromptSubmit", prompt=LIGHT, session_id=f"session-{number}")
            for number in range(4)
        ]

        assert all(call.code == 0 for call in calls)
        assert all(call.seconds < 3.0 for call in calls), "0.3 s of its own, and a busy machine"
        assert sum(LIGHT in call.context for call in calls) >= 3
