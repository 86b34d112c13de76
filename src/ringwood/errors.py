"""Everything Ringwood raises, and what a caller can do about it.

    RingwoodError
    ├── UsageError            the call is wrong: correct it
    │   ├── AddressError      nothing has this address
    │   ├── ConfigError       a setting is unknown or has a bad value
    │   └── ExportError       this is no whole export: take another
    ├── HomeError             the environment is wrong: mend it, then call again
    │   ├── NoHomeError       there is no home here yet
    │   ├── SchemaError       the home was written by a newer Ringwood
    │   ├── NetworkError      the home lies on a network file system: use a local disk
    │   └── StorageError      the disk or the database refused
    │       ├── BusyError     another process holds the database: call again later
    │       ├── FullError     the disk has too little room: free some
    │       ├── ReadOnlyError the home may only be read: make it writable, or only recall
    │       └── DamagedError  a database file is broken: salvage it
    └── EmbedderError         no vectors for now: words go on, vectors follow

Each class has a stable `code`; each error says what and which, and `mend` names what mends it.
"""

from __future__ import annotations

import errno

DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""How a system says that the disk, or this user's share of it, is used up."""
MAY_NOT_WRITE = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
"""How a system says that who asks may read and not write."""


class RingwoodError(Exception):
    """Base of all. `str(error)` is a sentence for people."""

    code = "failed"
    """Stable name, the `error.code` of the JSON contract."""
    exit_code = 1
    """What the command ends with."""

    def __init__(self, message: str, *, mend: str = "") -> None:
        """Say what went wrong with what; `mend` is what to type or do next."""
        super().__init__(message)
        self.message = message
        self.mend = mend


class UsageError(RingwoodError):
    """The call is wrong."""

    code = "usage"
    exit_code = 2


class AddressError(UsageError):
    """No node has this address."""

    code = "no_such_address"
    exit_code = 1


class ConfigError(UsageError):
    """A setting is unknown or its value does not fit."""

    code = "bad_config"


class ExportError(UsageError):
    """What is to be restored is no export, or one that was cut off or changed."""

    code = "bad_export"
    exit_code = 1


class HomeError(RingwoodError):
    """The home cannot be used as it is."""

    code = "home"
    exit_code = 3


class NoHomeError(HomeError):
    """There is no home at this place."""

    code = "no_home"


class SchemaError(HomeError):
    """The home was written by a newer Ringwood."""

    code = "newer_schema"


class NetworkError(HomeError):
    """The home lies on a network file system, where its files can be damaged."""

    code = "network_home"


class StorageError(HomeError):
    """The disk or the database refused: full, read-only, damaged."""

    code = "storage"


class BusyError(StorageError):
    """Another process holds the database for longer than we wait."""

    code = "busy"


class FullError(StorageError):
    """The disk has too little room for what was asked."""

    code = "disk_full"


class ReadOnlyError(StorageError):
    """The home may be read by whoever asks, and not written."""

    code = "read_only"


class DamagedError(StorageError):
    """A database file is broken for good, as against busy, full or unreadable for the moment."""

    code = "damaged"


class StrangerError(StorageError):
    """A database of another program lies where one of ours belongs. It is left as it is."""

    code = "stranger"


class EmbedderError(RingwoodError):
    """The embedder is missing, down, late, or answered nonsense."""

    code = "embedder"


def refusal(
    error: OSError, what: str, *, mend: str = "check the disk, then call again", meanwhile: str = ""
) -> StorageError:
    """Say why something cannot be written, in the class of what can be done about it.

    Args:
        error: what the system said.
        what: what cannot be done with what, without a full stop.
        mend: what mends it where the disk is neither full nor closed to this user.
        meanwhile: what is well until then, if that is not plain.
    """
    kind: type[StorageError] = StorageError
    if error.errno in DISK_FULL:
        kind, mend = FullError, "free some space, then call again"
    elif error.errno in MAY_NOT_WRITE:
        kind, mend = ReadOnlyError, "make it writable for its owner, or choose another place"
    tail = f"; {meanwhile}" if meanwhile else ""
    return kind(f"{what}: {error.strerror}.", mend=mend + tail)
