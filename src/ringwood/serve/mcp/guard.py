"""Who may speak to the HTTP server, and how much: a page in a browser may not, a flood may not.

In this order: Host and Origin (403), token (401), length of the body (413), patience with it (408).
What passes is read whole, so that nothing behind waits for a slow client. A token in the query
counts for nothing: addresses end up in histories and logs.
"""

from __future__ import annotations

import re
import secrets

import anyio
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ringwood.serve.mcp.readable import readable

MAX_BODY_BYTES = 4 * 2**20
"""Of one request: four times the longest text a tool takes, in ASCII."""
BODY_S = 10.0
"""How long a body may take to arrive."""

_HOST = re.compile(r"(?:127\.\d+\.\d+\.\d+|localhost|\[::1\])(?::\d{1,5})?", re.IGNORECASE)
_ORIGIN = re.compile(rf"https?://{_HOST.pattern}", re.IGNORECASE)

_MESSAGES = {
    400: "The request is cut off or has no proper length.",
    401: "The token is missing or wrong: send it as Authorization: Bearer.",
    403: "Only this machine may speak to the server, and no page of another origin.",
    408: "The body took too long.",
    413: f"The body is larger than {MAX_BODY_BYTES} bytes.",
}


class Guard:
    """An ASGI application around another."""

    def __init__(self, app: ASGIApp, token: str, *, body_s: float = BODY_S) -> None:
        """Guard `app` with the token that clients have to send, patient for `body_s`."""
        self._app = app
        self._body_s = body_s
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what is refused; hand on the rest with its body."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refused = self._refused(Headers(scope=scope))
        body = b""
        if refused is None and scope["method"] not in ("GET", "HEAD", "DELETE"):
            body, refused = await self._body(receive)
        if refused is None:
            await self._app(scope, _Replay(body, receive), send)
        else:
            await _refuse(refused, scope, receive, send)

    def _refused(self, headers: Headers) -> int | None:
        """Return the status that a request's head is refused with."""
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or not _HOST.fullmatch(hosts[0]):
            return 403
        if not all(_ORIGIN.fullmatch(origin) for origin in origins):
            return 403
        given = headers.get("authorization", "").encode("utf-8", "replace")
        if not secrets.compare_digest(given, self._expected):
            return 401
        length = headers.get("content-length", "0")
        if not re.fullmatch("[0-9]{1,20}", length):
            return 400
        return 413 if int(length) > MAX_BODY_BYTES else None

    async def _body(self, receive: Receive) -> tuple[bytes, int | None]:
        """Read a body whole; with it, the status that it is refused with."""
        body = bytearray()
        with anyio.move_on_after(self._body_s):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    return b"", 400  # it went away
                body += message.get("body", b"")
                if len(body) > MAX_BODY_BYTES:
                    return b"", 413
                if not message.get("more_body", False):
                    return readable(bytes(body)).encode(), None
        return b"", 408


class _Replay:
    """A body that was read already, then whatever else comes of the connection."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._first: Message | None = {"type": "http.request", "body": body, "more_body": False}
        self._receive = receive

    async def __call__(self) -> Message:
        first, self._first = self._first, None
        return await self._receive() if first is None else first


async def _refuse(status: int, scope: Scope, receive: Receive, send: Send) -> None:
    headers = {"connection": "close"}  # what is left of a body is not read
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    answer = JSONResponse(
        {"error": {"code": f"http_{status}", "message": _MESSAGES[status]}}, status, headers
    )
    await answer(scope, receive, send)
