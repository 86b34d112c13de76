"""Start the resident process, detached from whoever does. On a hook's path: standard library only.

A process of its own session and folder, with nothing of ours open but its log: neither the host nor
its terminal waits for it, and it keeps nothing of theirs alive.
"""

from __future__ import annotations

import os
import sys
import time

from ringwood import home as homes

PAUSE_S = 2.0
"""After a start there is none for so long: one that fails at once must not cost every turn."""

_LOG = "resident.log"


def start(home: str, *, again: bool = False) -> bool:
    """Start the resident process of a home and return at once; False when it is too soon.

    Args:
        home: absolute path of the home; it is made if it is not there.
        again: also when one was started a moment ago, because that one is leaving.

    Raises:
        StorageError: when the home cannot be made.
        OSError: when the system starts no process, or the home cannot be written.
    """
    homes.create_home(home)
    if not _mark(os.path.join(home, homes.RESIDENT_LOCK)) and not again:
        return False
    logs = os.path.join(home, homes.LOG_FOLDER)
    homes.create_folder(logs)
    # -P: a file `json.py` in the folder we are in is not for us.
    command = [sys.executable, "-P", "-m", "ringwood", "serve", "--home", home, "--quiet"]
    out = os.open(os.path.join(logs, _LOG), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        _spawn(command, out)
    finally:
        os.close(out)
    return True


def _mark(lock: str) -> bool:
    """Note in the lock's time stamp that a start is made; False when one was made just now.

    Reading or locking the file is the resident process's alone.
    """
    try:
        if 0.0 <= time.time() - os.stat(lock).st_mtime < PAUSE_S:
            return False
        os.utime(lock)
    except FileNotFoundError:
        os.close(os.open(lock, os.O_WRONLY | os.O_CREAT, 0o600))
    return True


def _spawn(command: list[str], out: int) -> None:
    """Start a process in a session of its own, its output in a file, its input nowhere."""
    actions = (
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, out, 1),
        (os.POSIX_SPAWN_DUP2, out, 2),
    )
    try:
        os.posix_spawn(command[0], command, os.environ, file_actions=actions, setsid=True)
    except NotImplementedError:  # a system whose posix_spawn makes no session
        if os.fork() == 0:
            try:
                os.setsid()
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                os.dup2(out, 1)
                os.dup2(out, 2)
                os.execv(command[0], command)
            finally:
                os._exit(127)
