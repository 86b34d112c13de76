"""Pages of the mirror that the database is wrong about: left by who died in the middle.

A page is written before the database says that it is there, and removed before it says that it is
gone. Whoever dies in between leaves a page that no document has, once its text is forgotten, merged
or moved, or a document without its page. So both are noted before, by digests, and who opens the
home next looks at what is noted.
"""

from __future__ import annotations

from ringwood.engine.base import Engine, Reader
from ringwood.write import mirror
from ringwood.write.mirrored import mirror_files, read_mirrored
from ringwood.write.page import PageError


def settle_pages(engine: Engine, root: str) -> None:
    """Bring database and mirror together where somebody who was at a page died.

    While a tier is missing all stays as it is: nobody knows what it holds.

    Raises:
        StorageError: when a folder cannot be read, or the disk refuses.
    """
    with engine.reading() as reader:
        notes = [each.item for each in reader.under_way(mirror.PAGE)]
        missing = reader.missing_tiers
    if not notes or missing:
        return
    identities, keys = zip(*(note.split(":")[:2] for note in notes), strict=True)
    for file in [each for each in mirror_files(root) if mirror.page_key(each) in keys]:
        with engine.writing(), engine.reading() as reader:  # nobody takes it over meanwhile
            if _is_stray(reader, root, file):
                mirror.remove_file(root, file)
    for identity in map(int, identities):
        _miss(engine, root, identity)
    with engine.writing() as writer:
        writer.drop_attempts(mirror.PAGE, notes)


def _miss(engine: Engine, root: str, identity: int) -> None:
    """Have a document's page written again where it is not there."""
    with engine.reading() as reader:
        document = reader.document(identity)
    if document is None:
        return
    with engine.writing(document.tier) as writer, engine.reading() as reader:
        file = reader.mirrored_path(identity)
        if file is not None and not mirror.is_there(root, file):
            writer.set_mirrored(identity, "", file)


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
