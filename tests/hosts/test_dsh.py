"""What the real host does with the plugin: recall, capture, tools, sub-agents, old sessions."""

from __future__ import annotations

import json

import pytest
from tests.hosts.conftest import WITHOUT_TITLES, Dsh, blocks
from tests.hosts.mock_model import Call, Say

from ringwood.memory import Memory
from ringwood.names import POLICY

pytestmark = [pytest.mark.host, pytest.mark.slow]

FACT = "Remember this: the lighthouse of Vesterholm is painted with ochre from Lund."
QUESTION = "Which ochre is the lighthouse of Vesterholm painted with?"


def exchange(person: str, assistant: str) -> str:
    return f":::: person\n{person}\n\n:::: assistant\n{assistant}\n"


def test_what_one_session_said_stands_framed_in_the_first_request_of_the_next(dsh: Dsh) -> None:
    told = dsh.ask("one", FACT, Say("Noted: ochre from Lund."))

    asked = dsh.ask("two", QUESTION, Say("From Lund."))

    assert blocks(told.first) == []
    assert len(blocks(asked.first)) == 1
    assert "painted with ochre from Lund" in asked.first
    assert POLICY in asked.first
    assert asked.answer == "From Lund."
    # Nothing but the words of the two is kept: no system prompt, no runtime context, no block.
    assert dsh.exchanges() == {
        "dsh:one:8": exchange(FACT, "Noted: ochre from Lund."),
        "dsh:two:8": exchange(QUESTION, "From Lund."),
    }
    assert "ochre" not in dsh.log()


def test_the_model_calls_a_tool_and_gets_what_it_answers(dsh: Dsh) -> None:
    note = {"text": "The ferry to Vesterholm leaves at nine.", "title": "Ferry"}

    turn = dsh.ask("one", "Please keep when it leaves.", Call("mem_store", note), Say("Kept."))

    offered = [tool.get("name") or tool["function"]["name"] for tool in turn.requests[0]["tools"]]
    assert {"mem_recall", "mem_store", "mem_read", "mem_forget"} <= set(offered)
    assert POLICY in json.dumps(turn.requests[0])
    assert "Stored as" in json.dumps(turn.requests[1]["messages"])
    with Memory.open(dsh.memory_home, embedder="words", wait_s=0.0) as memory:
        view = memory.within(directory=str(dsh.workspace)).read("/ferry")
    assert (view.source, view.document.actor) == (note["text"], "assistant")


def test_a_node_is_injected_once_in_three_turns_and_a_resumed_session_adds_nothing_twice(
    dsh: Dsh,
) -> None:
    dsh.ask("one", FACT, Say("Noted."))

    with dsh.running() as host:
        first = host.ask("two", QUESTION, Say("From Lund."))
        second = host.ask("two", f"Again: {QUESTION}", Say("Lund."))
        if not dsh.resumes:
            third = host.ask("two", f"Once more: {QUESTION}", Say("Lund!"))
    if dsh.resumes:
        with dsh.running() as host:
            host.resume("two")
            third = host.ask("two", f"Once more: {QUESTION}", Say("Lund!"))

    assert len(blocks(first.first)) == 1
    # The host keeps what it was given, so the block is in every later request: but no other.
    assert blocks(third.first) == blocks(second.first) == blocks(first.first)
    assert sorted(dsh.exchanges().values()) == sorted(
        [
            exchange(FACT, "Noted."),
            exchange(QUESTION, "From Lund."),
            exchange(f"Again: {QUESTION}", "Lund."),
            exchange(f"Once more: {QUESTION}", "Lund!"),
        ]
    )


def test_a_sub_agent_is_told_nothing_and_nothing_of_it_is_kept(dsh: Dsh) -> None:
    errand = {"description": "Ask the painter", "prompt": f"Find out: {QUESTION}"}
    dsh.settings["RINGWOOD_FLOOR_INJECTED"] = "0"  # the host adds much to an errand's words

    with dsh.running() as host:
        host.ask("one", FACT, Say("Noted."))
        dsh.wait_for_document("dsh:one:8")
        host.ask("two", "Send somebody to ask.", Call("subagent", errand))
        delegated = host.wait_for_request(errand["prompt"], without="Send somebody to ask.")

    assert blocks(delegated) == []
    kept = dsh.exchanges().values()
    assert [text for text in kept if errand["prompt"] in text] == []
    assert [text for text in kept if "Send somebody to ask." in text]


def test_uninstalling_gives_the_host_back_the_file_it_had(dsh: Dsh) -> None:
    before = WITHOUT_TITLES.encode() if dsh.release == "0.1.5rc1" else None
    assert b"ringwood" in dsh.patch_file.read_bytes()

    dsh.uninstall()

    assert (dsh.patch_file.read_bytes() if dsh.patch_file.exists() else None) == before
    turn = dsh.ask("one", "Are you there?", Say("Here."))
    assert turn.answer == "Here."
    assert "mem_recall" not in json.dumps(turn.requests)
    assert not dsh.memory_home.exists()


def test_reading_the_sessions_later_keeps_what_capture_kept(dsh: Dsh) -> None:
    with dsh.running() as host:
        host.ask("one", FACT, Say("Noted: ochre from Lund."))
        host.ask("two", QUESTION, Call("mem_recall", {"query": QUESTION}), Say("It is from Lund."))
        host.ask("three", "<private>my diary</private>", Say("I will not keep that."))
        host.ask("one", "Thank you, and good night.", Say("Good night."))
    live = dsh.documents()
    into = dsh.memory_home.with_name("imported")

    first = dsh.import_sessions(into)
    again = dsh.import_sessions(into)

    assert len(live) == 3  # what is answered to a private prompt is private, too
    assert dsh.documents(into) == live
    assert (first["sessions"], first["exchanges"], first["documents"]) == (2, 3, 3)
    assert (again["documents"], again["existing"]) == (0, 3)
