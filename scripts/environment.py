"""Make Python environments from the lock, with the standard library alone.

`scripts/test` and `scripts/try` begin here. uv installs what `uv.lock` says; uv itself comes from
pip and lies in `.uv`, outside every environment it fills, because a sync removes what the lock
does not name. The grammar of this file stays that of Python 3.6, so that an old interpreter gets
as far as the message that says what to do.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036 - run by whatever `python3` is, before any installer
    sys.exit(
        f"Ringwood needs Python 3.11 or newer; this is {sys.version.split()[0]}.\n"
        f"Mend: name a newer one, for example: python3.12 {sys.argv[0]}"
    )

ROOT = Path(__file__).resolve().parent.parent
UV_VERSION = "0.13.8"
BIN = "Scripts" if os.name == "nt" else "bin"
NETWORK = "check the network and the proxy (HTTPS_PROXY), then run this again"
# The lock names its registry. With another index uv would call the lock out of date.
INDEXES = ("UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL")


class TroubleError(Exception):
    """Something outside the project is missing: what, and the step that mends it."""

    def __init__(self, message: str, mend: str) -> None:
        """Say what is missing; `mend` is what to do next."""
        super().__init__(f"{message}\nMend: {mend}.")


def say(line: str = "") -> None:
    """Write one line now, before the output of the next child."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def find_python(name: str | None) -> str:
    """Find an interpreter that runs and is new enough; None: the one that runs this script."""
    if name is None:
        return sys.executable
    found = shutil.which(name)
    probe = "import sys; print(sys.version_info >= (3, 11))"
    # A shim of pyenv or asdf lies on PATH and yet does not run: only running it tells.
    answer = output_of([found, "-c", probe]) if found else None
    if answer is None:
        raise TroubleError(f"{name} is not on PATH or does not run", f"install {name}")
    if answer != "True":
        raise TroubleError(f"{name} is too old", "name Python 3.11 or newer")
    return str(found)


def version_of(python: str | Path) -> str | None:
    """Say `3.12` for an interpreter, None when it does not run."""
    return output_of([python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"])


def output_of(command: Sequence[str | Path]) -> str | None:
    """Run a short command and return what it printed, None when it failed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def ensure_venv(folder: Path, python: str, *, pip: bool) -> Path:
    """Make a virtual environment unless a working one stands; return its interpreter."""
    inside = folder / BIN / "python"
    if version_of(inside) is not None and (not pip or output_of([inside, "-m", "pip", "-V"])):
        return inside
    command = [python, "-m", "venv", "--clear", *([] if pip else ["--without-pip"]), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.stderr.write(done.stdout + done.stderr)
        raise TroubleError(
            f"{python} cannot make a virtual environment",
            "install its venv module (Debian, Ubuntu: apt install python3-venv), then run again",
        )
    return inside


def ensure_uv(python: str) -> Path:
    """Install the pinned uv beside the environments unless it is there; return its path."""
    uv = ROOT / ".uv" / BIN / "uv"
    if (output_of([uv, "--version"]) or "").split()[1:2] == [UV_VERSION]:
        return uv
    say(f"installing uv {UV_VERSION} into .uv")
    inside = ensure_venv(ROOT / ".uv", python, pip=True)
    pip = [str(inside), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if subprocess.call([*pip, f"uv=={UV_VERSION}"]) != 0:
        raise TroubleError(f"pip could not install uv {UV_VERSION}", NETWORK)
    return uv


def ensure_environment(folder: Path, python: str, *options: str) -> Path:
    """Fill `folder` with exactly what the lock says; return its interpreter.

    A second run costs a fraction of a second and needs no network. `options` go to `uv sync`.
    """
    uv = ensure_uv(python)
    inside = ensure_venv(folder, python, pip=False)
    environment = {
        **{name: value for name, value in os.environ.items() if name not in INDEXES},
        "UV_PROJECT_ENVIRONMENT": str(folder),
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_NO_CONFIG": "1",
        "UV_NO_PROGRESS": os.environ.get("UV_NO_PROGRESS", "0" if sys.stderr.isatty() else "1"),
    }
    environment.pop("VIRTUAL_ENV", None)  # someone else's: uv would warn about it
    sync = [str(uv), "sync", "--locked", *options]
    offline = subprocess.run(
        [*sync, "--offline"], cwd=ROOT, env=environment, capture_output=True, check=False
    )
    if offline.returncode != 0 and subprocess.call(sync, cwd=ROOT, env=environment) != 0:
        raise TroubleError(
            "uv could not install what uv.lock says",
            "where it says that the lock is out of date: .uv/bin/uv lock; otherwise " + NETWORK,
        )
    return inside


class Stopwatch:
    """Names the parts of a run and says how long each took."""

    def __init__(self) -> None:
        """Start counting."""
        self.began = time.monotonic()
        self.parts: list[tuple[str, float]] = []

    @contextlib.contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Announce a part and note its seconds, also when it fails."""
        say(f"\n== {name}")
        began = time.monotonic()
        try:
            yield
        finally:
            self.parts.append((name, time.monotonic() - began))

    def report(self, remarks: Mapping[str, str]) -> None:
        """Print seconds per part and in total, with a remark beside a part that has one."""
        say("\n== seconds")
        for name, seconds in self.parts:
            say(f"{seconds:8.1f}  {name}  {remarks.get(name, '')}".rstrip())
        say(f"{time.monotonic() - self.began:8.1f}  in total")
