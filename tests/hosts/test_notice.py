"""What is read of a host's object, and what is written for it."""

from __future__ import annotations

import json

import pytest

from ringwood.hosts import claude_code, codex, notice

PROMPT = {
    "session_id": "s1",
    "transcript_path": "/tmp/s1.jsonl",
    "cwd": "/srv/app",
    "hook_event_name": "UserPromptSubmit",
    "permission_mode": "default",
    "prompt_id": "p1",
    "prompt": "Which port?",
}


def test_a_prompt_is_read() -> None:
    told = claude_code.read(PROMPT)

    assert told is not None
    assert (told.host, told.event, told.session) == ("claude-code", "UserPromptSubmit", "s1")
    assert (told.sequence, told.directory, told.text) == ("p1", "/srv/app", "Which port?")


def test_codex_calls_the_exchange_a_turn() -> None:
    told = codex.read(PROMPT | {"turn_id": "t9"})

    assert told is not None
    assert (told.host, told.sequence) == ("codex", "t9")


def test_an_answer_is_read_at_a_stop_and_a_prompt_only_at_a_prompt() -> None:
    stop = PROMPT | {"hook_event_name": "Stop", "last_assistant_message": "5544."}
    told = claude_code.read(stop)

    assert told is not None
    assert told.text == "5544."
    unsaid = claude_code.read(stop | {"last_assistant_message": None})
    assert unsaid is not None
    assert unsaid.text == ""


@pytest.mark.parametrize("field", sorted(set(PROMPT) - {"hook_event_name", "session_id"}))
@pytest.mark.parametrize("value", [None, 7, [], {}, True])
def test_what_is_no_text_is_empty(field: str, value: object) -> None:
    told = claude_code.read(PROMPT | {field: value})

    assert told is not None
    assert told.session == "s1"
    assert "" in (told.directory, told.sequence, told.text) or field in (
        "permission_mode",
        "transcript_path",
    )


@pytest.mark.parametrize(
    "payload",
    [
        None,
        [],
        "text",
        {},
        {key: value for key, value in PROMPT.items() if key != "session_id"},
        PROMPT | {"hook_event_name": "PreToolUse"},
        PROMPT | {"agent_id": "a1"},
        PROMPT | {"isSidechain": True},
    ],
)
def test_what_is_not_the_conversation_is_nothing(payload: object) -> None:
    assert claude_code.read(payload) is None
    assert codex.read(payload) is None


def test_only_codex_tells_that_it_has_compacted() -> None:
    compacted = PROMPT | {"hook_event_name": "PostCompact", "trigger": "auto"}

    assert codex.read(compacted) is not None
    assert claude_code.read(compacted) is None


def test_an_answer_is_one_line_that_survives_every_encoding() -> None:
    line = notice.context("UserPromptSubmit", "café \ud83d\n为什么 \u2028 end")

    assert line.isascii()
    assert line.count(b"\n") == 1
    told = json.loads(line)["hookSpecificOutput"]
    assert told["hookEventName"] == "UserPromptSubmit"
    assert told["additionalContext"] == "café ?\n为什么 \u2028 end"
