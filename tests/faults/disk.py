"""A disk that loses power: what a log of writes may have left on it at any moment.

What was not synced may be lost, in any choice and order, torn at sectors. There are two kinds of
disk, which differ in what becomes of names:

- `strict`, as POSIX has it: a name lasts once its folder was synced. Until then each change of it
  is kept or lost by itself, and syncing a file does nothing for the file's name.
- `ordered`, like ext4: changes of names are kept in their order, and any sync keeps all before it.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal, TypeVar

T = TypeVar("T")

SECTOR = 512
"""Bytes that a disk writes as one."""

Kind = Literal["strict", "ordered"]
"""What becomes of names that nobody synced."""
KINDS: tuple[Kind, ...] = ("strict", "ordered")

Target = int | str
"""What a name leads to: the number of a file, or the key of a folder."""


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes were written to a file."""

    file: int
    """Its number: a name may lead to another file later."""
    offset: int
    """Where they begin, in bytes."""
    data: bytes
    """What they are."""


@dataclass(frozen=True, slots=True)
class Truncate:
    """A file was cut, or grew by zeros."""

    file: int
    """Its number."""
    size: int
    """Bytes that it has from then on."""


@dataclass(frozen=True, slots=True)
class Sync:
    """What a file holds was made durable."""

    file: int
    """Its number."""


@dataclass(frozen=True, slots=True)
class SyncFolder:
    """The names in a folder were made durable."""

    folder: str
    """Its key: the path under which it was made. Empty for the root."""


@dataclass(frozen=True, slots=True)
class SyncAll:
    """Everything was made durable, as `sync` of Linux does, which waits for it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A name of a folder from now on leads somewhere, or nowhere."""

    folder: str
    """The folder's key."""
    name: str
    """The name in it."""
    target: Target | None
    """What it leads to; None: nowhere any more."""


@dataclass(frozen=True, slots=True)
class Rename:
    """Names changed in one step."""

    entries: tuple[Entry, ...]
    """The new name, then the old one, which is gone."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What a careless program leaves out, or a lying disk: nothing happens."""


Change = Write | Truncate | Sync | SyncFolder | SyncAll | Entry | Rename | LeftOut
"""One line of the log."""


@dataclass(slots=True)
class _File:
    """A file: what is safe of it, and what is not yet."""

    safe: bytearray = field(default_factory=bytearray)
    waiting: list[Write | Truncate] = field(default_factory=list)

    def sync(self) -> None:
        for change in self.waiting:
            _apply(self.safe, change)
        self.waiting.clear()


Tree = dict[str, bytes | None]
"""Contents by path; None for a folder."""


class Disk:
    """Plays a log, and says at any moment what a power cut could leave."""

    def __init__(self, kind: Kind) -> None:
        """Begin with nothing but an empty root."""
        self._kind = kind
        self._files: defaultdict[int, _File] = defaultdict(_File)
        self._safe: dict[tuple[str, str], Target] = {}
        self._waiting: list[tuple[Entry, ...]] = []  # each of them is kept or lost as one

    def play(self, change: Change) -> None:
        """Let one change happen."""
        match change:
            case Write() | Truncate():
                self._files[change.file].waiting.append(change)
            case Sync():
                self._files[change.file].sync()
                if self._kind == "ordered":
                    self._keep(lambda entries: True)
            case SyncFolder():
                everything = self._kind == "ordered"
                self._keep(lambda entries: everything or entries[0].folder == change.folder)
            case SyncAll():
                for file in self._files.values():
                    file.sync()
                self._keep(lambda entries: True)
            case Entry():
                self._waiting.append((change,))
            case Rename():
                self._waiting.extend(self._parts(change))

    def cut(self, chance: random.Random) -> Tree:
        """Cut the power: choose one of the many things that may be on the disk now."""
        return self._tree(self._choose_names(chance), lambda file: _remains(file, chance))

    def all(self) -> Tree:
        """Say what is there while the power is on."""
        return self._tree([*self._waiting], _everything)

    def _parts(self, rename: Rename) -> list[tuple[Entry, ...]]:
        """Split a rename into what is kept or lost as one."""
        if self._kind == "ordered" or len({each.folder for each in rename.entries}) == 1:
            return [rename.entries]
        return [(each,) for each in rename.entries]

    def _keep(self, is_safe: Callable[[tuple[Entry, ...]], bool]) -> None:
        _point(self._safe, filter(is_safe, self._waiting))
        self._waiting = [each for each in self._waiting if not is_safe(each)]

    def _choose_names(self, chance: random.Random) -> list[tuple[Entry, ...]]:
        """Choose which changes of names are kept."""
        if self._kind == "ordered":
            return self._waiting[: chance.randint(0, len(self._waiting))]
        kept: list[tuple[Entry, ...]] = []
        for folder in sorted({each[0].folder for each in self._waiting}):
            here = [each for each in self._waiting if each[0].folder == folder]
            kept.extend(_some(here, chance))
        return kept

    def _tree(self, names: Iterable[tuple[Entry, ...]], content: Callable[[_File], bytes]) -> Tree:
        """Follow the names from the root; what no name leads to is lost."""
        pointers = dict(self._safe)
        _point(pointers, names)
        below: defaultdict[str, list[tuple[str, Target]]] = defaultdict(list)
        for (folder, name), target in pointers.items():
            below[folder].append((name, target))
        return dict(self._walk("", "", below, content))

    def _walk(
        self,
        folder: str,
        place: str,
        below: dict[str, list[tuple[str, Target]]],
        content: Callable[[_File], bytes],
    ) -> Iterator[tuple[str, bytes | None]]:
        for name, target in below.get(folder, ()):
            path = str(PurePosixPath(place, name))
            if isinstance(target, str):
                yield path, None
                yield from self._walk(target, path, below, content)
            else:
                yield path, content(self._files[target])


def put(tree: Tree, place: Path) -> None:
    """Write down what a power cut left."""
    for path, content in tree.items():
        if content is None:
            (place / path).mkdir(mode=0o700, exist_ok=True)
        else:
            (place / path).write_bytes(content)
            (place / path).chmod(0o600)


def _point(pointers: dict[tuple[str, str], Target], changes: Iterable[tuple[Entry, ...]]) -> None:
    for entry in (each for entries in changes for each in entries):
        if entry.target is None:
            pointers.pop((entry.folder, entry.name), None)
        else:
            pointers[entry.folder, entry.name] = entry.target


def _everything(file: _File) -> bytes:
    whole = bytearray(file.safe)
    for change in file.waiting:
        _apply(whole, change)
    return bytes(whole)


def _remains(file: _File, chance: random.Random) -> bytes:
    """Choose what is left of a file: any part of what was not synced, torn anywhere."""
    left = bytearray(file.safe)
    kept = _some(file.waiting, chance) if file.waiting else ()
    tears = chance.random() < 0.5
    for change in kept:
        if tears and isinstance(change, Write) and chance.random() < 0.5:
            for sector in _sectors(change):
                if chance.random() < 0.5:
                    _apply(left, sector)
        else:
            _apply(left, change)
    return bytes(left)


def _some(changes: Sequence[T], chance: random.Random) -> Sequence[T]:
    """Choose none, all, the first few, or any of them, in their order."""
    match chance.randrange(4):
        case 0:
            return ()
        case 1:
            return changes
        case 2:
            return changes[: chance.randint(0, len(changes))]
        case _:
            return [each for each in changes if chance.random() < 0.5]


def _sectors(write: Write) -> Iterator[Write]:
    """Split a write where a disk may tear it."""
    start, end = write.offset, write.offset + len(write.data)
    while start < end:
        stop = min(end, start - start % SECTOR + SECTOR)
        yield Write(write.file, start, write.data[start - write.offset : stop - write.offset])
        start = stop


def _apply(content: bytearray, change: Write | Truncate) -> None:
    if isinstance(change, Truncate):
        end = change.size
        del content[end:]
    else:
        end = change.offset
    content.extend(bytes(max(0, end - len(content))))
    if isinstance(change, Write):
        content[change.offset : change.offset + len(change.data)] = change.data
