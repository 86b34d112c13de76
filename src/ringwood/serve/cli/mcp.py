"""The command that serves MCP clients: mcp."""

from __future__ import annotations

import sys

import click

from ringwood.errors import UsageError
from ringwood.serve.cli import output
from ringwood.serve.cli.app import Session, options


@click.command("mcp")
@click.option("--http", is_flag=True, help="Serve HTTP on this machine instead of one client.")
@click.option("--host", metavar="ADDRESS", help="A loopback address.  [127.0.0.1]")
@click.option("--port", type=click.IntRange(0, 65535), metavar="N", help="0: a free one.  [0]")
@options
@click.pass_obj
def mcp_command(session: Session, /, http: bool, host: str | None, port: int | None) -> None:
    """Serve an MCP client over standard input and output, until it goes."""
    if not http and (host is not None or port is not None):
        raise UsageError("--host and --port belong to --http.", mend="ringwood mcp --http")

    def tell(url: str, token_file: str) -> None:
        if session.json:
            output.json_object({"url": url, "token_file": token_file})
        else:
            session.say(f"{url}  (the token is in {token_file})")

    memory = session.memory()
    # Only now: the protocol's library costs two seconds of processor time.
    if http:
        from ringwood.serve.mcp.http import run as run_http  # noqa: PLC0415

        run_http(memory, host or "127.0.0.1", port or 0, tell)
    else:
        if sys.stdin.isatty():
            session.say("A host starts this and speaks to it here; Ctrl-C ends it.")
        from ringwood.serve.mcp.stdio import run as run_stdio  # noqa: PLC0415

        run_stdio(memory)
