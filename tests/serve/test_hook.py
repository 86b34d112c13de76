"""Hooks as hosts call them: what they keep, what they hand over, what they cost."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.processes import PATIENCE_S, eventually
from tests.serve.calling import PYTHON, Call, Host, cpu_ms
from tests.serve.schemas import output

from ringwood import home as homes
from ringwood.capture import consent, spool
from ringwood.capture.exchange import Event
from ringwood.engine.sqlite import open_engine
from ringwood.memory import Memory
from ringwood.names import POLICY
from ringwood.recall.usage import unpack
from ringwood.serve import hook
from ringwood.version import __version__

CPU_MS = 60.0
"""What a hook may cost above an interpreter that does nothing."""


def answer(host: Host, event: str, *, agent: str = "claude-code", **payload: object) -> str:
    """Do in this process what a hook's worker does; return the text for the model."""
    given = json.dumps(host.payload(event, **payload)).encode()
    arguments = [agent, "--home", str(host.home)]
    printed = hook.answer(arguments, given, time.monotonic())
    if not printed:
        return ""
    told: str = json.loads(printed)["hookSpecificOutput"]["additionalContext"]
    return told


def kept(host: Host) -> list[Event]:
    """Read what lies in the spool, oldest first."""
    home = str(host.home)
    read = [spool.read(home, name) for name in spool.waiting(home)]
    return [event for event in read if event is not None]


def said(host: Host) -> list[tuple[str, str, str]]:
    return [(event.sequence, event.kind, event.text) for event in kept(host)]


@pytest.fixture
def quiet(host: Host, monkeypatch: pytest.MonkeyPatch) -> Host:
    """A host whose hooks start no resident process: what would start it is not there."""
    monkeypatch.setattr(sys, "executable", str(host.home / "no-such-python"))
    return host


def test_a_prompt_and_its_answer_are_kept_as_one_exchange(quiet: Host) -> None:
    answer(quiet, "UserPromptSubmit", prompt="Which port?", prompt_id="p1")
    answer(quiet, "Stop", last_assistant_message="5544.", stop_hook_active=False, prompt_id="p1")

    assert said(quiet) == [
        ("p1", "person", "Which port?"),
        ("p1", "assistant", "5544."),
        ("p1", "end", ""),
    ]
    first = kept(quiet)[0]
    assert (first.host, first.session) == ("claude-code", "session-1")
    assert first.space == str(quiet.directory)
    assert abs(first.at - time.time()) < 60


def test_codex_names_an_exchange_by_its_turn(quiet: Host) -> None:
    more = {"turn_id": "t1", "model": "m", "permission_mode": "default", "agent": "codex"}
    answer(quiet, "UserPromptSubmit", prompt="Which port?", **more)
    answer(quiet, "Stop", last_assistant_message=None, stop_hook_active=False, **more)

    assert [(each.host, each.sequence, each.kind) for each in kept(quiet)] == [
        ("codex", "t1", "person"),
        ("codex", "t1", "end"),
    ]


def test_without_a_name_the_exchange_stays_open_until_the_session_ends(quiet: Host) -> None:
    answer(quiet, "UserPromptSubmit", prompt="Which port?")
    answer(quiet, "Stop", last_assistant_message="5544.", stop_hook_active=False)
    answer(quiet, "Stop", last_assistant_message="Tested.", stop_hook_active=True)
    assert [kind for _, kind, _ in said(quiet)] == ["person", "assistant", "assistant"]

    answer(quiet, "SessionEnd", reason="other")

    assert [kind for _, kind, _ in said(quiet)][-1] == "end"


def test_nothing_private_secret_or_recalled_reaches_the_spool(quiet: Host) -> None:
    key = "ghp_" + "a1B2" * 9
    prompt = (
        f"Use {key} here. <private>the doctor said so</private>"
        '<memory-recall nonce="0011223344556677">\nold\nend 0011223344556677\n</memory-recall>'
    )

    answer(quiet, "UserPromptSubmit", prompt=prompt)

    (event,) = kept(quiet)
    assert event.masked == 1
    assert event.text.startswith("Use [redacted")
    written = b"".join(each.read_bytes() for each in quiet.home.rglob("*") if each.is_file())
    for word in (key.encode(), b"doctor", b"0011223344556677"):
        assert word not in written


@pytest.mark.parametrize(
    "payload",
    [
        {"agent_id": "a1", "agent_type": "Explore"},
        {"isSidechain": True},
        {"hook_event_name": "SubagentStop"},
        {"hook_event_name": "SubagentStart"},
        {"hook_event_name": "PostToolUse", "tool_name": "Bash"},
        {"hook_event_name": "NeverHeardOf"},
        {"hook_event_name": None},
        {"session_id": None},
    ],
)
def test_what_is_not_the_conversation_is_neither_kept_nor_answered(
    payload: dict[str, Any], quiet: Host
) -> None:
    more = {"prompt": "Which port?", "last_assistant_message": "5544."} | payload

    assert answer(quiet, "UserPromptSubmit", **more) == ""
    assert kept(quiet) == []
    assert answer(quiet, "UserPromptSubmit", prompt="Which port?") == ""
    assert len(kept(quiet)) == 1


def test_where_capture_is_paused_nothing_is_kept(quiet: Host) -> None:
    consent.pause(str(quiet.home), str(quiet.directory))
    answer(quiet, "UserPromptSubmit", prompt="Which port?")
    assert kept(quiet) == []

    consent.resume(str(quiet.home), str(quiet.directory))
    answer(quiet, "UserPromptSubmit", prompt="Which port?")
    assert len(kept(quiet)) == 1

    (quiet.directory / ".ringwoodignore").write_text("*\n")
    answer(quiet, "UserPromptSubmit", prompt="And which host?")
    assert len(kept(quiet)) == 1


def test_a_session_starts_with_the_policy_and_what_was_kept_of_its_space(quiet: Host) -> None:
    assert answer(quiet, "SessionStart", source="startup") == POLICY

    brief = Path(homes.brief_path(str(quiet.home), str(quiet.directory)))
    brief.parent.mkdir(parents=True)
    brief.write_text("<memory-recall …>")

    assert answer(quiet, "SessionStart", source="resume") == f"{POLICY}\n\n<memory-recall …>"
    elsewhere = str(quiet.directory.parent)
    assert answer(quiet, "SessionStart", source="startup", cwd=elsewhere) == POLICY


@pytest.mark.parametrize(
    ("event", "payload"), [("PreCompact", {}), ("SessionStart", {"source": "compact"})]
)
def test_a_compaction_is_noted_where_no_resident_process_is_left(
    event: str, payload: dict[str, Any], quiet: Host
) -> None:
    fact, question = "The staging database listens on port 8091.", "Which port has staging?"
    session = "claude-code:session-1"
    with Memory.open(quiet.home, embedder="words") as memory:
        memory.store(fact)
        assert memory.inject(question, session=session).hits
    with Memory.open(quiet.home, embedder="words") as memory:
        assert not memory.inject(question, session=session).hits

    answer(quiet, event, **payload)

    with Memory.open(quiet.home, embedder="words") as memory:
        assert memory.inject(question, session=session).hits


def test_a_compaction_makes_no_home(quiet: Host) -> None:
    answer(quiet, "PreCompact")
    assert not quiet.home.exists()


def test_what_goes_wrong_is_logged_without_a_word_of_what_was_said(quiet: Host) -> None:
    quiet.home.mkdir()
    (quiet.home / spool.SPOOL_FOLDER).write_text("in the way")

    assert answer(quiet, "UserPromptSubmit", prompt="heron is a secret name") == ""

    log = (quiet.home / homes.LOG_FOLDER / "hook.log").read_text()
    assert "claude-code UserPromptSubmit: not kept: storage" in log
    assert "heron" not in log


def test_the_log_is_bounded(quiet: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook, "MAX_LOG_BYTES", 500)
    quiet.home.mkdir()
    arguments = ["claude-code", "--home", str(quiet.home)]

    for _ in range(100):
        hook.answer(arguments, b"nonsense", time.monotonic())

    logs = list((quiet.home / homes.LOG_FOLDER).iterdir())
    assert len(logs) == 2
    assert all(0 < each.stat().st_size < 700 for each in logs if each.exists())


def test_a_hook_imports_nothing_dear() -> None:
    code = "import sys, ringwood.serve.cli, ringwood.serve.hook; print(*sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    )
    bare = subprocess.run(
        [sys.executable, "-P", "-c", "import sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )

    loaded = set(done.stdout.split()) - set(bare.stdout.split())
    ours = {name for name in loaded if name.partition(".")[0] == "ringwood"}

    assert "ringwood.serve.hook" in ours
    assert {name.split(".")[1] for name in ours if "." in name} <= {
        *("capture", "durable", "errors", "home", "hosts", "names", "serve", "text", "version")
    }
    assert {name.partition(".")[0] for name in loaded - ours} <= set(sys.stdlib_module_names)
    assert not loaded & {"typing", "dataclasses", "pathlib", "asyncio", "subprocess", "logging"}


def test_hooks_remember_from_one_session_to_the_next(host: Host) -> None:
    began = host.hook("SessionStart", source="startup")
    assert (began.code, began.err) == (0, b"")
    assert began.context == POLICY
    eventually(host.answers)
    host.say(
        "The staging database is called heron and listens on port 5544.",
        "Noted: heron, port 5544.",
        turn="p1",
    )
    eventually(host.settled)

    next_one = host.hook("SessionStart", source="startup", session_id="session-2")
    known = host.hook(
        "UserPromptSubmit",
        prompt="On which port listens the staging database?",
        session_id="session-2",
    )
    nod = host.hook("UserPromptSubmit", prompt="thanks", session_id="session-2")

    assert "project (1 document)" in next_one.context
    assert "heron" in known.context
    assert known.context.startswith("<memory-recall nonce=")
    assert (nod.code, nod.out, nod.err) == (0, b"", b"")
    for event, call in (("SessionStart", next_one), ("UserPromptSubmit", known)):
        for agent in ("claude-code", "codex"):
            jsonschema.validate(json.loads(call.out), output(agent, event))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(json.loads(known.out) | {"why": 1}, output("codex", "UserPromptSubmit"))


def test_where_capture_is_paused_memory_answers_and_keeps_no_question(host: Host) -> None:
    question = "On which port listens the staging database, asks Zephyrine?"
    with Memory.open(host.home, embedder="hashing") as memory:
        memory.store("The staging database is called heron and listens on port 5544.")
    consent.pause(str(host.home), None)
    host.hook("SessionStart", source="startup")
    eventually(host.answers)

    given = json.dumps(host.payload("UserPromptSubmit", prompt=question)).encode()
    patient = time.monotonic() + PATIENCE_S
    known = hook.answer(["claude-code", "--home", str(host.home)], given, patient)

    assert b"heron" in known
    host.end_resident()
    with Memory.open(host.home, embedder="hashing") as memory:
        assert (memory.stats().spooled, len(memory.recent())) == (0, 1)
    with closing(open_engine(host.home, create=False)) as engine, engine.reading() as reader:
        [log] = map(unpack, reader.recent_logs(9))
    assert "heron" in log["hits"][0]["text"]
    assert "Zephyrine" not in json.dumps(log)


def test_every_way_to_call_a_hook_ends_well(host: Host) -> None:
    given = json.dumps(host.payload("UserPromptSubmit", prompt="Which port?")).encode()
    calls = [
        ("hook", "claude-code"),
        ("hook", "--home", str(host.home), "codex"),
        ("--home", str(host.home), "hook", "claude-code"),
        ("hook", "no-such-host"),
        ("hook",),
        ("hook", "claude-code", "--no-such-option"),
    ]
    for arguments in calls:
        done = subprocess.run(
            [*PYTHON, *arguments],
            input=given,
            env=host.environ,
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b""), arguments
    assert len(spool.waiting(str(host.home))) >= 4


def hook_after(host: Host, before: str, event: str, **payload: object) -> Call:
    """Call a hook in an interpreter that has done something first."""
    code = f"import os, time\n{before}\nfrom ringwood.serve.hook import main\nmain(['claude-code'])"
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        input=json.dumps(host.payload(event, **payload)).encode(),
        env=host.environ,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
        start_new_session=True,
    )
    return Call(done.returncode, done.stdout, done.stderr, time.monotonic() - began, 0.0)


def test_half_an_installation_says_nothing(host: Host) -> None:
    code = (
        "import sys\nsys.modules['ringwood.text.redact'] = None\n"
        "from ringwood.serve.cli import main\nsys.argv[1:] = ['{}']\nmain()"
    )
    hooked, other = (
        subprocess.run(
            [sys.executable, "-P", "-c", code.format(command)],
            stdin=subprocess.DEVNULL,
            env=host.environ,
            capture_output=True,
            check=False,
        )
        for command in ("hook", "stats")
    )
    assert (hooked.returncode, hooked.stdout, hooked.stderr) == (0, b"", b"")
    assert other.returncode != 0


LATE = """
from ringwood.capture import spool
append = spool.append
def late(home, event):
    time.sleep(2.0)
    return append(home, event)
spool.append = late
"""

INTERRUPTED = """
import signal
from ringwood.capture import spool
append = spool.append
def interrupted(home, event):
    os.killpg(0, signal.SIGINT)
    return append(home, event)
spool.append = interrupted
"""

NO_MORE_PROCESSES = """
def fork():
    raise BlockingIOError("no more processes")
os.fork = fork
"""


def test_a_disk_that_is_late_holds_up_nobody_and_keeps_what_was_said(host: Host) -> None:
    call = hook_after(host, LATE, "UserPromptSubmit", prompt="Which port?")

    assert (call.code, call.out, call.err) == (0, b"", b"")
    assert call.seconds < 1.9  # it did not wait for the disk
    assert not host.home.exists()
    eventually(lambda: len(spool.waiting(str(host.home))) == 1)


def test_an_interrupt_from_the_keyboard_is_the_hosts(host: Host) -> None:
    call = hook_after(host, INTERRUPTED, "UserPromptSubmit", prompt="Which port?")

    assert (call.code, call.err) == (0, b"")
    eventually(lambda: len(spool.waiting(str(host.home))) == 1)


def test_where_no_process_can_be_made_a_hook_works_alone(host: Host) -> None:
    call = hook_after(host, NO_MORE_PROCESSES, "UserPromptSubmit", prompt="Which port?")
    assert (call.code, call.err) == (0, b"")
    assert len(spool.waiting(str(host.home))) == 1

    late = hook_after(host, NO_MORE_PROCESSES + LATE, "UserPromptSubmit", prompt="Which host?")
    assert (late.code, late.out, late.err) == (0, b"", b"")
    assert late.seconds < 1.9
    assert len(spool.waiting(str(host.home))) == 1


@pytest.mark.slow
def test_an_older_resident_process_gives_way_to_ours(host: Host) -> None:
    old = (
        "import sys\nfrom ringwood import version\nversion.__version__ = '0.0.9'\n"
        "from ringwood.serve.cli import main\nsys.argv[1:] = ['serve']\nmain()"
    )
    with subprocess.Popen([sys.executable, "-P", "-c", old], env=host.environ) as process:
        eventually(host.answers)
        assert host.ask("hello")["version"] == "0.0.9"

        host.hook("SessionStart", source="startup")

        assert process.wait(PATIENCE_S) == 0
    eventually(host.answers)
    assert host.ask("hello")["version"] == __version__
    newer = host.resident
    host.hook("SessionStart", source="startup")
    assert host.resident == newer


def medians(host: Host, event: str, **payload: object) -> float:
    """Return what a hook costs above an interpreter that does nothing, in ms of processor time."""
    given = json.dumps(host.payload(event, **payload)).encode()
    nothing, hooks = [], []
    lock = host.home / homes.RESIDENT_LOCK
    for _ in range(15):
        os.utime(lock)  # as if one were just starting: no hook starts another
        nothing.append(cpu_ms([sys.executable, "-P", "-c", "pass"], os.environ))
        hooks.append(host.call(given).cpu_ms)
    return statistics.median(hooks) - statistics.median(nothing)


@pytest.mark.slow
def test_a_hook_costs_little_without_a_resident_process(host: Host) -> None:
    host.home.mkdir(mode=0o700)
    (host.home / homes.RESIDENT_LOCK).touch()

    cost_ms = medians(host, "UserPromptSubmit", prompt="On which port is the database?")

    assert not host.answers()
    assert cost_ms < CPU_MS


@pytest.mark.slow
def test_a_hook_costs_little_with_a_resident_process(host: Host) -> None:
    host.hook("SessionStart", source="startup")
    eventually(host.answers)
    host.say("The staging database listens on port 5544.", "Noted.", turn="p1")
    eventually(host.settled)

    cost_ms = medians(host, "UserPromptSubmit", prompt="On which port is the database?")

    assert host.answers()
    assert cost_ms < CPU_MS


@pytest.mark.parametrize("ends", [True, False])
def test_what_a_slow_host_says_late_is_kept_though_the_turn_went_on(host: Host, ends: bool) -> None:
    given = json.dumps(host.payload("UserPromptSubmit", prompt="ok thanks")).encode()
    process = subprocess.Popen(
        [*PYTHON, "hook", "claude-code"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=host.environ,
        bufsize=0,
    )

    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(given[:20])
        assert process.stdout.read() == b""
        assert process.wait(PATIENCE_S) == 0
        process.stdin.write(given[20:])
        if ends:
            process.stdin.close()
        eventually(lambda: said(host) == [("", "person", "ok thanks")])
