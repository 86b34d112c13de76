"""Pages of the mirror that no document has: left by who died, and not to be taken for another's.

A page is written before the database says that it is there. Whoever dies in between leaves it, and
if its text is forgotten, merged or moved then, nobody else knows of it. So what is being written is
noted before, by digests, and looked through by the next one who writes pages.
"""

from __future__ import annotations

from collections.abc import Set

from ringwood.engine.base import Engine, Reader
from ringwood.write import mirror
from ringwood.write.mirrored import mirror_files, read_mirrored
from ringwood.write.page import PageError


def remove_strays(engine: Engine, root: str) -> None:
    """Remove the pages that somebody who died was writing and that no document has.

    While a tier is missing they stay: nobody knows what it holds.

    Raises:
        StorageError: when a folder cannot be read, or the disk refuses.
    """
    with engine.reading() as reader:
        left = {each.item for each in reader.under_way(mirror.PAGE)}
        if not left or reader.missing_tiers:
            return
    for file in _named(root, left):
        with engine.writing(), engine.reading() as reader:  # nobody takes it over meanwhile
            if _is_stray(reader, root, file):
                mirror.remove_file(root, file)
    with engine.writing() as writer:
        writer.drop_attempts(mirror.PAGE, left)


def _named(root: str, keys: Set[str]) -> list[str]:
    return [file for file in mirror_files(root) if mirror.page_key(file) in keys]


def _is_stray(reader: Reader, root: str, file: str) -> bool:
    """Say whether a file is a page of ours, of a document that is gone or lies elsewhere."""
    try:
        identity = read_mirrored(root, file).document.id
    except PageError:
        return False
    document = reader.document(identity)
    if document is None:
        return True
    return file not in (mirror.mirror_path(document), reader.mirrored_path(identity))


def is_taken(reader: Reader, space: str, path: str) -> bool:
    """Say whether a document has this path now, and so the page that goes by it."""
    node = reader.resolve(space, path)
    found = reader.nodes([] if node is None else [node])
    cards = reader.documents(each.document for each in found.values())
    return any(card.path == path for card in cards.values())
