"""What a host sends is clean before it may touch the disk."""

from __future__ import annotations

from pathlib import Path

import pytest
import regex

from ringwood.capture.exchange import MAX_CHARS, Event, admit
from ringwood.capture.space import space_key

TOKEN = "ghp_" + "Zk4" * 12


def take(text: str, *, kind: str = "person") -> Event | None:
    return admit(
        host="codex",
        session="s",
        sequence="7",
        kind=kind,
        text=text,
        at=5.0,
        directory="",
    )


def taken(text: str) -> Event:
    event = take(text)
    assert event is not None
    return event


def test_an_event_carries_what_was_said_and_where(tmp_path: Path) -> None:
    event = admit(
        host="codex",
        session="s",
        sequence="7",
        kind="assistant",
        text="done",
        at=5.0,
        directory=str(tmp_path),
    )

    assert event is not None
    assert (event.host, event.session, event.sequence) == ("codex", "s", "7")
    assert (event.kind, event.text, event.at) == ("assistant", "done", 5.0)
    assert event.space == space_key(str(tmp_path))
    assert (event.masked, event.dropped) == (0, 0)


def test_secrets_private_parts_and_our_own_blocks_are_out_and_counted() -> None:
    block = (
        '<memory-recall nonce="00ff00ff00ff00ff">\n[1] 2026-03-01 person port:/x\nquay\n'
        "end 00ff00ff00ff00ff\n</memory-recall>"
    )

    event = taken(f"key {TOKEN}\n\n{block}\n\n<private>pier</private>keep this")

    assert event.text.split() == ["key", "[redacted:", "github", "token]", "keep", "this"]
    assert (event.masked, event.dropped) == (1, 2)


def test_a_private_part_that_hides_the_end_of_a_block_takes_nothing_out_of_hiding() -> None:
    event = taken("<private>pier <memory-recall nonce='00ff00ff00ff00ff'> pier </private> open")

    assert event.text.strip() == "open"


@pytest.mark.parametrize("said", ["", " \n", "> \n>", "```\n```"])
def test_what_has_nothing_left_is_not_admitted(said: str) -> None:
    assert take(said) is None


def test_an_end_is_admitted_and_has_no_words() -> None:
    event = take("words", kind="end")

    assert event is not None
    assert event.text == ""


def test_a_prompt_that_is_private_as_a_whole_is_admitted_without_a_word() -> None:
    event = take("<private>all of it</private>")
    assert event is not None
    assert (event.text, event.dropped) == ("", 1)
    assert take("<private>all of it</private>", kind="assistant") is None


def test_there_is_no_other_kind() -> None:
    with pytest.raises(ValueError, match="person"):
        take("x", kind="system")


def test_a_long_message_is_cut_between_words_and_says_how_much_is_missing() -> None:
    event = taken("word " * (MAX_CHARS // 2))

    kept, _, note = event.text.partition("\n\n[")
    assert len(kept) <= MAX_CHARS
    assert set(kept.split(" ")) == {"word"}
    assert note == f"{len('word ') * (MAX_CHARS // 2) - len(kept):,} more characters were not kept]"


@pytest.mark.parametrize("cluster", ["👩‍👩‍👧", "🇨🇭", "e\u0301", "각"])
def test_a_long_run_without_a_space_is_cut_at_a_grapheme(cluster: str) -> None:
    event = taken("x" + cluster * (MAX_CHARS // len(cluster) + 10))

    kept = event.text.partition("\n\n[")[0]
    assert MAX_CHARS - 64 < len(kept) <= MAX_CHARS
    assert set(regex.findall(r"\X", kept[-50 * len(cluster) :])[1:]) == {cluster}


def test_no_part_of_a_secret_at_the_cut_is_kept() -> None:
    event = taken("word " * ((MAX_CHARS - 20) // 5) + TOKEN + " word" * 100)

    assert TOKEN[:6] not in event.text


def test_an_event_shows_nothing_of_what_was_said() -> None:
    assert "secret plan" not in repr(taken("the secret plan"))
