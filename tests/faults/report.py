"""What a long fault run is given, and the row it adds to the table in `docs/reliability.md`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HEAD = (
    "| What is done | Command | Trials | Result | Control |",
    "|--------------|---------|-------:|--------|---------|",
)


@dataclass(frozen=True, slots=True)
class Torture:
    """How long and where a harness works."""

    points: int
    """Trials to aim at over all workloads of a harness: kills, power cuts, steps."""
    minutes: float
    """When to stop at the latest, however many trials are done by then."""
    seed: int
    """Everything that is chosen at random is chosen by it."""
    folder: Path
    """An empty folder for whatever the harness makes; the caller removes it."""


@dataclass(frozen=True, slots=True)
class Figure:
    """What one workload of a harness came to."""

    name: str
    """What was done, for example `kill -9 while storing`."""
    trials: int
    """How often."""
    result: str
    """What was found, in figures, for example `0 lost, 0 twice, 0 torn, 0 corrupt`."""
    control: str
    """What the same judge found where the protection was taken away; `-` where there is none."""
    holds: bool = True
    """Whether the promise held, and the control failed as it must."""


def row(harness: str, figure: Figure) -> str:
    """Write a figure as a row of the table."""
    cells = (
        figure.name if figure.holds else f"**FAILED** {figure.name}",
        f"`scripts/torture {harness}`",
        f"{figure.trials:,}",
        figure.result,
        figure.control,
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
