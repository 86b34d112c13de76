"""One server and the connections to it: a question in JSON, an answer in JSON, or a `Failure`."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

import httpx2
import stamina

from ringwood.embed.remote.failure import Failure, TooLate, TooLong
from ringwood.text.redact import redact

MAX_ANSWER_BYTES = 32 * 2**20
"""A longer answer is none: 32 rows of 4,096 numbers with every digit take 3 MB."""

_ATTEMPTS = 4
_FIRST_WAIT_S = 0.2
_LONGEST_WAIT_S = 5.0
_WAIT_WHEN_TOLD_S = 30.0  # a longer `Retry-After` is for whoever comes back later
_KEEP_OPEN_S = 30.0
_MAX_SAID_CHARS = 160
_MAX_REASON_CHARS = 80
_NUMBER = re.compile(r"\[Errno -?\d+\]")

_BUSY = frozenset({408, 425, 429, 502, 503, 504, 529})
"""The server as a whole cannot now, and may in a moment."""
_TOO_MUCH = re.compile(
    r"context (?:length|size|window)|too (?:long|large|many)|maximum (?:context|allowed|input)"
    r"|exceed|less than \d+ tokens|batch size",
    re.IGNORECASE,
)
"""How Ollama, OpenAI, TEI, llama.cpp and vLLM say that a text, or a batch, is too much."""


class Client:
    """Asks one server. Safe from several threads; connections stay open between requests."""

    def __init__(
        self, base_url: str, *, key: str | None, connect_timeout_s: float, mends: Mapping[int, str]
    ) -> None:
        """Say where the server is; nothing is opened.

        Args:
            base_url: without a slash at its end, without user, password or query.
            key: sent as bearer token and shown nowhere.
            connect_timeout_s: how long a connection may take.
            mends: what a person does about a status: 401, 404.
        """
        self.base_url = base_url
        self._key = key
        self._connect_timeout_s = connect_timeout_s
        self._mends = mends
        self._closed = False
        self._begin()

    def _begin(self) -> None:
        self._lock = Lock()
        self._http: httpx2.Client | None = None
        self._under_way = 0

    def ask(
        self,
        method: str,
        path: str,
        payload: object = None,
        *,
        deadline: float,
        patient: bool = True,
    ) -> Any:  # noqa: ANN401 - what a stranger answered, before it is checked
        """Ask and return the JSON of the answer.

        Args:
            method: `GET` or `POST`.
            path: below the base URL, with its slash.
            payload: sent as JSON; None sends none.
            deadline: by `time.monotonic()`, all attempts together.
            patient: whether to try again what may do better in a moment.

        Raises:
            Failure: when there is no answer, or none that is of use.
        """

        def again(error: Exception) -> bool | float:
            if not isinstance(error, Failure) or not error.again or self._closed:
                return False
            wait_s = _LONGEST_WAIT_S if error.wait_s is None else error.wait_s
            if wait_s > min(_WAIT_WHEN_TOLD_S, deadline - time.monotonic()):
                return False
            return True if error.wait_s is None else error.wait_s

        for attempt in stamina.retry_context(
            on=again,
            attempts=_ATTEMPTS if patient else 1,
            timeout=None,
            wait_initial=_FIRST_WAIT_S,
            wait_max=_LONGEST_WAIT_S,
            wait_jitter=_FIRST_WAIT_S,
        ):
            with attempt:
                return self._ask_once(method, path, payload, deadline)
        raise AssertionError("the last attempt returns or raises")  # pragma: no cover

    def close(self) -> None:
        """Let go of the connections, once nobody uses them. Idempotent."""
        with self._lock:
            self._closed = True
            unused = self._http if not self._under_way else None
        if unused is not None:
            unused.close()

    def after_fork_in_child(self) -> None:
        """Leave connections and lock to the parent: both would speak on one line."""
        if self._http is not None:
            _inherited.append(self._http)
        self._begin()

    def _ask_once(self, method: str, path: str, payload: object, deadline: float) -> Any:  # noqa: ANN401
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise self._late()
        limits = httpx2.Timeout(left_s, connect=min(left_s, self._connect_timeout_s))
        sent = "" if payload is None else json.dumps(payload, ensure_ascii=False)
        http = self._enter()
        try:
            with http.stream(
                method, self.base_url + path, content=sent.encode(), timeout=limits
            ) as response:
                body = self._read(response, deadline)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            raise self._failure(f"cannot be reached ({_reason(error)})", again=True) from error
        except (httpx2.InvalidURL, UnicodeError) as error:
            raise self._failure("has no address that a server can have") from error
        except httpx2.TimeoutException as error:
            raise self._late() from error
        except httpx2.TransportError as error:
            raise self._failure("broke off the connection", again=True) from error
        finally:
            self._leave(http)
        if response.is_success:
            return self._parsed(body)
        raise self._refusal(response, body, sent)

    def _enter(self) -> httpx2.Client:
        """Return the open client; the last who leaves after `close` closes it."""
        with self._lock:
            if self._closed:
                raise Failure("this embedder is closed", server=False)
            if self._http is None:
                self._http = self._open()
            self._under_way += 1
            return self._http

    def _leave(self, http: httpx2.Client) -> None:
        with self._lock:
            if self._http is not http:  # a forked child, which has none of its parent's
                return
            self._under_way -= 1
            last = self._closed and not self._under_way
        if last:
            http.close()

    def _open(self) -> httpx2.Client:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",  # what is not packed cannot unpack to a gigabyte
        }
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        here = _is_here(self.base_url)
        return httpx2.Client(
            headers=headers,
            follow_redirects=False,  # memory and key go where the person said, and nowhere else
            trust_env=not here,  # a proxy does not reach this machine's servers
            # Reading the certificates takes 0.3 s, for nothing where none is shown.
            verify=not here or self.base_url.startswith("https:"),
            limits=httpx2.Limits(keepalive_expiry=_KEEP_OPEN_S),
        )

    def _read(self, response: httpx2.Response, deadline: float) -> bytes:
        """Read a body within bounds of length and time."""
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise self._failure("answered something packed, unasked")
        body = bytearray()
        for part in response.iter_raw():
            body += part
            if len(body) > MAX_ANSWER_BYTES:
                raise self._failure(f"answered more than {MAX_ANSWER_BYTES >> 20} MB")
            if time.monotonic() > deadline:
                raise self._late()
        return bytes(body)

    def _parsed(self, body: bytes) -> Any:  # noqa: ANN401
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            page = body.lstrip()[:1] == b"<"
            what = "a web page" if page else "something"
            raise self._failure(
                f"answered {what} that is no JSON", mend="check the base URL"
            ) from error

    def _refusal(self, response: httpx2.Response, body: bytes, sent: str) -> Failure:
        """Say what a status other than success means."""
        status = response.status_code
        said = self._said(body, sent)
        if 300 <= status < 400:
            where = _host_of(response.headers.get("Location", ""))
            return self._failure(
                f"sends requests on to {where}, which is not followed",
                mend="set the base URL to where the server is",
            )
        if status == 413 or (status in (400, 422, 500) and _TOO_MUCH.search(said)):
            return TooLong(f"{self._name} takes no text of this length", server=False)
        reason = f"answered {status}" + (f": {said}" if said else "")
        if status in _BUSY:
            spent = status == 429 and "quota" in said
            wait_s = _retry_after(response.headers.get("Retry-After"))
            return self._failure(reason, again=not spent, wait_s=wait_s)
        if status in self._mends:
            return self._failure(reason, mend=self._mends[status])
        # 500, too, may be one text's doing: a model that ends in NaN. Others go on.
        return self._failure(reason, again=status >= 500, server=False)

    def _said(self, body: bytes, sent: str) -> str:
        """Return the server's own reason, in one short line without key or memory; maybe empty."""
        try:
            told = json.loads(body)
        except (ValueError, RecursionError):
            return ""
        for name in ("error", "message", "detail"):
            if isinstance(told, dict):
                told = told.get(name, told)
        if not isinstance(told, str):
            return ""
        line = " ".join("".join(each if each.isprintable() else " " for each in told).split())
        if self._key:
            line = line.replace(self._key, "[key]")
        line = redact(line)[0]
        return "" if _quotes(line, sent) else line[:_MAX_SAID_CHARS].rstrip(" .")

    @property
    def _name(self) -> str:
        return f"the embedding server {self.base_url}"

    def _late(self) -> TooLate:
        return TooLate(f"{self._name} did not answer in time")

    def _failure(
        self,
        what: str,
        *,
        mend: str = "",
        again: bool = False,
        wait_s: float | None = None,
        server: bool = True,
    ) -> Failure:
        return Failure(f"{self._name} {what}", mend=mend, again=again, wait_s=wait_s, server=server)


_inherited: list[httpx2.Client] = []
"""What a forked child has of its parent. Kept, since nobody may close it: a thread that is not here
may hold its locks."""

_QUOTED_CHARS = 24


def _quotes(line: str, sent: str) -> bool:
    """Say whether a line repeats a piece of what was sent: that may be memory."""
    return any(
        line[start : start + _QUOTED_CHARS] in sent
        for start in range(len(line) - _QUOTED_CHARS + 1)
    )


def _is_here(base_url: str) -> bool:
    host = urlsplit(base_url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _host_of(location: str) -> str:
    try:
        return urlsplit(location).hostname or "another path"
    except ValueError:
        return "nowhere"


def _reason(error: Exception) -> str:
    """Return why there is no connection, in the system's own words."""
    words = _NUMBER.sub("", str(error)).strip()
    return words[:_MAX_REASON_CHARS] or "no answer to the attempt"


def _retry_after(header: str | None) -> float | None:
    """Read how long to wait: seconds, or a date. None when it says nothing of use."""
    if not header:
        return None
    try:
        if header.strip().isdecimal():
            return float(header)
        wait_s = (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds()
    except (TypeError, ValueError, OverflowError):
        return None
    return max(0.0, wait_s)
