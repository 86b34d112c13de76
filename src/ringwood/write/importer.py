"""Import a folder of notes: in batches, resumable, the same run twice adds nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ringwood.engine.base import Engine
from ringwood.write import notes
from ringwood.write.draft import Draft, Ingested, Intake
from ringwood.write.ingest import ingest
from ringwood.write.notes import NoteFile, NoteOptions, Skipped

BATCH_FILES = 32
"""Files per transaction: a Ctrl-C loses at most these, and the next run takes them up."""
BATCH_CHARS = 400_000
"""Characters per transaction, so that others get their turn at writing."""


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
    outcomes: list[Ingested] = []
    batch: list[Draft] = []

    def flush(done: int) -> None:
        if batch:
            outcomes.extend(ingest(engine, batch, plan.intake))
            batch.clear()
        on_file(done, len(files))

    for number, file in enumerate(files, start=1):
        draft = notes.read(file, plan.space, options)
        if isinstance(draft, Skipped):
            skipped.append(draft)
        elif plan.since is None or (draft.fallback_at or plan.intake.now) >= plan.since:
            batch.append(draft)
        if len(batch) >= BATCH_FILES or sum(len(each.text) for each in batch) >= BATCH_CHARS:
            flush(number)
    flush(len(files))
    kinds = [each.outcome for each in outcomes]
    return Imported(
        changed=kinds.count("new") + kinds.count("changed"),
        documents=tuple(
            each.document
            for each in outcomes
            if each.document is not None and each.outcome in ("new", "changed")
        ),
        unchanged=kinds.count("existing"),
        forgotten=kinds.count("forgotten"),
        skipped=tuple(skipped),
        gone=_gone(engine, plan, {notes.source_key(file.path) for file in files}),
        redacted=sum(each.redacted for each in outcomes),
        repaired=sum(each.repaired for each in outcomes),
    )


def _gone(engine: Engine, plan: ImportPlan, present: set[str]) -> tuple[int, ...]:
    """List documents that came from an imported folder and whose file is there no more.

    A folder that is missing as a whole never gets here: `find` refuses it.
    """
    with engine.reading() as reader:
        return tuple(
            document
            for path in plan.paths
            if path.is_dir()
            for source, document in reader.sources(
                plan.space, notes.source_key(path.resolve()).rstrip("/") + "/"
            ).items()
            if source not in present and _is_gone(source)
        )


def _is_gone(source: str) -> bool:
    """Say whether a file is there no more, as against a file that cannot be seen just now."""
    try:
        Path(source).lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False
