"""Import a folder of notes: in batches, resumable, the same run twice adds nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from ringwood.engine.base import Engine
from ringwood.text.clean import clean
from ringwood.text.redact import redact
from ringwood.write import notes
from ringwood.write.draft import Draft, Ingested, Intake, sha256_of
from ringwood.write.ingest import ingest
from ringwood.write.moved import find_moved, is_gone
from ringwood.write.notes import NoteFile, NoteOptions, Skipped
from ringwood.write.wiki import Linked, relink

BATCH_FILES = 32
"""Files per transaction: a Ctrl-C loses at most these, and the next run takes them up."""
BATCH_CHARS = 400_000
"""Characters per transaction, so that others get their turn at writing."""

ABSENT = "holds no notes now: what came from it is kept"
"""Said of a folder that is there and empty, from which documents came."""


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """What to import, and how."""

    paths: Sequence[Path]
    """Files and folders."""
    space: str
    """Where the notes belong."""
    intake: Intake
    """How they are taken in."""
    since: datetime | None = None
    """Only files changed since then. UTC."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import came to."""

    changed: int
    """Documents that are new or changed."""
    documents: tuple[int, ...]
    """Their ids; in a dry run those of changed ones only."""
    unchanged: int
    """Files whose text was there already."""
    forgotten: int
    """Files that a tombstone keeps out."""
    skipped: tuple[Skipped, ...]
    """Files that were not taken, and why."""
    gone: tuple[int, ...]
    """Documents whose file is no longer in the imported folders."""
    redacted: int
    """Secrets masked."""
    repaired: int
    """Characters replaced."""
    links: Linked = field(default_factory=Linked)
    """Links between the notes; none are looked at when nothing changed."""


def import_notes(
    engine: Engine,
    plan: ImportPlan,
    options: NoteOptions,
    on_file: Callable[[int, int], None] = lambda done, total: None,
) -> Imported:
    """Read files and store those that are new or changed.

    Args:
        engine: where to.
        plan: what, and how.
        options: limits of reading.
        on_file: told after each batch how many of how many files were read.

    Raises:
        UsageError: when a path does not exist.
        StorageError: when the disk refuses; earlier batches are stored.
    """
    found = list(notes.find(plan.paths))
    files = [each for each in found if isinstance(each, NoteFile)]
    skipped = [each for each in found if isinstance(each, Skipped)]
    gone, absent = _gone(engine, plan, {notes.source_key(file.path) for file in files})
    skipped += [Skipped(str(path), ABSENT) for path in absent]
    new = _new(engine, plan, files)
    moved = _moved(engine, plan, options, new, gone)
    lost = _lost(engine, plan, gone) if new else set()
    outcomes: list[Ingested] = []
    batch: list[Draft] = []

    def flush(done: int) -> None:
        if batch:
            outcomes.extend(ingest(engine, _continued(engine, batch, lost), plan.intake))
            batch.clear()
        on_file(done, len(files))

    for number, file in enumerate(files, start=1):
        draft = notes.read(file, plan.space, options)
        if isinstance(draft, Skipped):
            skipped.append(draft)
        elif draft.source in moved:
            batch.append(replace(draft, replaces=moved[draft.source]))
        elif plan.since is None or (draft.fallback_at or plan.intake.now) >= plan.since:
            batch.append(draft)
        if len(batch) >= BATCH_FILES or sum(len(each.text) for each in batch) >= BATCH_CHARS:
            flush(number)
    flush(len(files))
    kinds = [each.outcome for each in outcomes]
    changed = kinds.count("new") + kinds.count("changed")
    links = Linked()
    if changed and not plan.intake.dry_run:
        links = relink(engine, plan.space, [_key_of(path) for path in plan.paths])
    return Imported(
        changed=changed,
        documents=tuple(
            each.document
            for each in outcomes
            if each.document is not None and each.outcome in ("new", "changed")
        ),
        unchanged=kinds.count("existing"),
        forgotten=kinds.count("forgotten"),
        skipped=tuple(skipped),
        gone=tuple(each for each in gone.values() if each not in moved.values()),
        redacted=sum(each.redacted for each in outcomes),
        repaired=sum(each.repaired for each in outcomes),
        links=links,
    )


def _key_of(path: Path) -> str:
    """Return what the source keys of all that lies at a path begin with."""
    key = notes.source_key(path.resolve())
    return f"{key.rstrip('/')}/" if path.is_dir() else key


def _gone(
    engine: Engine, plan: ImportPlan, present: set[str]
) -> tuple[dict[str, int], tuple[Path, ...]]:
    """Find documents that came from an imported folder and whose file is there no more.

    A folder that is missing as a whole never gets here: `notes.find` refuses it. One in which there
    is nothing left is what a drive leaves behind that is not mounted: of it nothing is gone, and it
    is returned apart.
    """
    gone: dict[str, int] = {}
    absent: list[Path] = []
    with engine.reading() as reader:
        for path in plan.paths:
            if not path.is_dir():
                continue
            below = _key_of(path)
            known = reader.sources(plan.space, below)
            if known and not any(source.startswith(below) for source in present):
                absent.append(path)
                continue
            gone |= {
                source: document
                for source, document in known.items()
                if source not in present and is_gone(source)
            }
    return gone, tuple(absent)


def _new(engine: Engine, plan: ImportPlan, files: Sequence[NoteFile]) -> list[NoteFile]:
    """Choose the files that no document came from yet."""
    with engine.reading() as reader:
        return [
            file
            for file in files
            if reader.document_by_source(plan.space, notes.source_key(file.path)) is None
        ]


def _moved(
    engine: Engine,
    plan: ImportPlan,
    options: NoteOptions,
    new: Sequence[NoteFile],
    gone: Mapping[str, int],
) -> dict[str, int]:
    """Find the documents of files that were renamed or moved, by their new source key."""
    if not gone:
        return {}
    with engine.reading() as reader:
        before = {source: reader.text_of(document) for source, document in gone.items()}
    drafts = [notes.read(file, plan.space, options) for file in new]
    after = {
        draft.source: draft.text
        for draft in drafts
        if isinstance(draft, Draft) and draft.source is not None
    }
    return {new: gone[old] for new, old in find_moved(before, after).items()}


def _lost(engine: Engine, plan: ImportPlan, gone: Mapping[str, int]) -> set[int]:
    """Find documents of other folders whose file is gone: of a vault that moved, of a worktree.

    It looks for the file of every document of the space: only where a new file may continue one.
    """
    with engine.reading() as reader:
        known = reader.sources(plan.space, "/")
    return {
        document for source, document in known.items() if source not in gone and is_gone(source)
    }


def _continued(engine: Engine, drafts: Sequence[Draft], lost: set[int]) -> list[Draft]:
    """Let drafts continue lost documents of the very same text, each once: nothing is there twice.

    Which were continued is taken out of `lost`.
    """
    if not lost:
        return list(drafts)
    continued = []
    with engine.reading() as reader:
        for draft in drafts:
            twin = None
            if draft.replaces is None and draft.source is not None:
                digest = sha256_of(redact(clean(draft.text)[0])[0])
                twin = reader.document_by_hash(draft.space, digest)
            is_known = (
                draft.source is not None
                and reader.document_by_source(draft.space, draft.source) is not None
            )
            if twin is None or is_known or twin.id not in lost:
                continued.append(draft)
                continue
            lost.remove(twin.id)
            continued.append(replace(draft, replaces=twin.id))
    return continued
