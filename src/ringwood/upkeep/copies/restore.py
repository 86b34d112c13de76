"""Read an export into new files: every line is checked, and one that does not fit refuses it all.

Words are made anew from the texts. What is read goes into files that no home uses; only a whole
export takes its place in one.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, BinaryIO, NoReturn

from ringwood.engine.transfer import (
    COLUMNS,
    OF_A_DOCUMENT,
    OF_THE_HOME,
    Loader,
    Row,
    Values,
    WholeDocument,
)
from ringwood.errors import ExportError, SchemaError
from ringwood.text.terms import dominant_script
from ringwood.types import Node
from ringwood.upkeep.copies.export import FORMAT, MARK
from ringwood.upkeep.copies.records import row_of
from ringwood.write.draft import sha256_of
from ringwood.write.nodes import terms_of
from ringwood.write.remembered import LASTING

MAX_LINE_BYTES = 256 * 1024 * 1024
"""No line is longer: whoever sends one without an end does not fill the memory."""

_ID, _TEXT, _SHA256 = (COLUMNS["document"].index(name) for name in ("id", "text", "sha256"))
_GZIP = b"\x1f\x8b"
_GZIP_WINDOW = 31
"""What `zlib` wants to hear of data in gzip's format."""
_MARKED = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Encodings that begin with a mark: what a shell's `>` or an editor on Windows may write."""


@dataclass(slots=True)
class Restored:
    """What an export held. Mutable: it grows while the export is read."""

    documents: int = 0
    """Documents."""
    nodes: int = 0
    """Their nodes."""
    vectors: int = 0
    """Their vectors."""
    edges: int = 0
    """Their edges."""
    files: dict[str, str] = field(default_factory=dict)
    """Small files of the home by name."""
    notes: list[str] = field(default_factory=list)
    """What did not come along, in sentences."""


def is_export(beginning: bytes) -> bool:
    """Say whether a file that begins so is meant to be an export, whatever became of it since."""
    return beginning.startswith(MARK) or _rewritten(beginning) is not None


def _rewritten(beginning: bytes) -> str | None:
    """Say what another program made of an export that begins so; None where nothing shows."""
    if beginning.startswith(_GZIP):
        with suppress(zlib.error):
            packed = zlib.decompressobj(_GZIP_WINDOW)
            inside = packed.decompress(beginning, len(MARK))
            # A line of what is packed may end anywhere, before it says much.
            is_ours = inside == MARK or (MARK.startswith(inside) and not packed.eof)
            return "packed it with gzip" if is_ours else None
    for mark, encoding in _MARKED:
        if beginning.startswith(mark + MARK.decode().encode(encoding)):
            return f"wrote it as {encoding.upper()} with a mark before it"
    if beginning.startswith(MARK) and beginning.endswith(b"\r\n"):
        return "gave its lines other ends"
    return None


def restore(
    source: BinaryIO,
    loader: Loader,
    files: Sequence[str],
    on_document: Callable[[int], None] = lambda done: None,
) -> Restored:
    """Read an export, check all of it, and hand it to a loader. Memory holds one document at most.

    Args:
        source: from where.
        loader: writes it into files that no home uses yet.
        files: names that a small file of a home may have.
        on_document: told how many documents are read; may raise to stop.

    Raises:
        ExportError: when it is cut off, edited, or no export; the message names the line.
        SchemaError: when a newer Ringwood wrote it.
    """
    lines = _Lines(source)
    restored = Restored()
    _check_head(next(lines, {}), lines)
    with lines.refusing():
        for number, group in _groups(lines):
            with lines.refusing(number):
                _take(group, loader, files, restored)
            if group[0].kind == "document":
                on_document(restored.documents)
        loader.finish()
    return restored


def _take(group: Sequence[Row], loader: Loader, files: Sequence[str], restored: Restored) -> None:
    """Check a row of the home, or a document with all that lies with it, and hand it on."""
    kind = group[0].kind
    if kind == "file":
        _keep_file(group[0].values, files, restored)
    elif kind in OF_THE_HOME:
        _check_home_row(group[0])
        loader.put(group[0])
    else:
        whole = _whole(group)
        loader.put_document(whole)
        restored.documents += 1
        restored.nodes += len(whole.nodes)
        restored.vectors += len(whole.vectors)
        restored.edges += len(whole.edges)


class _Lines(Iterator[dict[str, Any]]):
    """The records of an export up to its last line, which is checked here."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._digest = hashlib.sha256()
        self._ended = False
        self.number = 0

    def __next__(self) -> dict[str, Any]:
        line = self._source.readline(MAX_LINE_BYTES + 1)
        if self.number == 0 and (done := _rewritten(line)) is not None:
            raise ExportError(
                f"Another program {done}: the export is not as it was. Nothing was written.",
                mend="unpack it, or export again: ringwood export FILE, without > before FILE",
            )
        if not line:
            if not self._ended:
                self.number += 1
                self.refuse("the export ends before its last line")
            raise StopIteration
        self.number += 1
        if self._ended:
            self.refuse("something follows the last line")
        if len(line) > MAX_LINE_BYTES:
            self.refuse("the line is too long")
        record = self._parsed(line)
        if record.get("row") == "end":
            self._check_end(record)
            return next(self)
        self._digest.update(line)
        return record

    def _parsed(self, line: bytes) -> dict[str, Any]:
        try:
            record = json.loads(line.decode(), parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            self.refuse(f"this is no JSON, or it was cut off ({type(error).__name__})", error)
        if not line.endswith(b"\n") or not isinstance(record, dict):
            self.refuse("this is no line of an export, or it was cut off")
        return record

    def _check_end(self, record: Mapping[str, Any]) -> None:
        self._ended = True
        expected = {"row": "end", "lines": self.number, "sha256": self._digest.hexdigest()}
        if dict(record) != expected:
            self.refuse("the digest of the lines above is another: something in them was changed")

    @contextmanager
    def refusing(self, number: int | None = None) -> Iterator[None]:
        """Refuse the export where a value inside does not fit.

        Args:
            number: of the line that is named then; None: of the last that was read.
        """
        try:
            yield
        except ValueError as error:
            self.refuse(str(error), error, number)

    def refuse(
        self, why: str, cause: BaseException | None = None, number: int | None = None
    ) -> NoReturn:
        raise ExportError(
            f"The export is refused at line {number or self.number}: {why}. Nothing was written.",
            mend="export again, or take an export that is whole",
        ) from cause


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _check_head(head: Mapping[str, Any], lines: _Lines) -> None:
    if head.get("ringwood") != "export":
        lines.refuse("this is no export of Ringwood")
    version = head.get("format")
    if type(version) is not int or version < 1:
        lines.refuse("it does not say which format it has")
    if version > FORMAT:
        raise SchemaError(
            f"A newer Ringwood wrote this export (format {version}, this one knows {FORMAT}).",
            mend="upgrade Ringwood: `uv tool upgrade ringwood` or `pip install -U ringwood`",
        )


def _groups(lines: _Lines) -> Iterator[tuple[int, list[Row]]]:
    """Put every document together with what lies with it; other rows stand alone, before it.

    Each group comes with the number of its first line.
    """
    group: list[Row] = []
    first = 0
    order = ("file", *OF_THE_HOME, "document")
    place = 0
    for record in lines:
        row = _file_row(record) if record.get("row") == "file" else row_of(record)
        if row.kind in OF_A_DOCUMENT:
            parts = ("document", *OF_A_DOCUMENT)
            if not group or parts.index(row.kind) < parts.index(group[-1].kind):
                raise ValueError(f"a {row.kind} does not belong here")
            group.append(row)
            continue
        if order.index(row.kind) < place:
            raise ValueError(f"a {row.kind} does not belong here")
        place = order.index(row.kind)
        if group:
            yield first, group
        first, group = lines.number, [row]
        if row.kind != "document":
            yield first, group
            group = []
    if group:
        yield first, group


def _file_row(record: Mapping[str, Any]) -> Row:
    name, text = record.get("name"), record.get("text")
    if not isinstance(name, str) or not isinstance(text, str) or len(record) != 3:
        raise ValueError("a file has a name and a text")
    return Row("file", (name, text))


def _keep_file(values: Values, known: Sequence[str], restored: Restored) -> None:
    name, text = values
    if name not in known or name in restored.files:
        raise ValueError(f"no file of a home that is exported is called {name[:40]!r}, or twice")
    text.encode()
    restored.files[name] = text


def _check_home_row(row: Row) -> None:
    if row.kind == "setting" and row.values[0] not in LASTING:
        raise ValueError(f"there is no setting {row.values[0]!r}")


def _whole(group: Sequence[Row]) -> WholeDocument:
    """Check a document against what lies with it, and make its words."""
    document = group[0].values
    parts: dict[str, list[Values]] = {kind: [] for kind in OF_A_DOCUMENT}
    for row in group[1:]:
        parts[row.kind].append(row.values)
    text = document[_TEXT]
    if sha256_of(text) != document[_SHA256]:
        raise ValueError(f"the text of document {document[_ID]} does not fit its sha256")
    for _, sha256, earlier, _ in parts["version"]:
        if sha256_of(earlier) != sha256:
            raise ValueError(f"an earlier text of document {document[_ID]} does not fit its sha256")
    nodes = [_node(document, place, values) for place, values in enumerate(parts["node"])]
    _check_tree(nodes, len(text))
    ids = {node.id for node in nodes}
    if any(vector[0] not in ids for vector in parts["vector"]):
        raise ValueError(f"a vector belongs to no node of document {document[_ID]}")
    return WholeDocument(
        document=document,
        versions=parts["version"],
        nodes=parts["node"],
        vectors=parts["vector"],
        edges=parts["edge"],
        aliases=parts["alias"],
        terms=terms_of(nodes),
        scripts={node.id: dominant_script(node.text) for node in nodes},
    )


def _node(document: Values, place: int, values: Values) -> Node:
    each = dict(zip(COLUMNS["node"], values, strict=True))
    own = (each["own_start"], each["own_end"])
    text = document[_TEXT][slice(*own)] if each["text"] is None else each["text"]
    return Node(
        id=each["id"],
        document=document[_ID],
        parent=each["parent"],
        order=place,
        kind=each["kind"],
        title=each["title"],
        path=each["path"],
        span=(each["start"], each["end"]),
        own=own,
        text=text,
        script="",
        length=0,
    )


def _check_tree(nodes: Sequence[Node], length: int) -> None:
    """Refuse nodes that are no tree in reading order, or lie beyond their text."""
    seen: set[int] = set()
    for node in nodes:
        (start, end), (own_start, own_end) = node.span, node.own
        if not (start <= own_start <= own_end <= length and start <= end <= length):
            raise ValueError(f"node {node.id} lies beyond the text of its document")
        if node.id in seen or (node.parent not in seen if seen else node.parent is not None):
            raise ValueError(f"node {node.id} has no place in the tree of its document")
        seen.add(node.id)
