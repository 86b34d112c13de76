"""The resident process: one per home, started by whoever profits, gone when nobody does.

    hook --wire--> accept (main thread) --> one of a few threads --> Memory
                                     timer thread --> Memory.take_in

It holds what is dear to open: the database, the embedder, the maps. It holds nothing that would be
missed: what hooks hand over lies in the spool before they say so, and every store is a transaction.
So it may be killed at any moment, and that is also how an orphan is impossible: it leaves by itself
when nobody has asked for a while, when another has taken its place, and when its home is gone.
"""

from __future__ import annotations

import logging
import os
import secrets
import select
import signal
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import FrameType
from typing import Any

from ringwood import home as homes
from ringwood.capture import spool
from ringwood.config import ServeOptions
from ringwood.errors import NoHomeError, RingwoodError
from ringwood.memory import Memory
from ringwood.recall.brief import outline, renew
from ringwood.recall.frame import render
from ringwood.serve.resident import wire
from ringwood.serve.resident.seat import Seat
from ringwood.version import __version__

_log = logging.getLogger(__name__)

TICK_S = 1.0
"""How often it looks whether it should still be here, and whether something is due in the spool."""
SLEEP_S = 60.0
"""How often it looks into the spool where nobody said that there is something."""
REINDEX_S = 0.5
"""How long it goes on with a reindex at a time: whatever comes due in the spool waits as long."""
REINDEX_REST_S = 0.2
"""How long it rests then: whoever waits for a processor or for the write lock has it meanwhile."""
REINDEX = "reindex"
"""What is noted when a reindex cannot go on."""
RETRY_S = 30.0
"""When it tries again what could not be stored."""
REQUEST_S = 1.0
"""How long a request may take to come, and its answer to be taken: hooks give up long before."""
VECTOR_S = 0.12
"""How long a recall waits for its vector. A hook has 0.3 s in all; 0.03 s measured when warm."""
THREADS = 4
"""Requests that are worked on at a time."""
WAITING = 16
"""Requests that may wait beside them; a further one is hung up on."""
REST_S = 0.05
"""How long it waits before it accepts again after that failed."""
FAREWELL_S = 15
"""When it is ended by the system, should it hang while it leaves."""
NEWEST = 400
"""Documents whose folders a new session is told."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a request is answered."""

    message: dict[str, Any] = field(default_factory=dict)
    """What goes over the line."""
    if_late: Callable[[], None] = lambda: None
    """Done where nobody was left to take it."""


class Resident:
    """Serves one home until it should leave. The seat is taken already."""

    def __init__(self, memory: Memory, seat: Seat, options: ServeOptions) -> None:
        """Hold what it serves with; `run` begins."""
        self._memory = memory
        self._seat = seat
        self._options = options
        self._leaving = ""
        self._due = threading.Event()
        self._slots = threading.BoundedSemaphore(THREADS + WAITING)
        self._busy = 0
        self._last_request = time.monotonic()
        self._count = threading.Lock()
        self._requests: dict[str, Callable[[dict[str, Any]], Reply]] = {
            "hello": lambda request: Reply(),
            "recall": self._recall,
            "brief": self._brief,
            "flush": self._flush,
            "compacted": self._compacted,
            "leave": self._leave,
        }

    def run(self) -> None:
        """Serve until it is time to leave; then let go of everything."""
        wakeup, alarm = socket.socketpair()
        alarm.setblocking(False)
        signal.set_wakeup_fd(alarm.fileno())
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        keeper = threading.Thread(target=self._keep_time, name="ringwood-timer", daemon=True)
        keeper.start()
        with wakeup, alarm, ThreadPoolExecutor(THREADS, "ringwood-request") as threads:
            _log.info("serving %s", self._memory.home)
            self._accept(wakeup, threads)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(FAREWELL_S)
            self._seat.leave()
            threads.shutdown(cancel_futures=True)
        self._due.set()
        keeper.join()
        self._close()
        signal.alarm(0)

    def _accept(self, wakeup: socket.socket, threads: ThreadPoolExecutor) -> None:
        """Take requests until there is a reason to leave."""
        waiting = select.poll()
        for each in (self._seat.listener, wakeup):
            waiting.register(each, select.POLLIN)
        while not self._reason_to_leave():
            ready = [descriptor for descriptor, _ in waiting.poll(TICK_S * 1000)]
            if wakeup.fileno() in ready:
                wakeup.recv(64)
            if self._seat.listener.fileno() not in ready:
                continue
            try:
                line, _ = self._seat.listener.accept()
            except OSError:  # it hung up already, or there are too many files open
                time.sleep(REST_S)
                continue
            if not self._slots.acquire(blocking=False):
                line.close()
                continue
            threads.submit(self._converse, line)

    def _reason_to_leave(self) -> str:
        """Say why it should go; an empty string while it should stay."""
        if not self._leaving:
            idle_s = time.monotonic() - self._last_request
            if not self._seat.is_held():
                self._leaving = "its home is gone, or another has taken its place"
            elif not self._busy and idle_s > self._options.idle_s:
                self._leaving = "idle"
        return self._leaving

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._leaving = signal.Signals(number).name

    def _close(self) -> None:
        """Store what is still in the spool, when there is time, and let go of the memory."""
        _log.info("leaving: %s", self._leaving)
        in_haste = self._leaving != "idle"
        if in_haste:
            self._memory.wait_s = 0.0
        else:
            self._take_in(everything=True)
        with suppress(RingwoodError):
            self._memory.close()

    # -- requests --------------------------------------------------------------------------------

    def _converse(self, line: socket.socket) -> None:
        """Answer one request of whoever holds the other end."""
        with self._count:
            self._busy += 1
        try:
            with line:
                if wire.is_same_user(line):
                    reply = self._answer(wire.receive(line, time.monotonic() + REQUEST_S))
                    self._hand_over(line, reply)
        except OSError as error:
            _log.debug("a request broke off: %s", error)
        finally:
            self._slots.release()
            with self._count:
                self._busy -= 1
                self._last_request = time.monotonic()

    def _hand_over(self, line: socket.socket, reply: Reply) -> None:
        signature = {"version": __version__, "pid": os.getpid()}
        try:
            wire.send(line, signature | reply.message, time.monotonic() + REQUEST_S)
        except OSError:
            reply.if_late()
            raise

    def _answer(self, request: dict[str, Any]) -> Reply:
        act = self._requests.get(str(request.get("do")))
        if act is None:
            return Reply({"error": "unknown"})
        try:
            return act(request)
        except RingwoodError as error:
            if not isinstance(error, NoHomeError):
                _log.warning("%s failed: %s", request.get("do"), error.code)
            return Reply({"error": error.code})
        except Exception as error:  # noqa: BLE001 - the outermost loop: the next request may go well
            _log.warning("%s failed: %s", request.get("do"), type(error).__name__)
            return Reply({"error": "internal"})

    def _recall(self, request: dict[str, Any]) -> Reply:
        """Find what a prompt is to be told, framed."""
        view = self._memory.within(key=_text_or_none(request, "space"))
        session = str(request.get("session"))
        try:
            answer = view.inject(
                str(request.get("query")),
                session=session,
                timeout_s=VECTOR_S,
                keep_query=not request.get("paused"),
            )
        finally:
            self._due.set()  # whoever asks has handed something over; but first the answer
        return Reply(
            {"text": render(answer.hits, secrets.token_hex(8)), "notes": list(answer.notes)},
            if_late=partial(view.withdraw, answer, session=session),
        )

    def _brief(self, request: dict[str, Any]) -> Reply:
        """Say what a space holds, and keep it for a session that starts while nobody is here."""
        key = _text_or_none(request, "space")
        view = self._memory.within(key=key)
        body = outline(view.space, view.spaces(), view.recent(limit=NEWEST))
        path = Path(homes.brief_path(self._memory.home, key))
        before = path.read_text("utf-8") if path.exists() else ""
        text = renew(before, body, secrets.token_hex(8))
        if text != before:
            homes.create_folder(str(path.parent))
            homes.write_private(str(path), text)
        return Reply({"text": text})

    def _flush(self, request: dict[str, Any]) -> Reply:
        self._due.set()
        return Reply()

    def _compacted(self, request: dict[str, Any]) -> Reply:
        self._memory.compacted(str(request.get("session")))
        return Reply()

    def _leave(self, request: dict[str, Any]) -> Reply:
        """Leave the seat before the answer: whoever asks may have it at once."""
        self._leaving = "asked to"
        self._seat.leave()
        return Reply()

    # -- timers ----------------------------------------------------------------------------------

    def _keep_time(self) -> None:
        """Open everything, then store whatever comes due, until it is time to leave."""
        try:
            self._memory.warm()
        except NoHomeError:
            pass  # the first exchange makes it
        except RingwoodError as error:
            _log.warning("not warm: %s", error.code)
        self._memory.keep_schedule()
        quiet_since, seen, pause_s = time.monotonic(), [""], 0.0
        while not self._leaving:
            self._due.wait(pause_s)
            self._due.clear()
            pause_s = self._take_in()
            left = spool.waiting(self._memory.home)
            if left != seen:
                quiet_since, seen = time.monotonic(), left
            if self._go_on_reindexing():
                pause_s = min(pause_s, REINDEX_REST_S)
            # What came lately may come due without another word; what stays after that is stored.
            if left and time.monotonic() - quiet_since < 2 * self._memory.config.capture.idle_s:
                pause_s = min(pause_s, TICK_S)

    def _go_on_reindexing(self) -> bool:
        """Fill in another embedder that is wanted, for a while; say whether there is more to do."""
        try:
            more = self._memory.reindex_step(limit_s=REINDEX_S)
        except NoHomeError:
            return False
        except RingwoodError as error:
            _log.warning("the reindex waits: %s", error.code)
            self._memory.note_trouble(REINDEX, error)
        except Exception as error:  # noqa: BLE001 - the outermost loop: recall must go on
            _log.warning("the reindex waits: %s", type(error).__name__)
            self._memory.note_trouble(REINDEX, error)
        else:
            self._memory.settle(REINDEX)
            return more
        return False

    def _take_in(self, *, everything: bool = False) -> float:
        """Store what is due; return after how many seconds to look again unasked."""
        taken = self._memory.take_in_or_note(everything=everything)
        if taken is None or taken.failed:
            return RETRY_S
        # Who is at it just now may leave what comes due next.
        return TICK_S if taken.elsewhere else SLEEP_S


def log_to_file(home: str) -> None:
    """Write what the package logs into the home: nobody reads a detached process's output."""
    folder = Path(home) / homes.LOG_FOLDER
    homes.create_folder(str(folder))
    handler = RotatingFileHandler(
        folder / "resident.log", maxBytes=256 * 2**10, backupCount=1, encoding="utf-8"
    )
    handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(name)s: %(message)s"))
    logger = logging.getLogger("ringwood")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)


def _text_or_none(request: dict[str, Any], key: str) -> str | None:
    value = request.get(key)
    return value if isinstance(value, str) else None
