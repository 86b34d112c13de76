"""MCP over standard input and output: one client, and the process ends with it."""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncIterator
from functools import partial
from typing import BinaryIO, NoReturn, cast

import anyio
from anyio import to_thread
from mcp.server.stdio import stdio_server

from ringwood.memory import Memory
from ringwood.serve.mcp.life import alive, leave
from ringwood.serve.mcp.readable import readable
from ringwood.serve.mcp.server import build

_log = logging.getLogger(__name__)


def run(memory: Memory) -> NoReturn:
    """Serve until the client closes standard input or a signal comes; then end the process."""
    try:
        anyio.run(_serve, memory)
    except* OSError as group:
        _log.info("the client went away: %s", group.exceptions[0])
    leave(memory)


async def _serve(memory: Memory) -> None:
    server = build(memory)
    lines = cast("anyio.AsyncFile[str]", Lines(sys.stdin.buffer))  # all it needs of one
    async with alive(memory), stdio_server(stdin=lines) as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


class Lines:
    """The lines of a stream, readable ones.

    Each is read in a thread that is left alone when the server ends first: the transport's own
    reader would keep it until the client says one more word.
    """

    def __init__(self, stream: BinaryIO) -> None:
        """Read from a binary stream that nobody else reads from."""
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[str]:
        """Yield lines until the stream ends."""
        read = partial(to_thread.run_sync, self._stream.readline, abandon_on_cancel=True)
        while line := await read():
            yield readable(line)
