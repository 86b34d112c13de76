"""MCP over streamable HTTP, on this machine only and only for who can read the home's token."""

from __future__ import annotations

import logging
import os
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any, NoReturn

import anyio
import uvicorn

from ringwood import home as homes
from ringwood.errors import HomeError, StorageError, UsageError
from ringwood.memory import Memory
from ringwood.serve.mcp.guard import MAX_BODY_BYTES, Guard
from ringwood.serve.mcp.life import alive, leave
from ringwood.serve.mcp.server import build

_log = logging.getLogger(__name__)

TOKEN_FILE = "http-token"
"""In the home; whoever can read it may use the server."""
PATH = "/mcp"
"""Where the server answers."""
CONNECTIONS = 64
"""At once; a machine has a handful of clients."""
CLOSING_S = 1
"""What requests under way are given when the server ends."""


def run(memory: Memory, host: str, port: int, tell: Callable[[str, str], None]) -> NoReturn:
    """Serve until a signal comes; then end the process.

    Args:
        memory: what to serve.
        host: a loopback address or `localhost`.
        port: 0 takes a free one.
        tell: told the URL and the file that the token lies in, once connections are taken.

    Raises:
        UsageError: when the address is not this machine's own, or is taken.
        StorageError: when the token cannot be kept.
    """
    listening = listen(host, port)
    token = token_of(memory.home)
    place = listening.getsockname()
    shown = f"[{place[0]}]" if listening.family == socket.AF_INET6 else place[0]
    tell(f"http://{shown}:{place[1]}{PATH}", str(Path(memory.home) / TOKEN_FILE))
    anyio.run(_serve, memory, listening, token)
    leave(memory)


def listen(host: str, port: int) -> socket.socket:
    """Open a listening socket on a loopback address.

    Raises:
        UsageError: when it is none, or is taken.
    """
    address = "127.0.0.1" if host == "localhost" else host.strip("[]")
    loopback = False
    with suppress(ValueError):
        loopback = ip_address(address).is_loopback
    if not loopback:
        raise UsageError(
            f"{host} is no loopback address: the server is for this machine only.",
            mend="leave --host out; from elsewhere, use an SSH tunnel",
        )
    try:
        return socket.create_server(
            (address, port), family=socket.AF_INET6 if ":" in address else socket.AF_INET
        )
    except OSError as error:
        raise UsageError(
            f"Port {port} of {host} cannot be had: {error.strerror}.",
            mend="choose another --port, or 0 for a free one",
        ) from error


def token_of(home: str) -> str:
    """Return the home's token, made on first use.

    Raises:
        HomeError: when others could read it.
        StorageError: when it cannot be kept.
    """
    file = Path(home) / TOKEN_FILE
    homes.create_home(home)
    try:
        # Made whole before it has its name, and never over another's: two servers may start now.
        draft = file.with_name(f"{TOKEN_FILE}.{os.getpid()}")
        if not file.exists():
            homes.write_private(str(draft), secrets.token_urlsafe(32))
            with suppress(FileExistsError):
                file.hardlink_to(draft)
            draft.unlink()
        if file.stat().st_mode & 0o077:
            raise HomeError(
                f"Others may read {file}: what it protects is open to them.",
                mend=f"rm {file}; the next start makes another",
            )
        token = file.read_text("utf-8").strip()
    except OSError as error:
        raise StorageError(
            f"{file} cannot be read or made: {error.strerror}.", mend=f"check {home}"
        ) from error
    if len(token) < 16:  # pragma: no cover
        raise HomeError(f"{file} holds no token.", mend=f"rm {file}; the next start makes another")
    return token


async def _serve(memory: Memory, listening: socket.socket, token: str) -> None:
    app: Any = build(memory).streamable_http_app(
        streamable_http_path=PATH, max_request_body_size=MAX_BODY_BYTES
    )
    config = uvicorn.Config(
        Guard(app, token),
        log_config=None,  # the process has a log already, and no line of it is of a request
        access_log=False,
        lifespan="on",
        server_header=False,
        limit_concurrency=CONNECTIONS,
        timeout_graceful_shutdown=CLOSING_S,
    )
    server = uvicorn.Server(config)

    def stop() -> None:
        server.should_exit = True

    async with alive(memory, stop):
        await server.serve([listening])
