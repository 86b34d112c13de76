"""Bring the mirror up to date: write the pages of many documents, then tell the database at once.

    note whose pages are written -> write them, without any lock -> one transaction: they are there

A transaction takes the writers' gate and waits for the disk, so those who store wait behind it. One
tells of a whole batch, which is bounded by count and by time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import monotonic

from ringwood.engine.base import Engine, Reader, Writer
from ringwood.errors import BusyError, StorageError
from ringwood.types import TIERS, Document
from ringwood.write import mirror
from ringwood.write.page import Page, write_page

MOST_PAGES = 32
"""Pages in one transaction at most: to look at so many takes about as long as to store one text."""
MOST_S = 0.5
"""After so many seconds of writing a batch ends: a page takes two syncs, and a disk may be slow."""
GIVE_UP = 3
"""Pages that fail in a row before the folder itself is taken to be at fault."""

Outcomes = dict[int, StorageError | None]
"""Why a page could not be written, by the id of its document, in the order in which they were
tried; None: it was, or need not be any more."""


@dataclass(frozen=True, slots=True)
class _Written:
    """A page that is there, and that the database knows nothing of."""

    document: Document
    """As it was read for the page."""
    file: str
    """Relative to the mirror."""


def refresh(engine: Engine, root: str, *, limit: int = 1000) -> int:
    """Write every document that the mirror does not hold yet; return how many it holds now.

    Raises:
        StorageError: when one cannot be written, after the others were. The memory itself is not
            touched by that.
    """
    mirror.remove_drafts(root)
    with engine.reading() as reader:
        waiting = reader.unmirrored(limit)
    done: Outcomes = {}
    while left := [each for each in waiting if each.id not in done]:
        done |= write_pages(engine, root, left[:MOST_PAGES], give_up=MOST_PAGES)
    for error in filter(None, done.values()):
        raise error
    with engine.reading() as reader:
        missing = {each.id for each in reader.unmirrored(limit)}
    return sum(each.id not in missing for each in waiting)


def write_pages(
    engine: Engine,
    root: str,
    documents: Sequence[Document],
    *,
    give_up: int = GIVE_UP,
    on_page: Callable[[], None] = lambda: None,
) -> Outcomes:
    """Write the pages of documents, as many as there is time for, and tell the database of them.

    Whether a document still stands is asked again under the write lock, after its page was written:
    what was forgotten in between leaves no page.

    Args:
        engine: where the documents lie.
        root: folder of the mirror.
        documents: whose pages; the caller bounds how many.
        give_up: pages that fail in a row before no other is tried.
        on_page: called before each page; may raise to stop, and what was written is told first.

    Raises:
        StorageError: when the hot tier cannot be written.
    """
    if not documents:
        return {}
    with engine.writing() as writer:
        notes = mirror.note_pages(writer, documents)
    outcomes: Outcomes = {}
    written: list[_Written] = []
    try:
        for document in _in_time(documents):
            on_page()
            try:
                written += _write(engine, root, document)
                outcomes[document.id] = None
            except BusyError:
                raise
            except StorageError as error:
                outcomes[document.id] = error
            if is_hopeless(outcomes, give_up):
                break
    finally:
        outcomes |= _tell(engine, root, notes, written)
    return outcomes


def is_hopeless(outcomes: Outcomes, give_up: int = GIVE_UP) -> bool:
    """Say whether the last of these pages failed in a row, as many as one gives up after."""
    last = list(outcomes.values())[-give_up:]
    return len(last) == give_up and None not in last


def _in_time(documents: Sequence[Document]) -> Iterator[Document]:
    """Yield the first, and others until time is up."""
    end = monotonic() + MOST_S
    for number, document in enumerate(documents):
        if number and monotonic() > end:
            return
        yield document


def _write(engine: Engine, root: str, document: Document) -> list[_Written]:
    """Write one page; an empty list when its document was changed or forgotten meanwhile."""
    target = mirror.mirror_path(document)
    with engine.reading() as reader:
        read = reader.document(document.id)
        if read is None or mirror.mirror_path(read) != target:  # of its path nothing is noted
            return []
        page = page_of(reader, read)
        stale = reader.mirrored_path(document.id)
    mirror.write_file(root, target, write_page(page))
    if stale is not None and stale != target:
        mirror.remove_file(root, stale)
    return [_Written(read, target)]


def page_of(reader: Reader, document: Document) -> Page:
    """Read what the mirror is to hold of a document.

    Raises:
        KeyError: when it is gone.
    """
    return Page(
        document=document,
        text=reader.text_of(document.id),
        key=reader.spaces().get(document.space),
        exchange=any(node.actor for node in reader.nodes_of(document.id)),
    )


def _tell(engine: Engine, root: str, notes: Sequence[str], written: Sequence[_Written]) -> Outcomes:
    """Record which pages are there, one transaction per tier, and drop the notes with the last.

    Returns:
        Why a page could not be told of.
    """
    refused: Outcomes = {}
    for tier in reversed(TIERS):  # hot last: a note goes when all that it is for is done
        pages = [each for each in written if each.document.tier == tier]
        if not pages and tier != "hot":
            continue
        try:
            with engine.writing(tier) as writer, engine.reading() as reader:
                for page in pages:
                    try:
                        _tell_of(writer, reader, root, page)
                    except StorageError as error:
                        refused[page.document.id] = error
                if tier == "hot":
                    mirror.drop_notes(writer, notes)
        except BusyError:
            raise
        except StorageError as error:
            if tier == "hot":
                raise
            refused |= {page.document.id: error for page in pages}
    return refused


def _tell_of(writer: Writer, reader: Reader, root: str, page: _Written) -> None:
    current = reader.document(page.document.id)
    if current is None or (current.sha256, current.path) != (
        page.document.sha256,
        page.document.path,
    ):
        mirror.remove_file(root, page.file)
    elif mirror.is_there(root, page.file):  # else who began to forget the document was here
        writer.set_mirrored(current.id, current.sha256, page.file)
