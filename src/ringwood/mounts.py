"""Whether a folder lies on a network file system, where a database that logs ahead is not safe.

SQLite's log is shared through memory, which two machines do not have in common, and locks over a
network hold where they are implemented well. Nothing on such a disk tells whether a second machine
uses it too. Standard library only.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from ringwood.errors import NetworkError

NETWORK_TYPES = frozenset(
    {
        "afpfs", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "glusterfs", "gpfs",
        "lustre", "ncpfs", "nfs", "nfs4", "orangefs", "panfs", "pvfs2", "smb2", "smb3", "smbfs",
        "webdav",
    }
)  # fmt: skip
"""Types of file systems that lie on another machine. Folders that a virtual machine shares with
its host (9p, virtiofs, vboxsf) are not among them: whole machines are made of those."""
NETWORK_PROGRAMS = frozenset(
    {
        "beegfs", "ceph", "davfs", "davfs2", "gcsfuse", "glusterfs", "goofys", "juicefs", "mfs",
        "rclone", "s3fs", "smbnetfs", "sshfs",
    }
)  # fmt: skip
"""The same for file systems that are programs, whose type is `fuse.PROGRAM`."""

_MOUNTS = "/proc/self/mountinfo"
_MOUNT_COMMAND = "/sbin/mount"


@dataclass(frozen=True, slots=True)
class HomeOptions:
    """Where a home may lie."""

    allow_network: bool = False
    """Use a home on a network file system, where only one machine ever does: with two of them at it
    nothing keeps its files from being damaged."""


def require_local(home: str, options: HomeOptions) -> None:
    """Refuse a home on a network file system, unless that is wanted.

    Raises:
        NetworkError: when it lies on one.
    """
    if options.allow_network:
        return
    kind = network_type(home)
    if kind is not None:
        raise NetworkError(
            f"{home} lies on a network file system ({kind}), where a database can be damaged.",
            mend="choose a local disk with --home DIR; or, if no other machine ever uses this home,"
            " ringwood config home.allow_network true",
        )


def network_type(path: str) -> str | None:
    """Name the network file system that a path lies on, or would; None: a local one, or unknown."""
    place = os.path.realpath(path)
    while not os.path.lexists(place) and os.path.dirname(place) != place:
        place = os.path.dirname(place)
    try:
        if sys.platform == "linux":
            device = os.stat(place).st_dev
            with open(_MOUNTS, encoding="utf-8", errors="surrogateescape") as table:
                kind = type_of_device(f"{os.major(device)}:{os.minor(device)}", table)
        elif sys.platform == "darwin":
            listed = subprocess.run([_MOUNT_COMMAND], capture_output=True, text=True, check=True)
            kind = type_of_place(place, listed.stdout.splitlines())
        else:
            kind = "smb3" if place.startswith(("\\\\", "//")) else None
    except (OSError, subprocess.SubprocessError):
        return None
    return kind if is_network(kind) else None


def is_network(kind: str | None) -> bool:
    """Say whether a type of file system lies on another machine."""
    if kind is None:
        return False
    program = kind.removeprefix("fuse.")
    return program in NETWORK_PROGRAMS if program != kind else kind in NETWORK_TYPES


def type_of_device(device: str, table: Iterable[str]) -> str | None:
    """Find the type of the file system on a device, in the lines of Linux's table of mounts.

    Args:
        device: `major:minor`, as the table has it.
        table: lines of `/proc/self/mountinfo`: id, parent, device, root, place, options, any number
            of fields, `-`, type, source, options.
    """
    for line in table:
        fields = line.split()
        if len(fields) > 2 and fields[2] == device and "-" in fields:
            return fields[fields.index("-") + 1]
    return None


def type_of_place(place: str, listed: Iterable[str]) -> str | None:
    """Find the type of the file system that a path lies on, in what `mount` lists on a Mac.

    Args:
        place: an absolute path.
        listed: lines such as `//me@host/share on /Volumes/share (smbfs, nodev)`.
    """
    best, kind = "", None
    for line in listed:
        _, _, rest = line.partition(" on ")
        root, _, options = rest.rpartition(" (")
        if len(root) > len(best) and f"{place}/".startswith(f"{root.rstrip('/')}/"):
            best, kind = root, options.split(",")[0].rstrip(")")
    return kind
