"""The three files of a home: made together, opened together, missed one by one."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import apsw

from ringwood.engine.sqlite.connection import (
    BUSY_TIMEOUT_S,
    SALVAGE,
    Identity,
    attach,
    connect,
    connect_for_reading,
    create_database,
    full_disk_told,
    identity_of,
    inspect,
    is_damage,
    log_bytes,
    meaning_of,
    no_home,
    require_own_log,
    transaction,
    translated,
    upgrade,
)
from ringwood.engine.sqlite.rows import Row
from ringwood.engine.sqlite.schema import (
    APPLICATION_ID,
    MIGRATIONS,
    VIEWS,
    version_of,
)
from ringwood.errors import (
    DamagedError,
    HomeError,
    ReadOnlyError,
    StorageError,
    StrangerError,
    refusal,
)
from ringwood.types import TIERS, Tier

_log = logging.getLogger(__name__)

_DETACH: Mapping[Tier, str] = {"warm": "DETACH warm", "cold": "DETACH cold"}
_VERSION: Mapping[Tier, str] = {
    "warm": "PRAGMA warm.user_version",
    "cold": "PRAGMA cold.user_version",
}
_PROGRAM: Mapping[Tier, str] = {
    "warm": "PRAGMA warm.application_id",
    "cold": "PRAGMA cold.application_id",
}
# A tier that numbers spaces otherwise than hot does would answer for the wrong space.
_AT_ODDS: Mapping[Tier, str] = {
    "warm": """SELECT EXISTS (SELECT 1 FROM warm.spaces t JOIN main.spaces m
        ON (t.number = m.number) <> (t.name = m.name))""",
    "cold": """SELECT EXISTS (SELECT 1 FROM cold.spaces t JOIN main.spaces m
        ON (t.number = m.number) <> (t.name = m.name))""",
}
_LARGEST: Mapping[Tier, str] = {
    "hot": """SELECT (SELECT max(id) FROM main.documents), (SELECT max(id) FROM main.nodes),
        (SELECT max(number) FROM main.spaces)""",
    "warm": """SELECT (SELECT max(id) FROM warm.documents), (SELECT max(id) FROM warm.nodes),
        (SELECT max(number) FROM warm.spaces)""",
    "cold": """SELECT (SELECT max(id) FROM cold.documents), (SELECT max(id) FROM cold.nodes),
        (SELECT max(number) FROM cold.spaces)""",
}
_SPACES: Mapping[Tier, str] = {
    "hot": "SELECT number, name FROM main.spaces",
    "warm": "SELECT number, name FROM warm.spaces",
    "cold": "SELECT number, name FROM cold.spaces",
}
_NEXT = "SELECT next FROM counters WHERE name = ?"
_ADVANCE = "UPDATE counters SET next = max(next, ?) WHERE name = ?"
_RESTORE_SPACE = "INSERT OR IGNORE INTO spaces (number, name) VALUES (?, ?)"
_QUICK_CHECK = "PRAGMA quick_check(1)"
_READ_ONLY = "PRAGMA query_only = ON"


def exists(path: Path) -> bool:
    """Say whether a file is there.

    Raises:
        StorageError: when that cannot be told.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise StorageError(
            f"cannot look at {path}: {error.strerror}", mend="make it readable for its owner"
        ) from error
    return True


def size_of(path: Path) -> int:
    """Count the bytes of a file; 0 when it is not there."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def make_directory(path: Path) -> None:
    """Make a directory that is its owner's alone, if it is not there."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        mend = "choose another place with --home DIR"
        raise refusal(error, f"The folder {path} cannot be made", mend=mend) from error


def missing(tier: Tier, path: Path) -> StorageError:
    """Say that a tier which this home has cannot be used."""
    return StorageError(
        f"the {tier} tier is not usable at {path}",
        mend=f"mount it, or put {path.name} back; everything else goes on without it",
    )


def open_current(paths: Mapping[Tier, Path]) -> Attached | None:
    """Open files that are as they should be; None when there is something to do first.

    Takes no lock: who only reads never waits for a writer.
    """
    versions = _versions_of(paths)
    if not versions.get("hot") or any(map(_is_old, versions.values())):
        return None
    with translated(paths["hot"].parent):
        attached = attach_all(paths, identities_of(paths))
        is_current = False
        try:
            is_current = not any(_unknown_to_hot(attached))
        finally:
            if not is_current:
                attached.connection.close()
        return attached if is_current else None


def open_read_only(paths: Mapping[Tier, Path], without: Collection[Tier] = ()) -> Attached:
    """Open the files of a home that may not be written. Writes nothing, and waits for nobody.

    Args:
        paths: the files.
        without: tiers that count as not there.

    Raises:
        StorageError: when they cannot be read as they are; the message says why.
    """
    hot = paths["hot"]
    try:
        version = _versions_of(paths).get("hot")
        if not version or _is_old(version):
            raise ReadOnlyError(
                f"An older Ringwood wrote {hot}, and this user may not bring it up to date",
                mend="run any command once as the home's owner, for example `ringwood stats`",
            )
        with translated(hot.parent):
            return attach_all(paths, identities_of(paths, without))
    except StorageError as error:
        if not log_bytes(hot) or isinstance(error, DamagedError):
            raise
        raise ReadOnlyError(
            f"{hot} cannot be read by this user: what was written last is in the log beside it, and"
            " not in the file yet",
            mend="run any command once as the home's owner, for example `ringwood stats`",
        ) from error


def make_current(paths: Mapping[Tier, Path], *, create: bool) -> None:
    """Make what has never been made and bring the rest up to date. The gate is held.

    The hot file is made last: where it is, the others have been. A colder file that is gone then
    stays gone, since making it again would turn a disk that is not mounted into a lost memory.
    """
    hot = paths["hot"]
    versions = _versions_of(paths)
    if not versions.get("hot"):
        if "hot" in versions:  # we never leave it so, and to begin anew would hide what was in it
            raise DamagedError(f"{hot} is empty", mend=SALVAGE)
        if not create:
            raise no_home(hot.parent)
        for tier in (each for each, version in versions.items() if version is None):
            with suppress(DamagedError, apsw.Error):  # ours perhaps, and told by whoever reads it
                inspect_tier(tier, paths[tier])
        for tier in reversed(TIERS):
            if tier == "hot" or tier not in versions:
                create_database(paths[tier])
    for tier, version in versions.items():
        if version and _is_old(version):
            with translated(paths[tier]):
                upgrade(paths[tier], version)
    with translated(hot.parent):
        _catch_up(paths)


def _versions_of(paths: Mapping[Tier, Path]) -> dict[Tier, int | None]:
    """Read the versions of the files that are there; None: damaged. Touches nothing."""
    return {tier: _version_at(tier, path) for tier, path in paths.items() if exists(path)}


def _version_at(tier: Tier, path: Path) -> int | None:
    try:
        return inspect_tier(tier, path)
    except (DamagedError, StrangerError) as error:
        if tier == "hot":
            raise
        _log.error("going on without the %s tier: %s", tier, error.message)
        return None
    except apsw.Error as error:
        if tier == "hot" or not _is_lost(error):
            raise meaning_of(error, path) from error
        _log.warning("the %s tier cannot be read: going on without it", tier)
        return None


def inspect_tier(tier: Tier, path: Path) -> int:
    """Read the schema version of a tier's file; see `inspect`.

    Raises:
        StrangerError: when another program wrote it; says how the place of this tier is freed.
    """
    try:
        return inspect(path)
    except StrangerError as error:
        if tier == "hot":
            raise
        raise StrangerError(
            error.message,
            mend=f"move it away or set tiers.{tier}_path to another file; then ringwood verify",
        ) from error


def _is_old(version: int | None) -> bool:
    return bool(version) and version != len(MIGRATIONS)


def _catch_up(paths: Mapping[Tier, Path]) -> None:
    """Teach hot the ids and spaces that the colder files hold, whatever became of it."""
    attached = attach_all(paths, identities_of(paths))
    with closing(attached.connection):
        behind, spaces = _unknown_to_hot(attached)
    if behind or spaces:
        with (
            closing(connect(paths["hot"])) as connection,
            transaction(connection, timeout_s=BUSY_TIMEOUT_S),
        ):
            connection.executemany(_ADVANCE, [(i, name) for name, i in behind.items()])
            connection.executemany(_RESTORE_SPACE, sorted(spaces))


def _unknown_to_hot(attached: Attached) -> tuple[dict[str, int], set[Row]]:
    """Find counters that lag behind what is stored, with their due values, and missing spaces."""
    query = attached.connection.execute
    present = [tier for tier in TIERS if tier not in attached.missing]
    largest = [query(_LARGEST[tier]).get for tier in present]
    due = {
        name: 1 + max(row[column] or 0 for row in largest)
        for column, name in enumerate(("document", "node", "space"))
    }
    behind = {name: i for name, i in due.items() if i > query(_NEXT, (name,)).get}
    spaces = {row for tier in present for row in query(_SPACES[tier])}
    return behind, spaces - set(query(_SPACES["hot"]))


@dataclass(frozen=True, slots=True)
class Attached:
    """A connection for reading, with every tier that can be read."""

    connection: apsw.Connection
    """Hot is `main`; `warm` and `cold` are attached, as empty stand-ins where they are missing."""
    identities: tuple[Identity, ...]
    """Which files these are, hot first."""
    missing: tuple[Tier, ...]
    """Tiers that are stood in for."""


def identities_of(
    paths: Mapping[Tier, Path], without: Collection[Tier] = ()
) -> tuple[Identity, ...]:
    """Say which files lie there now, hot first; those of some tiers count as not there."""
    return tuple(None if tier in without else identity_of(paths[tier]) for tier in TIERS)


def attach_all(paths: Mapping[Tier, Path], identities: tuple[Identity, ...]) -> Attached:
    """Open hot for reading and attach the colder tiers, but those whose identity is None."""
    require_own_log(paths["hot"])
    connection = connect_for_reading(paths["hot"])
    try:
        with full_disk_told(connection):
            if version_of(connection, paths["hot"]) != len(MIGRATIONS):
                raise missing("hot", paths["hot"])
            lost: list[Tier] = []
            for tier, identity in zip(TIERS[1:], identities[1:], strict=True):
                if identity is None or not _attach_whole(connection, tier, paths[tier]):
                    attach(connection, tier, None)
                    lost.append(tier)
            connection.execute(VIEWS)
            connection.execute(_READ_ONLY)
    except BaseException:
        connection.close()
        raise
    return Attached(connection, identities, tuple(lost))


def _attach_whole(connection: apsw.Connection, tier: Tier, path: Path) -> bool:
    """Attach a tier if it can be read, is current, and agrees with hot about the spaces."""
    try:
        require_own_log(path)
        attach(connection, tier, path)
        is_ours = connection.execute(_PROGRAM[tier]).get == APPLICATION_ID
        if is_ours and connection.execute(_VERSION[tier]).get == len(MIGRATIONS):
            connection.execute(_LARGEST[tier]).fetchall()  # a look into the tables themselves
            if not connection.execute(_AT_ODDS[tier]).get:
                return True
            _log.error("the %s tier numbers its spaces unlike this home: left out", tier)
    except DamagedError:
        return False  # `verify` says why
    except apsw.Error as error:
        if not _is_lost(error):
            raise
    with suppress(apsw.Error):  # it may not have got as far as being attached
        connection.execute(_DETACH[tier])
    return False


def _is_lost(error: apsw.Error) -> bool:
    """Say whether a file cannot be read for good, as against busy or failing for the moment."""
    return is_damage(error) or isinstance(error, apsw.CantOpenError)


def is_sound(path: Path) -> bool:
    """Check the pages of a file. Reads all of it."""
    try:
        with closing(connect(path)) as connection:
            return bool(connection.execute(_QUICK_CHECK).get == "ok")
    except (apsw.Error, HomeError):
        return False
