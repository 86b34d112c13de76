"""What a look at a home found: what is wrong, where, how bad, and which command mends it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ringwood.types import TIERS, Tier

Level = Literal["damage", "fault", "untidy"]
"""`damage`: something that a person stored is not what it was. `fault`: what is made from it is
wrong, and can be made again. `untidy`: a left-over that nobody sees; it is no reason to worry."""

FindingKind = Literal[
    "file",
    "card",
    "text",
    "versions",
    "nodes",
    "words",
    "vectors",
    "lacking",
    "edges",
    "aliases",
    "counts",
    "counters",
    "copies",
    "forgotten",
    "mirror",
    "stray",
    "spool",
    "log",
    "mode",
]
"""What is wrong. docs/operations.md says of each what it is and which command mends it."""

MEND = "ringwood verify --mend"
"""The command that makes again what can be made again from the texts."""

MAX_LISTED = 1000
"""Findings that are listed; all are counted."""

Progress = Callable[[str, int, int | None], None]
"""Told what is looked at, how many, and of how many."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong."""

    what: FindingKind
    """The kind."""
    where: str
    """An address, or what else names the place."""
    tier: Tier | None
    """In which tier; None: in none of them."""
    level: Level
    """How bad it is."""
    says: str
    """One sentence."""
    mend: str
    """The command that mends it, or what else to do."""


@dataclass(frozen=True, slots=True)
class Verified:
    """What was looked at, and what was found."""

    documents: int
    """Documents whose text was compared with its digest."""
    versions: int
    """Earlier texts, the same."""
    nodes: int
    """Their nodes."""
    vectors: int
    """Vectors of these."""
    files: int
    """Files of the mirror that were compared."""
    findings: tuple[Finding, ...]
    """What is wrong, the first `MAX_LISTED`."""
    counts: dict[str, int]
    """How often each kind was found."""
    mended: int = 0
    """Findings that were mended before this was looked at; in a dry run, that would be."""
    dry_run: bool = False
    """Whether nothing was mended, though that was asked about."""
    notes: tuple[str, ...] = ()
    """What could not be looked at, in sentences."""

    @property
    def is_clean(self) -> bool:
        """Whether nothing is wrong; what is only untidy does not count."""
        return all(each.level == "untidy" for each in self.findings)


class Findings:
    """Collects findings, bounds how many are kept, and knows what is to be made again."""

    def __init__(self) -> None:
        """Have none."""
        self._kept: list[Finding] = []
        self.counts: Counter[str] = Counter()
        """How often each kind was found."""
        self.mendable = 0
        """How many of them `MEND` mends."""
        self.documents: dict[Tier, dict[int, set[FindingKind]]] = {tier: {} for tier in TIERS}
        """Documents of which something is to be made again, per tier, each with what is wrong."""
        self.indexes: set[Tier] = set()
        """Tiers whose word index is wrong as a whole."""
        self.notes: list[str] = []
        """What could not be looked at, in sentences."""

    def fault(
        self,
        what: FindingKind,
        where: str,
        tier: Tier,
        says: str,
        *,
        document: int | None = None,
    ) -> None:
        """Add something that `MEND` makes again: of one document, or of a tier."""
        if document is not None:
            self.documents[tier].setdefault(document, set()).add(what)
        self.add(what, where, tier, "fault", says, MEND)

    def index_fault(self, where: str, tier: Tier, says: str) -> None:
        """Add that the word index of a tier is wrong as a whole."""
        self.indexes.add(tier)
        self.fault("words", where, tier, says)

    def add(
        self, what: FindingKind, where: str, tier: Tier | None, level: Level, says: str, mend: str
    ) -> None:
        """Add one; what is worse takes the place of what is untidy when there are too many."""
        self.counts[what] += 1
        self.mendable += MEND in mend
        finding = Finding(what, where, tier, level, says, mend)
        if len(self._kept) < MAX_LISTED:
            self._kept.append(finding)
        elif level != "untidy":
            for at, other in enumerate(self._kept):
                if other.level == "untidy":
                    self._kept[at] = finding
                    break

    @property
    def listed(self) -> tuple[Finding, ...]:
        """The findings, those of texts first."""
        order = ("damage", "fault", "untidy")
        return tuple(sorted(self._kept, key=lambda each: order.index(each.level)))
