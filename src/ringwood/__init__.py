"""Ringwood: long-term memory for AI agents, on your own disk.

    from ringwood import Memory

    with Memory.open() as memory:
        memory.store("We chose SQLite because it needs no service.")
        for hit in memory.recall("why SQLite?").hits:
            print(hit.address, hit.text)

Names load on first use: a process that only needs the version must not pay for numpy.
"""

from __future__ import annotations

from importlib import import_module

from ringwood.version import __version__

TYPE_CHECKING = False  # type checkers take this name for true; importing typing would cost more

if TYPE_CHECKING:
    from ringwood.errors import (
        AddressError,
        BusyError,
        ConfigError,
        EmbedderError,
        HomeError,
        NoHomeError,
        RingwoodError,
        SchemaError,
        StorageError,
        UsageError,
    )
    from ringwood.memory import Memory
    from ringwood.types import Dropped, Hit, Recall, Receipt, Signals, Term

_HOMES = {
    "Memory": "ringwood.memory",
    **dict.fromkeys(("Dropped", "Hit", "Recall", "Receipt", "Signals", "Term"), "ringwood.types"),
    **dict.fromkeys(
        (
            "AddressError",
            "BusyError",
            "ConfigError",
            "EmbedderError",
            "HomeError",
            "NoHomeError",
            "RingwoodError",
            "SchemaError",
            "StorageError",
            "UsageError",
        ),
        "ringwood.errors",
    ),
}

__all__ = [
    "AddressError",
    "BusyError",
    "ConfigError",
    "Dropped",
    "EmbedderError",
    "Hit",
    "HomeError",
    "Memory",
    "NoHomeError",
    "Recall",
    "Receipt",
    "RingwoodError",
    "SchemaError",
    "Signals",
    "StorageError",
    "Term",
    "UsageError",
    "__version__",
]


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return __all__


def __getattr__(name: str) -> object:
    """Load a public name from its module on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'ringwood' has no attribute {name!r}")
    found: object = getattr(import_module(_HOMES[name]), name)
    return found
