"""The frame of every command: options before or after it, errors as text or JSON, exit codes."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ringwood.errors import RingwoodError
from ringwood.serve.cli import output
from ringwood.serve.cli.table import COMMANDS, help_text
from ringwood.version import __version__

if TYPE_CHECKING:
    from ringwood.memory import Memory

DUE_S = 1.0
"""How long a short command goes on with work that is due, after its answer."""

DO_DUE = ("store", "import", "recall")
"""Commands that do so: those that use a memory, and not those that only look at it or mend it."""
MESSAGE_CHARS = 600
"""Of an error: it may quote an argument of any length, and an agent reads it."""

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(slots=True)
class Session:
    """The global options of one call. Mutable: click fills it while it parses."""

    home: str | None = None
    """`--home`."""
    space: str | None = None
    """`--space`."""
    embedder: str | None = None
    """`--embedder`."""
    json: bool = False
    """`--json`."""
    quiet: bool = False
    """`--quiet`."""
    debug: bool = False
    """`--debug`."""
    command: str = ""
    """Which command is given."""
    wait_s: float = field(default=10.0)
    """`--wait`, of the commands that have it."""

    def memory(self) -> Memory:
        """Open the memory that the options name, in the space of the working directory."""
        for name in ("ringwood", "stamina"):  # stamina tells of second attempts
            logging.getLogger(name).addHandler(logging.NullHandler())  # else Python prints it
        if self.debug:
            logging.basicConfig(stream=sys.stderr)
            # Ours alone: an HTTP client logs the headers of an answer, and what is quoted in them.
            logging.getLogger("ringwood").setLevel(logging.DEBUG)
        # Only now: numpy and the engine cost ten times what the help of a command does.
        from ringwood.memory import Memory  # noqa: PLC0415

        return Memory.open(
            self.home,
            self.space,
            self.embedder,
            directory=working_directory(),
            wait_s=self.wait_s,
        )

    def do_due(self) -> None:
        """Do upkeep that is due, for `DUE_S` at most; whatever is in its way is noted there."""
        # Only now: see `memory`. Whoever gets here has loaded it already.
        from ringwood.memory import Memory  # noqa: PLC0415

        with suppress(RingwoodError), Memory.open(self.home, wait_s=0.0) as memory:
            memory.do_due(within_s=DUE_S)

    def say(self, text: str) -> None:
        """Tell a person something besides the answer."""
        if not self.quiet:
            output.remark(text)


def options(command: Command) -> Command:
    """Add the global options to a command."""

    def keep(context: click.Context, parameter: click.Parameter, value: object) -> None:
        # An option that is given before the command and not after it keeps its value.
        if value is not None and parameter.name is not None:
            setattr(context.ensure_object(Session), parameter.name, value)

    flag: dict[str, Any] = {"is_flag": True, "flag_value": True, "default": None, "type": bool}
    given: list[tuple[str, str | None, str, dict[str, Any]]] = [
        ("--home", "DIR", "The home to use.", {}),
        ("--space", "NAME", "The space to use.", {}),
        ("--embedder", "NAME", "bundled, words, hashing, ollama:MODEL or openai:MODEL.", {}),
        ("--json", None, "One JSON object on standard output.", flag),
        ("--quiet", None, "No progress and no remarks.", flag),
        ("--debug", None, "Tracebacks and a log.", flag),
    ]
    for name, metavar, help_line, more in reversed(given):
        command = click.option(
            name, metavar=metavar, help=help_line, callback=keep, expose_value=False, **more
        )(command)
    return command


def waiting(command: Command) -> Command:
    """Add `--wait` and `--no-wait` to a command."""

    def keep(context: click.Context, parameter: click.Parameter, value: float | None) -> None:
        if value is not None:
            context.ensure_object(Session).wait_s = value

    command = click.option(
        "--no-wait",
        flag_value=0.0,
        is_flag=True,
        default=None,
        type=float,
        callback=keep,
        expose_value=False,
        help="Do not wait for vectors; the next command catches up.",
    )(command)
    return click.option(
        "--wait",
        metavar="SECONDS",
        type=click.FloatRange(0.0),
        callback=keep,
        expose_value=False,
        help="Wait at most this long for vectors.  [10]",
    )(command)


class _Group(click.Group):
    """Loads a command's module when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"ringwood.serve.cli.{COMMANDS[cmd_name][1]}")
        found: click.Command = getattr(module, f"{cmd_name}_command")
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS:
            near = get_close_matches(args[0], COMMANDS, 1)
            ctx.fail(
                f"There is no command {args[0]!r}."
                + (f" Did you mean {near[0]!r}?" if near else "")
            )
        ctx.ensure_object(Session).command = args[0]
        return super().resolve_command(ctx, args)

    def get_help(self, ctx: click.Context) -> str:
        return help_text().rstrip()


@options
@click.version_option(__version__, prog_name="ringwood", message="%(prog)s %(version)s")
@click.pass_context
def _ringwood(context: click.Context) -> None:
    """Long-term memory for AI agents, on your own disk."""


_main = click.command(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})(
    _ringwood
)


def run(arguments: Sequence[str]) -> int:
    """Run one command line; return its exit code."""
    output.prepare_streams()
    session = Session()
    try:
        result = _main.main(
            args=list(arguments), prog_name="ringwood", standalone_mode=False, obj=session
        )
        if session.command in DO_DUE:
            session.do_due()
    except RingwoodError as error:
        return _fail(session, arguments, (error.code, error.message, error.mend), error.exit_code)
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx is not None else "ringwood"
        told = ("usage", error.format_message(), f"{where} --help")
        return _fail(session, arguments, told, 2)
    except (KeyboardInterrupt, click.Abort):
        told = ("interrupted", "Interrupted. What was stored is safe.", "give the command again")
        return _fail(session, arguments, told, 130)
    except Exception as error:  # noqa: BLE001 - the outermost loop: a person never sees a traceback
        told = ("internal", f"{type(error).__name__}: {error}", "try again with --debug")
        return _fail(session, arguments, told, 1)
    return result if isinstance(result, int) else 0


def _fail(
    session: Session, arguments: Sequence[str], told: tuple[str, str, str], exit_code: int
) -> int:
    code, message, mend = told
    if len(message) > MESSAGE_CHARS:
        message = f"{message[: MESSAGE_CHARS // 2]} … {message[-MESSAGE_CHARS // 2 :]}"
    if session.debug or "--debug" in arguments:
        traceback.print_exc()
    asked = session.json or "--json" in arguments
    described = {"error": {"code": code, "message": message, "mend": mend}}
    if not asked or not output.json_object(described):
        output.remark(f"ringwood: {message}" + (f"\n  {mend}" if mend else ""))
    return exit_code


def working_directory() -> str:
    """Return where the person works; nothing where that is gone."""
    try:
        return str(Path.cwd())
    except OSError:
        return ""
