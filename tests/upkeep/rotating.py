"""A process that rotates and is killed: `python rotating.py (rotate | naively) HOME`.

Says `go` on standard output when it begins.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from tests.upkeep.aged import NOW, rotated

from ringwood.engine.base import Engine, NodeWrite
from ringwood.engine.placement import TierDates
from ringwood.engine.sqlite import open_engine
from ringwood.upkeep.aging import rotate
from ringwood.write.nodes import terms_of


def move_naively(engine: Engine) -> None:
    """Move as nobody should: delete first, then insert. What the test must be able to see."""
    dates = TierDates(NOW - timedelta(days=30), NOW - timedelta(days=180))
    for each in engine.misplaced(dates):
        with engine.reading() as reader:
            card = reader.documents([each.document])[each.document]
            text, nodes = reader.text_of(card.id), reader.nodes_of(card.id)
        terms = terms_of(nodes)
        with engine.writing(each.tier) as writer:
            writer.delete_document(card.id)
        with engine.writing(each.due) as writer:
            writes = [NodeWrite(node, terms[node.id]) for node in nodes]
            writer.put_document(replace(card, tier=each.due), text, writes)


def main(how: str, home: str) -> None:
    """Rotate, one document in a transaction: as many moments to die in as there can be."""
    engine = open_engine(Path(home), create=False)
    rotate.BATCH_DOCUMENTS = 1
    sys.stdout.write("go\n")
    sys.stdout.flush()
    if how == "naively":
        move_naively(engine)
    else:
        rotated(engine)
    engine.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
