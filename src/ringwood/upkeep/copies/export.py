"""Export: a home as lines of JSON, the same lines for the same content.

    head | files | rows of the home | document, and what lies with it | ... | end

The head holds no time, no place and no name of a machine. The last line counts the lines and holds
their digest, so that an export that was cut off or edited is known.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ringwood.durable import replacing
from ringwood.engine.base import Engine
from ringwood.engine.transfer import Dump, Row
from ringwood.errors import UsageError, refusal
from ringwood.types import TIERS, Tier
from ringwood.upkeep.copies.drafts import draft_of, remove_left
from ringwood.upkeep.copies.records import line_of, record_of
from ringwood.version import __version__
from ringwood.write.remembered import LASTING

FORMAT = 1
"""Version of what the lines mean."""
MARK = b'{"ringwood":"export"'
"""What an export begins with."""
ELSEWHERE = "check that disk, or choose another place, then call again"
"""What mends a copy that cannot be written."""

_STATE, _ERROR, _TIER = 12, 13, 1
"""Places in the row of a document."""


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export came to."""

    documents: int
    """Documents in it."""
    nodes: int
    """Their nodes."""
    vectors: int
    """Their vectors."""
    edges: int
    """Edges that lie with them."""
    lines: int
    """All lines, head and end included."""
    bytes: int
    """Its size."""
    missing_tiers: tuple[Tier, ...]
    """Tiers that cannot be read: nothing of them is in it."""
    spooled: int = 0
    """Captured events that wait to be stored: they are not in it either."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be in an export."""

    files: Mapping[str, str]
    """Small files of the home by name."""
    vectors: bool = True
    """False leaves vectors and means out: they are made again from the texts."""
    undone: bool = False
    """Whether it says which merges were undone. It is told to, because what was undone leaves no
    other trace: else the export is that of before the dream, byte by byte."""
    pending: tuple[Tier, ...] = TIERS
    """Tiers whose documents wait for vectors where these are left out; none by words alone."""


def export(
    engine: Engine,
    target: BinaryIO,
    wanted: Wanted,
    on_document: Callable[[int, int], None] = lambda done, total: None,
) -> Exported:
    """Write a home as lines, out of one snapshot. Memory stays flat; others write meanwhile.

    Args:
        engine: the home's database.
        target: where to.
        wanted: what is to be in it.
        on_document: told how many of how many documents are written; may raise to stop.

    Raises:
        StorageError: when the database or the target's disk refuses.
    """
    with engine.reading() as reader:
        total = sum(tier.documents for tier in reader.totals().tiers.values())
    out = _Lines(target)
    with engine.dumping(settings=LASTING, vectors=wanted.vectors) as dump:
        out.put(_head(dump, wanted))
        for name in sorted(wanted.files):
            out.put({"row": "file", "name": name, "text": wanted.files[name]})
        for row in dump.rows:
            if row.kind == "apart" and not wanted.undone:
                continue
            out.put(record_of(row if wanted.vectors else _without_vectors(row, wanted)))
            if row.kind == "document":
                on_document(out.kinds["document"], total)
        missing = dump.missing
    out.end()
    kinds = out.kinds
    return Exported(
        documents=kinds.get("document", 0),
        nodes=kinds.get("node", 0),
        vectors=kinds.get("vector", 0),
        edges=kinds.get("edge", 0),
        lines=out.lines,
        bytes=out.bytes,
        missing_tiers=missing,
    )


def _head(dump: Dump, wanted: Wanted) -> dict[str, object]:
    return {
        "ringwood": "export",
        "format": FORMAT,
        "version": __version__,
        "schema": dump.schema,
        "vectors": wanted.vectors,
        "missing": list(dump.missing),
    }


def _without_vectors(row: Row, wanted: Wanted) -> Row:
    """Let a document wait for vectors, however far those got that are left out."""
    if row.kind != "document" or row.values[_TIER] not in wanted.pending:
        return row
    return Row(row.kind, (*row.values[:_STATE], "pending", None, *row.values[_ERROR + 1 :]))


class _Lines:
    """Writes lines, counts them, and takes their digest."""

    def __init__(self, target: BinaryIO) -> None:
        self._target = target
        self._digest = hashlib.sha256()
        self.kinds: dict[str, int] = {}
        self.lines = 0
        self.bytes = 0

    def put(self, record: Mapping[str, object]) -> None:
        kind = str(record.get("row", "head"))
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        line = line_of(record)
        self._digest.update(line)
        self._write(line)

    def end(self) -> None:
        self._write(
            line_of({"row": "end", "lines": self.lines + 1, "sha256": self._digest.hexdigest()})
        )

    def _write(self, line: bytes) -> None:
        self._target.write(line)
        self.lines += 1
        self.bytes += len(line)


def require_file(path: Path) -> None:
    """Refuse a folder where a file is to be written.

    Raises:
        UsageError: when it is one.
    """
    if path.is_dir():
        raise UsageError(f"{path} is a folder.", mend="name a file in it")


@contextmanager
def durable_file(path: Path) -> Iterator[BinaryIO]:
    """Write a file that only its owner can read, and give it its name when it is whole and synced.

    Raises:
        StorageError: when the disk refuses; what had the name before is then untouched.
    """
    # A link stays one, and a pipe or a device too: what would take its name would take its place.
    try:
        path = Path(os.path.realpath(path))
        if path.exists() and not path.is_file():
            with path.open("wb") as file:
                yield file
            return
        remove_left(path)
        with replacing(str(path), draft=str(draft_of(path))) as file:
            yield file
    except OSError as error:
        raise refusal(error, f"{path} cannot be written", mend=ELSEWHERE) from error
