"""Network file systems are told from local ones; a home on one is refused until it is wanted."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ringwood import mounts
from ringwood.errors import NetworkError

LINUX = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
40 22 0:35 / /proc rw,nosuid - proc proc rw
61 22 0:52 / /mnt/notes\\040of\\040mine rw,relatime shared:33 master:2 - nfs4 box:/notes rw,vers=4.2
62 22 0:53 / /mnt/s rw - fuse.sshfs me@box:/ rw,user_id=1000
63 22 0:54 / /mnt/n rw - fuse.ntfs-3g /dev/sdb1 rw
64 22 0:55 / /mnt/c rw - cifs //box/share rw
65 22 0:56 / /mnt/h rw - 9p host rw
nonsense
"""
MAC = """\
/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)
/dev/disk3s5 on /System/Volumes/Data (apfs, local, journaled)
//me@box/share (old) on /Volumes/my share (smbfs, nodev, nosuid, mounted by me)
box:/export on /Volumes/nfs (nfs)
"""


@pytest.mark.parametrize(
    ("device", "kind", "network"),
    [
        ("8:1", "ext4", False),
        ("0:52", "nfs4", True),
        ("0:53", "fuse.sshfs", True),
        ("0:54", "fuse.ntfs-3g", False),
        ("0:55", "cifs", True),
        ("0:56", "9p", False),
        ("9:9", None, False),
    ],
)
def test_linux_says_what_a_device_is(device: str, kind: str | None, network: bool) -> None:
    found = mounts.type_of_device(device, LINUX.splitlines())
    assert (found, mounts.is_network(found)) == (kind, network)


@pytest.mark.parametrize(
    ("place", "kind", "network"),
    [
        ("/Library", "apfs", False),
        ("/Volumes/my share/home", "smbfs", True),
        ("/Volumes/my share", "smbfs", True),
        ("/Volumes/my shares", "apfs", False),
        ("/Volumes/nfs/home", "nfs", True),
    ],
)
def test_a_mac_says_what_a_place_is(place: str, kind: str, network: bool) -> None:
    found = mounts.type_of_place(place, MAC.splitlines())
    assert (found, mounts.is_network(found)) == (kind, network)


def test_this_folder_and_one_that_is_not_there_yet_are_local(tmp_path: Path) -> None:
    assert mounts.network_type(str(tmp_path)) is None
    assert mounts.network_type(str(tmp_path / "not" / "there")) is None
    mounts.require_local(str(tmp_path / "home"), mounts.HomeOptions())


def test_a_home_on_a_network_is_refused_untouched_until_it_is_wanted(tmp_path: Path) -> None:
    """A table of mounts says that this folder's disk is NFS: only the kernel's word is replaced."""
    unshare, mount = shutil.which("unshare"), shutil.which("mount")
    if sys.platform != "linux" or unshare is None or mount is None or os.geteuid() != 0:
        pytest.skip("needs the right to mount over the table of mounts")
    device = tmp_path.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    table = tmp_path / "mountinfo"
    table.write_text(f"61 22 {number} / / rw,relatime - nfs4 box:/notes rw\n")
    home = tmp_path / "home"

    def run(*arguments: str, control: bool = False) -> subprocess.CompletedProcess[str]:
        bind = "true" if control else f"mount --bind '{table}' /proc/$$/mountinfo"
        words = [sys.executable, "-m", "ringwood", "--home", str(home), "--json", *arguments]
        script = f'{bind} && exec "$@"'
        return subprocess.run(
            [unshare, "-m", "sh", "-c", script, "sh", *words],
            input="alpha\n",
            env=os.environ | {"RINGWOOD_EMBEDDER": "words"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    refused = run("store")
    if not refused.stdout:
        pytest.skip("may not mount here")
    assert refused.returncode == NetworkError.exit_code
    error = json.loads(refused.stdout)["error"]
    assert error["code"] == NetworkError.code
    assert "home.allow_network" in error["mend"]
    assert not home.exists()
    assert run("store", control=True).returncode == 0
    assert run("recall", "alpha").returncode == NetworkError.exit_code
    assert run("config", "home.allow_network", "true").returncode == 0
    assert run("recall", "alpha").returncode == 0
    notes = json.loads(run("stats").stdout)["notes"]
    assert any("network file system (nfs4)" in note for note in notes)
    local = json.loads(run("stats", control=True).stdout)["notes"]
    assert not any("network" in note for note in local)
