"""Where a home lives and who may read it. Standard library only: a hook's process imports this.

A home is one directory:

    <home>/memory.db, memory-warm.db, memory-cold.db   the three tiers
    <home>/mirror/                                      Markdown for people and git
    <home>/spool/                                       what was said and is not stored yet
    <home>/sessions/                                    what a conversation was handed, by id
    <home>/brief/                                       what a new session is told of a space
    <home>/logs/                                        what went wrong while nobody looked
    <home>/config.toml                                  settings
    <home>/credentials.toml                             keys, for their owner's eyes only
"""

from __future__ import annotations

import json
import os
import sys

from ringwood.durable import replacing, sync_folder
from ringwood.errors import HomeError, NoHomeError, StorageError, refusal

HOT_FILE = "memory.db"
CONFIG_FILE = "config.toml"
CREDENTIALS_FILE = "credentials.toml"
MIRROR_FOLDER = "mirror"
EMBEDDING_LOCK = "embedding.lock"
RESIDENT_LOCK = "resident.lock"
RESIDENT_SOCKET = "resident.sock"
LOG_FOLDER = "logs"
BRIEF_FOLDER = "brief"
SESSIONS_FOLDER = "sessions"

_LONGEST_SOCKET = 100  # bytes of a path that every system's sockets take; the shortest limit is 104


def locate(argument: str | None = None) -> str:
    """Return the absolute path of the home: argument, `RINGWOOD_HOME`, else the platform's own.

    Raises:
        HomeError: when no database can have this path, or it starts from a folder that is gone.
    """
    chosen = argument or os.environ.get("RINGWOOD_HOME") or _platform_folder()
    try:
        place = os.path.abspath(os.path.expanduser(chosen))
    except OSError as error:
        raise HomeError(
            f"{chosen} leads nowhere: the working directory is gone.",
            mend="change to a folder that is there, or give a whole path with --home DIR",
        ) from error
    try:
        possible = b"\0" not in place.encode()
    except UnicodeEncodeError:  # bytes that are not UTF-8, which SQLite takes in no path
        possible = False
    if not possible:
        raise HomeError(
            f"{place!r} is no path that a home can have.",
            mend="choose another place with --home DIR or RINGWOOD_HOME",
        )
    return place


def _platform_folder() -> str:
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.join("~", "AppData", "Local")
    elif sys.platform == "darwin":
        base = os.path.join("~", "Library", "Application Support")
    else:
        base = os.environ.get("XDG_DATA_HOME") or os.path.join("~", ".local", "share")
    return os.path.join(base, "ringwood")


def exists(home: str) -> bool:
    """Say whether a home was made here. It may still be unreadable."""
    return os.path.isfile(os.path.join(home, HOT_FILE))


def require(home: str) -> None:
    """Raise NoHomeError when there is no home here, or too little of one to open."""
    if exists(home):
        return
    if _has_remains(home):
        raise NoHomeError(
            f"There is no {HOT_FILE} at {home}, only what is left of a memory.",
            mend=f"put it back, or make it anew: ringwood salvage --home {home};"
            " ringwood init begins without what is left",
        )
    raise NoHomeError(f"There is no memory at {home}.", mend=f"ringwood init --home {home}")


def _has_remains(home: str) -> bool:
    """Say whether an older tier lies here, or a mirror with something in it."""
    tiers = ("memory-warm.db", "memory-cold.db")
    if any(os.path.exists(os.path.join(home, name)) for name in tiers):
        return True
    try:
        return bool(os.listdir(os.path.join(home, MIRROR_FOLDER)))
    except OSError:  # there is none, or it cannot be looked into
        return False


def create_folder(path: str) -> None:
    """Make a folder that only its owner can enter, parents included. Idempotent.

    What is made is there after a power cut, too.

    Raises:
        StorageError: when the folder cannot be made, or something else has its name.
    """
    missing = []
    place = os.path.abspath(path)
    while not os.path.isdir(place):
        missing.append(place)
        place = os.path.dirname(place)
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        for made in missing:
            sync_folder(os.path.dirname(made))
    except OSError as error:
        raise refusal(
            error,
            f"The folder {path} cannot be made",
            mend="choose another place with --home DIR or RINGWOOD_HOME",
        ) from error


def create_home(home: str) -> None:
    """Make the home's folder, or take from others what they may do in it. Idempotent."""
    create_folder(home)
    try:
        mode = os.stat(home).st_mode
        if mode & 0o077:
            os.chmod(home, mode & 0o700)
    except OSError as error:
        raise refusal(error, f"The home {home} cannot be closed to other users") from error


def write_private(path: str, text: str, *, synced: bool = True) -> None:
    """Replace a small file in one step, 0600: on return the new one survives a power cut.

    Args:
        path: where.
        text: what it holds then.
        synced: False for what nobody would miss after a power cut: a sync may take long.

    Raises:
        StorageError: when the disk refuses; what is there then is the old file or the new one.
    """
    try:
        with replacing(path, synced=synced) as file:
            file.write(text.encode())
    except OSError as error:
        raise refusal(error, f"The file {path} cannot be written") from error


def remove_drafts(home: str, before: float) -> None:
    """Remove what was half written, in the home and its folders, when its process was killed.

    What cannot be removed stays: it harms nobody.

    Args:
        home: where.
        before: a younger draft may have somebody who writes it, seconds since 1970.
    """
    try:
        folders = [home, *(each.path for each in os.scandir(home) if _is_ours(each))]
        for each in [each for folder in folders for each in os.scandir(folder)]:
            if _is_draft(each.name) and each.stat(follow_symlinks=False).st_mtime < before:
                os.unlink(each.path)
    except OSError:
        pass


def _is_ours(entry: os.DirEntry[str]) -> bool:
    """Say whether a folder of the home is one where only we write small files."""
    return entry.name != MIRROR_FOLDER and entry.is_dir(follow_symlinks=False)


def _is_draft(name: str) -> bool:
    """Say whether `draft_of` names a draft so: `config.toml.0f1e2d3c.new`."""
    parts = name.split(".")
    return len(parts) > 2 and parts[-1] == "new" and len(parts[-2]) == 8 and parts[-2].isalnum()


def read_private(path: str) -> str | None:
    """Read a small file that only its owner can read; None when there is none.

    Raises:
        HomeError: when others can read it too.
        StorageError: when the disk refuses.
    """
    try:
        with open(path, encoding="utf-8-sig") as file:
            if os.name == "posix" and os.fstat(file.fileno()).st_mode & 0o077:
                raise HomeError(
                    f"The file {path} is not used: others can read the keys in it.",
                    mend=f"chmod 600 {path}",
                )
            return file.read()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise StorageError(
            f"The file {path} cannot be read.", mend=f"make it a text file, and chmod 600 {path}"
        ) from error


def socket_path(home: str) -> str:
    """Return where the resident process of a home listens: in the home, if its path is short."""
    inside = os.path.join(home, RESIDENT_SOCKET)
    if len(os.fsencode(inside)) <= _LONGEST_SOCKET:
        return inside
    return os.path.join(f"/tmp/ringwood-{os.getuid()}", f"{_digest(home)}.sock")


def is_ours_alone(folder: str) -> bool:
    """Say whether a folder is our own and no other user may enter it."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return found.st_uid == os.getuid() and found.st_mode & 0o170077 == 0o040000


def brief_path(home: str, space_key: str | None) -> str:
    """Return the file that holds what a new session is told of a space."""
    return os.path.join(home, BRIEF_FOLDER, f"{_digest(space_key or '')}.txt")


def drop_briefs(home: str) -> None:
    """Remove what new sessions would be told: it names texts that may be forgotten by now.

    Raises:
        StorageError: when a file cannot be removed.
    """
    folder = os.path.join(home, BRIEF_FOLDER)
    try:
        names = os.listdir(folder)
        for name in names:
            os.unlink(os.path.join(folder, name))
        if names:
            sync_folder(folder)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise refusal(
            error, "What new sessions are told cannot be removed", mend=f"remove {folder} yourself"
        ) from error


def session_path(home: str, session: str) -> str:
    """Return the file that says what a conversation holds."""
    return os.path.join(home, SESSIONS_FOLDER, f"{_digest(session)}.json")


def note_session(home: str, session: str, nodes: list[int], since: float | None) -> None:
    """Write down what a conversation holds.

    Args:
        home: a home that is there.
        session: `host:session`.
        nodes: ids of the nodes that it was handed.
        since: when its host last compacted, in seconds since 1970; None: never.

    Raises:
        StorageError: when the disk refuses.
    """
    create_folder(os.path.join(home, SESSIONS_FOLDER))
    content = {"session": session, "nodes": nodes, "since": since}
    write_private(session_path(home, session), json.dumps(content), synced=False)


def _digest(text: str) -> str:
    """Name a text of any length by 32 hex digits."""
    # Only where it is needed: the first message of a session, and a home with a very long path.
    from hashlib import blake2b  # noqa: PLC0415

    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
