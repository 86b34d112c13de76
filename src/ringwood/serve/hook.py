"""`ringwood hook HOST`: capture what was said, hand over what is remembered, never hold up a turn.

A hook is a short process between a person and an answer. It is two processes: one works, the other
waits for it, at most as long as a turn may take, and then ends well whatever became of the first.
The worker may be late, hang in a disk that does not answer, or die: then the turn goes on without
memory, and what it had begun to write down it writes down all the same.

Nothing is said on standard error and the exit code is always 0: a host may take anything else for a
reason to stop. What went wrong stands in `<home>/logs/hook.log`, without a word of what was said.
Standard library only.
"""

from __future__ import annotations

import functools
import json
import os
import select
import signal
import time

from ringwood import home as homes
from ringwood.capture import consent, spool
from ringwood.capture.exchange import Event, admit, conversation
from ringwood.capture.space import space_key, standing
from ringwood.errors import RingwoodError
from ringwood.hosts import claude_code, codex, notice
from ringwood.hosts.trivial import is_trivial
from ringwood.names import POLICY
from ringwood.serve.resident import start, wire
from ringwood.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

HOSTS = {claude_code.HOST: claude_code.read, codex.HOST: codex.read}
"""The hosts that call us, and how their objects are read."""

DEADLINE_S = 0.3
"""Within this time of its start a hook has ended."""
ANSWER_S = 0.25
"""So long the resident process may take, from the same moment: what is left is for the answer."""
INPUT_S = 0.15
"""So long a host that does not end its input is waited for, once it has said an object."""
WORKER_S = 10.0
"""So long the worker lives on when nobody waits for it any more: a slow disk may be slow."""
MAX_INPUT_BYTES = 32 * 2**20
"""Of what a host says."""
MAX_QUERY_CHARS = 8_000
"""Of a prompt, that is searched for."""
MAX_LOG_BYTES = 256 * 2**10
"""Of the log; as much again is kept of what came before."""


def main(arguments: list[str]) -> NoReturn:
    """Answer one call of a host and end the process, well in any case."""
    began = time.monotonic() - time.process_time()  # the interpreter's own start counts, too
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the host's; this ends by itself
        text = _guarded(arguments, began)
        while text:
            text = text[os.write(1, text) :]
    except Exception:  # noqa: BLE001 - nothing that happens here may stop a turn
        pass
    os._exit(0)  # without the interpreter's own farewell, which costs as much as its start


def _guarded(arguments: list[str], began: float) -> bytes:
    """Let a child work, and return its answer; nothing when it is late or dies."""
    receiver, sender = os.pipe()
    try:
        worker = os.fork()
    except OSError:  # too many processes: better late than never
        return _alone(arguments, began)
    if worker == 0:
        try:
            _let_go(receiver)
            os.write(sender, answer(arguments, _read_input(began + INPUT_S), began))
        finally:
            os._exit(0)
    os.close(sender)
    pieces = bytearray()
    while _is_ready(receiver, began + DEADLINE_S):
        piece = os.read(receiver, 1 << 16)
        if not piece:
            os.waitpid(worker, 0)
            break
        pieces += piece
    return bytes(pieces) if pieces.endswith(b"\n") else b""


def _alone(arguments: list[str], began: float) -> bytes:
    """Work in this process, which then ends by itself when it is late."""
    signal.signal(signal.SIGALRM, lambda number, frame: os._exit(0))
    signal.setitimer(signal.ITIMER_REAL, max(0.001, began + DEADLINE_S - time.monotonic()))
    return answer(arguments, _read_input(began + INPUT_S), began)


def _let_go(receiver: int) -> None:
    """Hold nothing that a host waits for, and live no longer than is right.

    The input stays: a host that is busy itself may not have said all of it yet.
    """
    os.close(receiver)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (1, 2):
        os.dup2(nowhere, descriptor)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, WORKER_S)  # the system's own: it needs no Python to act


def answer(arguments: list[str], given: bytes, began: float) -> bytes:
    """Do what a call asks for, and return what standard output gets: one JSON object or nothing."""
    home = ""
    try:
        host, home = _parse(arguments)
        told = HOSTS[host](json.loads(given.decode("utf-8-sig", "replace")))
        return b"" if told is None else _Turn(home, told, began).answer()
    except RingwoodError as error:
        what = error.code
    except Exception as error:  # noqa: BLE001 - the outermost loop: a turn goes on without memory
        what = type(error).__name__
    if home:
        _log(home, what)
    return b""


class _Turn:
    """One event, the home it goes to and the time there is."""

    def __init__(self, home: str, told: notice.Notice, began: float) -> None:
        self._home = home
        self._told = told
        self._until = began + ANSWER_S
        self._directory = standing(told.directory)

    def answer(self) -> bytes:
        """Act upon the event."""
        text = _ACTS[self._told.event](self)
        return notice.context(self._told.event, text) if text else b""

    def start_session(self) -> str:
        """Have a resident process, and tell the session how to take what it will be told."""
        if self._told.source in ("compact", "clear"):
            self._note_compaction()
        reply = self._ask({"do": "brief", "space": space_key(self._directory)}, begin=True)
        brief = self._kept_brief() if reply is None else reply.get("text")
        return f"{POLICY}\n\n{brief}" if brief else POLICY

    def submit_prompt(self) -> str:
        """Keep what the person says, and recall what is known of it."""
        event = self._capture("person")
        if event is None or is_trivial(event.text):
            return ""
        request = {
            "do": "recall",
            "session": self._session,
            "space": event.space,
            "query": event.text[:MAX_QUERY_CHARS],
            "paused": self._is_paused,
        }
        reply = self._ask(request, begin=True)
        return "" if reply is None else str(reply.get("text") or "")

    def stop(self) -> str:
        """Keep what the assistant said. What follows under the same name still belongs to it."""
        self._capture("assistant")
        if self._told.sequence:
            self._capture("end")
        self._tell("flush", begin=True)
        return ""

    def compact(self) -> str:
        """Note that the host drops what the conversation holds."""
        self._tell("flush")
        self._note_compaction()
        return ""

    def end_session(self) -> str:
        """Close the exchange."""
        self._capture("end")
        self._tell("flush")
        return ""

    @property
    def _session(self) -> str:
        return conversation(self._told.host, self._told.session)

    @functools.cached_property
    def _is_paused(self) -> bool:
        return consent.is_paused(self._home, self._directory)

    def _capture(self, kind: str) -> Event | None:
        """Write down what was said, unless the person wants none of it kept; return it clean."""
        event = admit(
            host=self._told.host,
            session=self._told.session,
            sequence=self._told.sequence,
            kind=kind,
            text=self._told.text,
            at=time.time(),
            directory=self._directory,
        )
        if event is not None and not self._is_paused:
            try:
                spool.append(self._home, event)
            except RingwoodError as error:  # what is known may be recalled all the same
                self._log(f"not kept: {error.code}")
        return event

    def _note_compaction(self) -> None:
        """Have it noted that the host drops what the conversation holds.

        A turn may last longer than a resident process that nobody asks. Then it is noted here.
        """
        if self._tell("compacted") is None and os.path.isdir(self._home):
            homes.note_session(self._home, self._session, [], time.time())

    def _tell(self, what: str, *, begin: bool = False) -> dict[str, Any] | None:
        return self._ask({"do": what, "session": self._session}, begin=begin)

    def _ask(self, request: dict[str, Any], *, begin: bool = False) -> dict[str, Any] | None:
        """Ask the resident process; None where it is not there, or late.

        Args:
            request: what is asked.
            begin: start one where there is none, or where it is older than we are.
        """
        try:
            reply = wire.ask(self._home, request, self._until)
        except wire.NobodyThereError:
            if begin:
                self._start()
            return None
        except OSError as error:
            self._log(f"the resident process: {error}")
            return None
        if begin and _is_older(str(reply.get("version"))):
            self._replace()
        return reply

    def _replace(self) -> None:
        """Have a resident process of our own version in the place of the one that answered."""
        try:
            wire.ask(self._home, {"do": "leave"}, self._until)
        except OSError as error:
            self._log(f"the older resident process stays: {error}")
        else:
            self._start(again=True)

    def _start(self, *, again: bool = False) -> None:
        try:
            start.start(self._home, again=again)
        except (RingwoodError, OSError) as error:
            self._log(f"the resident process does not start: {type(error).__name__}")

    def _log(self, what: str) -> None:
        _log(self._home, f"{self._told.host} {self._told.event}: {what}")

    def _kept_brief(self) -> str:
        """Read what the last resident process wrote down for a session in this space."""
        try:
            with open(homes.brief_path(self._home, space_key(self._directory)), "rb") as file:
                return file.read().decode("utf-8", "replace")
        except FileNotFoundError:
            return ""


_ACTS = {
    "SessionStart": _Turn.start_session,
    "UserPromptSubmit": _Turn.submit_prompt,
    "Stop": _Turn.stop,
    "PreCompact": _Turn.compact,
    "PostCompact": _Turn.compact,
    "SessionEnd": _Turn.end_session,
}
"""What each event makes us do."""


def _parse(arguments: list[str]) -> tuple[str, str]:
    """Return host and home of a call: `HOST [--home DIR]`."""
    host, home = "", None
    rest = iter(arguments)
    for argument in rest:
        if argument == "--home":
            home = next(rest, None)
        elif argument.startswith("--home="):
            home = argument.removeprefix("--home=")
        elif not argument.startswith("-"):
            host = argument
    return host, homes.locate(home)


def _read_input(until: float) -> bytes:
    """Read standard input to its end; from `until` on, an object that is whole is enough."""
    pieces = bytearray()
    while len(pieces) < MAX_INPUT_BYTES and (_is_ready(0, until) or not _is_whole(pieces)):
        piece = os.read(0, 1 << 20)
        if not piece:
            break
        pieces += piece
    return bytes(pieces)


def _is_whole(text: bytearray) -> bool:
    """Say whether a host that does not end its input has said all."""
    if not text.rstrip().endswith(b"}"):
        return False
    try:
        json.loads(text.decode("utf-8-sig", "replace"))
    except ValueError:
        return False
    except RecursionError:
        pass  # more of it would not help
    return True


def _is_ready(descriptor: int, until: float) -> bool:
    """Wait until there is something to read, but not beyond a moment of the monotonic clock."""
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    return bool(waiting.poll(max(0.0, until - time.monotonic()) * 1000))


def _is_older(version: str) -> bool:
    """Say whether the resident process comes from an earlier Ringwood than this hook."""
    try:
        theirs = [int(part) for part in version.split(".")]
        return theirs < [int(part) for part in __version__.split(".")]
    except ValueError:
        return False


def _log(home: str, what: str) -> None:
    """Write down that something went wrong, in a home that is there; else nothing can be done."""
    folder = os.path.join(home, homes.LOG_FOLDER)
    path = os.path.join(folder, "hook.log")
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    try:
        if not os.path.isdir(folder):
            os.mkdir(folder, 0o700)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(handle, f"{stamp} {what}\n".encode("ascii", "backslashreplace"))
            full = os.fstat(handle).st_size > MAX_LOG_BYTES
        finally:
            os.close(handle)
        if full:
            os.replace(path, f"{path}.1")
    except OSError:
        pass
