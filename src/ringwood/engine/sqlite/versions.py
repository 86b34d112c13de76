"""An earlier state of a document at rest: its text, and its nodes packed into one value.

They are read together or not at all, never searched: a table of their own would cost four times
the space.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence

from ringwood.engine.sqlite.rows import Row, RowError, node_of
from ringwood.types import Node


def pack(rows: Sequence[Row]) -> bytes:
    """Pack the rows of a document's nodes, columns as `unpack` reads them."""
    return zlib.compress(json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode())


def unpack(packed: bytes, document: int, text: str) -> tuple[Node, ...]:
    """Read nodes back, in reading order.

    Args:
        packed: what `pack` made.
        document: id of their document.
        text: the document's text of then.

    Raises:
        RowError: when it is none of that.
    """
    try:
        rows = json.loads(zlib.decompress(packed))
    except (zlib.error, ValueError) as error:
        raise RowError(f"a version of document {document} cannot be unpacked") from error
    return tuple(node_of((row[0], document, *row[1:]), {document: text}) for row in rows)
