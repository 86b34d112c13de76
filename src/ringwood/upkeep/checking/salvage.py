"""Salvage: which tiers are broken, the new file of each, and putting these in the old ones' place.

All new files are made before the first is put in place; writers of the home wait meanwhile. What is
busy, full or unreadable for the moment raises, and nothing was changed: it is no damage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from ringwood.engine.checking import Standing
from ringwood.engine.sqlite.salvage import (
    Known,
    advance_counters,
    draft_path,
    drop_draft,
    gate_held,
    known_of,
    put_in_place,
)
from ringwood.errors import UsageError
from ringwood.home import MIRROR_FOLDER
from ringwood.types import TIERS, Tier
from ringwood.upkeep.checking.findings import Progress
from ringwood.upkeep.checking.look import Look
from ringwood.upkeep.checking.rebuild import Rebuilt, Rescue, largest, rebuild
from ringwood.upkeep.checking.verify import Verification


@dataclass(frozen=True, slots=True)
class Salvaged:
    """What a salvage came to, or would."""

    tiers: tuple[Rebuilt, ...]
    """What was made anew, coldest first."""
    notes: tuple[str, ...]
    """What a person has to know, in sentences."""
    dry_run: bool
    """Whether the new files were thrown away again."""


@dataclass(frozen=True, slots=True)
class SalvageTask:
    """Where to salvage, and how."""

    look: Look
    """What to look at, to see what is broken."""
    paths: Mapping[Tier, Path]
    """The files of the home."""
    now: datetime
    """The time. UTC."""
    words_only: bool = False
    """Whether the home, as far as it is told, goes by words alone."""
    on_progress: Progress = lambda what, done, total: None
    """Told what is done. May raise to stop: nothing is in place before all is made."""


def salvage(task: SalvageTask, tier: Tier | None, *, dry_run: bool, force: bool) -> Salvaged:
    """Make broken tiers anew.

    Args:
        task: where, and how.
        tier: which; None: every one that is broken.
        dry_run: make the new files and throw them away.
        force: one that is sound, too.

    Raises:
        UsageError: when there is nothing to salvage.
        SchemaError, BusyError, StorageError: as `verify`.
    """
    with gate_held(task.paths["hot"].parent):
        standing = {each: task.look.inspection.standing(each) for each in TIERS}
        chosen = _chosen(task, tier, standing, force=force)
        drafts = {each: draft_path(task.paths[each]) for each in chosen}
        try:
            built = _built(task, chosen, standing, drafts)
            if not dry_run:
                built = [_placed(task, each, drafts[each.tier]) for each in built]
                _advance(task, standing)
        finally:
            for draft in drafts.values():
                drop_draft(draft)
    return Salvaged(tuple(built), _notes(built, standing, chosen), dry_run)


def _chosen(
    task: SalvageTask, tier: Tier | None, standing: Mapping[Tier, Standing], *, force: bool
) -> Sequence[Tier]:
    """Say which tiers are to be made anew, coldest first."""
    if tier is not None:
        if not force and not _is_broken(task, tier, standing[tier]):
            raise UsageError(
                f"The {tier} tier is sound: there is nothing to salvage.",
                mend=f"ringwood salvage {tier} --force makes it anew all the same",
            )
        return (tier,)
    chosen = [each for each in reversed(TIERS) if _is_wanted(task, each, standing)]
    missing = [each for each in TIERS if standing[each] == "missing"]
    if not chosen and missing:
        raise UsageError(
            f"Nothing is broken, but the file of the {missing[0]} tier is not there.",
            mend=f"mount it or put it back; if it is gone for good: ringwood salvage {missing[0]}",
        )
    if not chosen:
        raise UsageError(
            "Every tier is sound: there is nothing to salvage.",
            mend="ringwood salvage TIER --force makes one anew all the same",
        )
    return chosen


def _is_wanted(task: SalvageTask, tier: Tier, standing: Mapping[Tier, Standing]) -> bool:
    """Say whether a tier that nobody named is to be made anew.

    A colder file that is not there may be on a disk that is not mounted; beside a hot file that is
    gone too, it is gone.
    """
    if standing[tier] == "missing" and tier != "hot":
        beside = task.paths[tier].parent == task.paths["hot"].parent
        return standing["hot"] == "missing" and beside
    return _is_broken(task, tier, standing[tier])


def _is_broken(task: SalvageTask, tier: Tier, standing: Standing) -> bool:
    if standing != "present":
        return True
    seen = Verification(replace(task.look, engine=None, mirror_root=None), task.on_progress)
    seen.look_at(tier)
    return any(each.level == "damage" for each in seen.findings.listed)


def _built(
    task: SalvageTask,
    chosen: Sequence[Tier],
    standing: Mapping[Tier, Standing],
    drafts: Mapping[Tier, Path],
) -> list[Rebuilt]:
    """Make the new files. What the mirror has and no tier goes to the last of them."""
    rest: dict[Tier, Known] = {
        each: known_of(task.paths[each])
        for each in TIERS
        if each not in chosen and standing[each] == "present"
    }
    complete = all(each in chosen or each in rest for each in TIERS)
    built = []
    for each in chosen:
        rescue = Rescue(
            tier=each,
            path=task.paths[each],
            mirror_root=str(Path(task.look.home) / MIRROR_FOLDER),
            rest=rest,
            take_all=complete and each == chosen[-1],
            words_only=task.words_only,
            parse=task.look.parse,
            on_progress=task.on_progress,
        )
        exists = standing[each] != "missing"
        made = rebuild(rescue, drafts[each], exists=exists)
        # Of files that are no pages, or are not used, one tier tells.
        built.append(made if each == chosen[-1] else replace(made, skipped=()))
        rest = {**rest, each: known_of(drafts[each])}
    return built


def _placed(task: SalvageTask, built: Rebuilt, draft: Path) -> Rebuilt:
    kept = put_in_place(draft, task.paths[built.tier], task.now)
    return replace(built, kept=None if kept is None else str(kept))


def _advance(task: SalvageTask, standing: Mapping[Tier, Standing]) -> None:
    """Let a hot tier that stayed as it is give no id that a new file gave."""
    if standing["hot"] == "present":
        known = [known_of(path) for path in task.paths.values() if path.is_file()]
        advance_counters(task.paths["hot"], largest(known))


def _notes(
    built: Sequence[Rebuilt], standing: Mapping[Tier, Standing], chosen: Sequence[Tier]
) -> tuple[str, ...]:
    notes = [
        f"The {tier} tier is not there, and nothing of it was taken from the mirror. If it is gone"
        f" for good, run `ringwood salvage {tier}`."
        for tier in TIERS
        if standing[tier] == "missing" and tier not in chosen
    ]
    hot = next((each for each in built if each.tier == "hot"), None)
    lost = hot is not None and (
        standing["hot"] == "missing" or {"tombstones", "everything"} & set(hot.unreadable)
    )
    if lost:
        notes.append(
            "What was forgotten is not in the mirror, and did not come back from it. But which"
            " texts and sources these were is known no more: an import or a back-fill that meets"
            " them again takes them in."
        )
    return tuple(notes)
