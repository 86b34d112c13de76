"""Memory: the one object a front end holds. Opens lazily, stores, recalls, forgets, catches up."""

from __future__ import annotations

from ringwood.memory.asking import Asking
from ringwood.memory.checking import Checking
from ringwood.memory.copying import Copying
from ringwood.memory.dreaming import Dreaming
from ringwood.memory.looking import Looking, Stats
from ringwood.memory.reindexing import Reindexing
from ringwood.memory.scheduling import Scheduling

__all__ = ["Memory", "Stats"]


class Memory(Scheduling, Asking, Looking, Dreaming, Reindexing, Checking, Copying):
    """A person's memory in one home. Safe from several threads; a context manager.

    Opening costs nothing and makes nothing: storing makes the home, reading one that is not there
    raises `NoHomeError`. Leaving the context waits up to `wait_s` for vectors that are to come;
    whoever opens the home next takes up what is left.
    """
