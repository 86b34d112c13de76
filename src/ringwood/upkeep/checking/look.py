"""What a look at a home is a look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ringwood.engine.base import Engine
from ringwood.engine.checking import Inspection
from ringwood.parse.tree import ParseOptions
from ringwood.types import TIERS, Tier


@dataclass(frozen=True, slots=True)
class Look:
    """What to look at, and how closely."""

    home: str
    """The home's folder."""
    inspection: Inspection
    """Its files."""
    engine: Engine | None
    """Its memory; None where hot cannot be opened: then less is looked at."""
    mirror_root: str | None
    """Folder of the mirror; None where there is to be none."""
    parse: ParseOptions = field(default_factory=ParseOptions)
    """How texts are cut."""
    embedded: Sequence[Tier] = TIERS
    """Tiers whose nodes have vectors."""
    quick: bool = False
    """Digests, trees and SQLite's quick check alone: no words, no mirror, no index of the file."""
