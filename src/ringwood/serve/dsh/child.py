"""The child of the DSH plugin: a JSON object a line on standard input, one back on standard output.

    {"id": 1, "method": "recall", "params": {…}}   there
    {"id": 1, "result": {…}}                       back, or {"id": 1, "error": {"code", "message"}}

It greets before numpy and the database are loaded: they load in a thread, and only what needs them
waits. A message is in the spool when it is acknowledged, so a child that is killed loses nothing;
what is in the spool becomes documents when a turn has ended, or with whoever opens the home next.
The child ends with its standard input, within `LEAVE_S`.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import signal
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from threading import Event as Flag
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, BinaryIO

from ringwood.capture.consent import is_paused
from ringwood.capture.exchange import admit, conversation
from ringwood.capture.spool import append
from ringwood.errors import NoHomeError, RingwoodError, StorageError
from ringwood.hosts.trivial import is_trivial
from ringwood.serve.dsh.catchup import DAYS, Sessions, catch_up
from ringwood.version import __version__

if TYPE_CHECKING:
    from ringwood.memory import Memory

_log = logging.getLogger(__name__)

HOST = "dsh"
"""How its exchanges are keyed."""
PROTOCOL = 1
"""Of the lines; the plugin of another one stays away."""
LEAVE_S = 3.5
"""How long a child stays after its input ended: the host allows five seconds, the plugin four."""
CLOSE_S = 0.5
"""Of which for vectors that are to come: whoever opens the home next goes on with them."""
LOOK_S = 2.0
"""How often the spool is looked at while nothing happens, for what an idle moment makes due."""
CATCH_UP_AGAIN_S = (5.0, 30.0, 300.0)
"""Pauses after which old sessions are tried again: another process may hold the database."""
SESSIONS = "dsh sessions"
"""What is noted when old sessions cannot be taken in."""
MARGIN_S = 0.1
"""Of a recall's deadline, for the way back."""

QUERY_SHARE = 0.6
"""Of what is left, for the query's vector: without it, words alone still need their time."""

Params = Mapping[str, Any]
Result = dict[str, Any]


class Child:
    """What one DSH process needs of a memory. Reads in one thread, answers from several."""

    def __init__(self, home: str, answers: BinaryIO, open_memory: Callable[[], Memory]) -> None:
        """Name the home; nothing is opened before `serve`.

        Args:
            home: the home's folder.
            answers: where answers go, unbuffered or flushed here.
            open_memory: loads and opens the memory; called once, in a thread.
        """
        self._home = home
        self._answers = answers
        self._answering = Lock()
        self._open_memory = open_memory
        self._memory: Future[Memory] = Future()
        self._sessions = Sessions(home)
        self._turn_ended = Flag()
        self._turn_ended.set()  # an earlier child may have left something in the spool
        self._leaving = Flag()

    def serve(self, lines: BinaryIO) -> bool:
        """Answer until the input ends; False when something is still running `LEAVE_S` later."""
        threads = [Thread(target=work, daemon=True) for work in (self._load, self._keep)]
        for thread in threads:
            thread.start()
        for line in lines:
            self._take(line)
        left = time.monotonic() + LEAVE_S
        self._leaving.set()
        self._turn_ended.set()
        for thread in threads:
            thread.join(max(0.0, left - time.monotonic()))
        return not any(thread.is_alive() for thread in threads)

    # -- lines -----------------------------------------------------------------------------------

    def _take(self, line: bytes) -> None:
        """Act on one line: what is to be durable at once, what needs the memory in a thread."""
        try:
            asked = json.loads(line)
            number, method, params = asked["id"], asked["method"], asked["params"]
        except (ValueError, KeyError, TypeError, RecursionError):
            _log.warning("a line that is no request was passed over")
            return
        if not isinstance(method, str):
            method = ""  # what can be no key: it is answered like any other unknown one
        if method in _AT_ONCE:
            self._answer(number, _AT_ONCE[method], params)
        elif method in _IN_A_THREAD:
            given = (number, _IN_A_THREAD[method], params)
            Thread(target=self._answer, args=given, daemon=True).start()
        else:
            self._write({"id": number, "error": {"code": "usage", "message": "unknown method"}})

    def _answer(
        self, number: object, method: Callable[[Child, Params], Result], params: Params
    ) -> None:
        try:
            answer: Result = {"id": number, "result": method(self, params)}
        except RingwoodError as error:
            answer = {"id": number, "error": {"code": error.code, "message": error.message}}
        except Exception as error:  # noqa: BLE001 - the outermost loop: the host must get an answer
            _log.error("%s failed: %s", method.__name__.strip("_"), type(error).__name__)
            answer = {"id": number, "error": {"code": "internal", "message": type(error).__name__}}
        self._write(answer)

    def _write(self, answer: Result) -> None:
        line = json.dumps(answer).encode("ascii") + b"\n"
        with self._answering:
            try:
                self._answers.write(line)
                self._answers.flush()
            except (OSError, ValueError):
                _log.info("nobody reads the answers any more")

    # -- methods ---------------------------------------------------------------------------------

    def _hello(self, params: Params) -> Result:
        return {"protocol": PROTOCOL, "version": __version__, "home": self._home}

    def _event(self, params: Params) -> Result:
        """Put what was said into the spool; durable on return."""
        directory = _directory(params)
        session = _text(params, "session")
        if is_paused(self._home, directory):
            self._sessions.leave_out(session)
            return {"kept": False}
        event = admit(
            host=HOST,
            session=session,
            sequence=_text(params, "sequence"),
            kind=_text(params, "kind"),
            text=_text(params, "text"),
            at=float(params["at"]),
            directory=directory,
        )
        if event is None:
            return {"kept": False}
        append(self._home, event)
        if event.kind == "end":
            self._turn_ended.set()
        return {"kept": True}

    def _recall(self, params: Params) -> Result:
        """Recall what a turn should begin with, as one framed block; empty where nothing is."""
        # Only now: the frame comes with numpy, which costs more than the greeting may.
        from ringwood.recall.frame import render  # noqa: PLC0415

        query, directory = _text(params, "query"), _directory(params)
        session = conversation(HOST, _text(params, "session"))
        latest = time.monotonic() + float(params["deadline_ms"]) / 1000 - MARGIN_S
        if is_trivial(query):
            return {"block": ""}
        try:
            memory = self._memory.result(max(0.0, latest - time.monotonic()))
            view = memory.within(directory=directory)
            left_s = max(0.0, latest - time.monotonic()) * QUERY_SHARE
            answer = view.inject(
                query,
                session=session,
                timeout_s=left_s,
                keep_query=not is_paused(self._home, directory),
            )
        except (NoHomeError, TimeoutError):
            return {"block": ""}
        if time.monotonic() > latest:
            view.withdraw(answer, session=session)  # the turn went on without it
            return {"block": ""}
        return {"block": render(answer.hits, secrets.token_hex(8))}

    def _compacted(self, params: Params) -> Result:
        self._memory.result().compacted(conversation(HOST, _text(params, "session")))
        return {}

    def _tool(self, params: Params) -> Result:
        # Only now: the tools come with numpy, which costs more than the greeting may.
        from ringwood.serve.tools import call  # noqa: PLC0415

        view = self._memory.result().within(directory=_directory(params))
        answer = call(view, _text(params, "name"), params.get("arguments"))
        return {"text": answer.text, "content": answer.content, "failed": answer.failed}

    # -- threads ---------------------------------------------------------------------------------

    def _load(self) -> None:
        """Load and open the memory, and let it be warm before somebody waits for it."""
        try:
            memory = self._open_memory()
        except Exception as error:  # noqa: BLE001 - whoever waits for the memory is told
            _log.error("the memory does not open: %s", str(error) or type(error).__name__)
            self._memory.set_exception(error)
            return
        self._memory.set_result(memory)
        try:
            memory.warm()
        except RingwoodError as error:  # there is no home yet, or it is in trouble
            _log.info("not warm: %s", error.message)
        if not self._leaving.is_set():
            memory.keep_schedule()
        for pause_s in CATCH_UP_AGAIN_S:
            try:
                self._catch_up(memory)
                memory.settle(SESSIONS)
                return
            except InterruptedError:  # the input ended
                return
            except (RingwoodError, OSError) as error:
                _log.warning("old sessions are not taken in yet: %s", error)
                memory.note_trouble(SESSIONS, error)
            if self._leaving.wait(pause_s):
                return

    def _catch_up(self, memory: Memory) -> None:
        """Take in the turns of the last days that no child heard; ends when the input does."""
        # Only now: what reads session files is not needed for a greeting.
        from ringwood.hosts.dsh.install import default_home  # noqa: PLC0415
        from ringwood.hosts.dsh.sessions import session_files  # noqa: PLC0415
        from ringwood.serve.dsh.backfill import backfill  # noqa: PLC0415

        def take(file: Path) -> None:
            if self._leaving.is_set():
                raise InterruptedError
            left_out = self._sessions.is_left_out
            done = backfill(
                memory, [file], wanted=lambda each: not left_out(each), only_closed=True
            )
            if done.taken.failed:
                raise StorageError(done.taken.failed[0])

        catch_up(self._sessions, session_files(default_home(), time.time() - DAYS * 86_400), take)

    def _keep(self) -> None:
        """Turn into documents what is due in the spool, until the input ended; then close."""
        try:
            memory = self._memory.result()
        except Exception:  # noqa: BLE001 - said by whoever asked; the spool waits for the next one
            return
        leaving = False
        while not leaving:  # and once more when it has ended
            self._turn_ended.wait(LOOK_S)
            self._turn_ended.clear()
            leaving = self._leaving.is_set()
            memory.take_in_or_note()
        memory.wait_s = CLOSE_S
        memory.close()


_AT_ONCE = {"hello": Child._hello, "event": Child._event}
_IN_A_THREAD = {"recall": Child._recall, "compacted": Child._compacted, "tool": Child._tool}


def run(home: str, open_memory: Callable[[], Memory]) -> None:
    """Be the child of a DSH process until it ends; leaves the interpreter when time runs out."""
    logging.basicConfig(format="%(name)s: %(message)s", stream=sys.stderr)  # the plugin's log
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the host's, which ends our input
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a stray print must not look like one
        if not Child(home, answers, open_memory).serve(sys.stdin.buffer):
            os._exit(0)  # what was acknowledged is in the spool; the next one goes on from there


def _text(params: Params, name: str) -> str:
    value = params.get(name)
    return value if isinstance(value, str) else ""


def _directory(params: Params) -> str:
    place = _text(params, "directory")
    return "" if "\0" in place else place
