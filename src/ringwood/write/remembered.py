"""Which embedder a home's vectors are of, and which one it is to go over to: in the home's meta."""

from __future__ import annotations

from ringwood.embed.choose import WORDS, Remembered
from ringwood.engine.base import Reader, Writer
from ringwood.types import State

_CURRENT = "embedder"
_WANTED = "embedder_wanted"

LASTING = tuple(
    f"{key}{part}" for key in (_CURRENT, _WANTED) for part in ("", "_identity", "_record")
)
"""The settings in the home's meta that a copy of the home needs."""


def remembered(reader: Reader) -> Remembered | None:
    """Read what the home was filled with; None for a home that was never told."""
    return _read(reader, _CURRENT)


def remember(writer: Writer, embedder: Remembered) -> None:
    """Write down what the home's vectors are of."""
    _write(writer, _CURRENT, embedder)


def wanted(reader: Reader) -> Remembered | None:
    """Read which embedder is being filled in.

    Its identity is empty as long as nobody has opened it.
    """
    return _read(reader, _WANTED)


def want(writer: Writer, embedder: Remembered | None) -> None:
    """Write down which embedder is to be filled in; None: no other than the home has."""
    _write(writer, _WANTED, embedder or Remembered("", ""))


def is_current(reader: Reader, identity: str) -> bool:
    """Say whether vectors of an identity are those that recall compares, as far as it is known."""
    known = remembered(reader)
    return known is None or known.identity in ("", identity)


def state_of(reader: Reader, otherwise: State) -> State:
    """Return the state of a new document: `pending` where vectors are to come.

    Args:
        reader: a snapshot under the write lock: what an import was told when it began may be over.
        otherwise: what holds in a home that was never told.
    """
    known = remembered(reader)
    if known is None:
        return otherwise
    return "ready" if known.name == WORDS else "pending"


def _read(reader: Reader, key: str) -> Remembered | None:
    name = reader.meta(key)
    if not name:
        return None
    identity, record = reader.meta(f"{key}_identity"), reader.meta(f"{key}_record")
    return Remembered(name, identity or "", record or "")


def _write(writer: Writer, key: str, embedder: Remembered) -> None:
    writer.set_meta(key, embedder.name)
    writer.set_meta(f"{key}_identity", embedder.identity)
    writer.set_meta(f"{key}_record", embedder.record)
