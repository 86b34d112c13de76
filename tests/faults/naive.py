"""Negative controls: the same work with the protection taken away. Each of them must be found out.

A control is prepared and judged as the workload that it is a control of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import apsw
from tests.faults import judge
from tests.faults.log import Log
from tests.faults.workloads import HOME, WORKLOADS, with_memory

from ringwood.config import Config
from ringwood.engine.placement import Move, TierDates
from ringwood.engine.sqlite import moves, open_engine
from ringwood.engine.sqlite.connection import connect, transaction
from ringwood.engine.sqlite.schema import migrate
from ringwood.engine.sqlite.words import content_of
from ringwood.types import Tier
from ringwood.write.nodes import terms_of

_BATCH = 2
_FILES: dict[Tier, str] = dict(zip(("hot", "warm", "cold"), judge.FILES, strict=True))


class EagerLog(Log):
    """Acknowledges before anything is done."""

    def begin(self, key: str, text: str | None, *, whole: bool = True, copies: int = 1) -> None:
        """Say at once that it is done."""
        self.done(key, text, whole=whole, copies=copies)


@dataclass(frozen=True, slots=True)
class Control:
    """Work that loses something where a kill falls well."""

    like: str
    """The workload that it is prepared and judged as."""
    run: Callable[[Path], None]
    """What it does in the folder of a trial."""
    shown_by: str
    """The kind of call at some of which a kill loses something; which ones shifts with the code."""
    judge: Callable[[str, str], None] = judge.judge
    """Who judges it."""


def run(name: str, trial: str) -> None:
    """Do the work of a control."""
    CONTROLS[name].run(Path(trial))


def _eagerly(name: str, trial: Path) -> None:
    workload = WORKLOADS[name]
    with_memory(workload.run, trial, workload.embedder, EagerLog)


def _plainly(name: str, trial: Path) -> None:
    workload = WORKLOADS[name]
    with_memory(workload.run, trial, workload.embedder)


# -- moving ----------------------------------------------------------------------------------------


def _due(home: Path) -> Iterator[tuple[Tier, list[Move]]]:
    """List what is to be moved out of the hot tier, in small batches."""
    ages, now = Config().tiers, datetime.now(UTC)
    dates = TierDates(now - timedelta(days=ages.hot_days), now - timedelta(days=ages.warm_days))
    engine = open_engine(home, create=False)
    try:
        found = engine.misplaced(dates)
        with engine.reading() as reader:
            cards = reader.documents([each.document for each in found])
            terms = {i: terms_of(reader.nodes_of(i)) for i in cards}
    finally:
        engine.close()
    for tier in ("warm", "cold"):
        going = [each.document for each in found if each.due == tier]
        batch = [Move(i, cards[i].sha256, terms[i]) for i in going]
        for start in range(0, len(batch), _BATCH):
            yield tier, batch[start : start + _BATCH]


@contextmanager
def _committed(*connections: apsw.Connection) -> Iterator[None]:
    with transaction(connections[0], timeout_s=1.0):
        yield


def _delete_first(trial: Path) -> None:
    """Delete and commit at the source, then insert at the destination."""
    home = trial / HOME
    due = list(_due(home))
    with closing(connect(home / _FILES["hot"])) as hot:
        for tier, batch in due:
            with (
                closing(apsw.Connection(":memory:")) as held,
                closing(connect(home / _FILES[tier])) as target,
            ):
                migrate(held, 0)
                with _committed(hot):
                    for move in batch:
                        moves.copy_document(hot, held, move, vectors=True)
                        moves.remove_document(hot, move.document)
                with _committed(target):
                    for move in batch:
                        moves.copy_document(held, target, move, vectors=True)


def _attach(trial: Path) -> None:
    """Move in one transaction over attached files."""
    home = trial / HOME
    due = list(_due(home))
    with closing(connect(home / _FILES["hot"])) as hot:
        for tier in ("warm", "cold"):
            hot.execute(f"ATTACH ? AS {tier}", (str(home / _FILES[tier]),))
        for tier, batch in due:
            with _committed(hot):
                for move in batch:
                    _carry(hot, tier, move)


def _carry(hot: apsw.Connection, tier: Tier, move: Move) -> None:
    """Copy a document's rows into an attached file, and delete it in hot."""
    which = (move.document,)
    space = hot.execute("SELECT space FROM documents WHERE id = ?", which).get
    lengths = [len(terms) for terms in move.terms.values()]
    hot.execute(
        f"INSERT OR IGNORE INTO {tier}.spaces (number, name) SELECT number, name FROM main.spaces"
    )
    hot.execute(
        f"UPDATE {tier}.spaces SET nodes = nodes + ?, length = length + ? WHERE number = ?",
        (len(lengths), sum(lengths), space),
    )
    hot.execute(f"INSERT INTO {tier}.documents SELECT * FROM main.documents WHERE id = ?", which)
    hot.execute(f"INSERT INTO {tier}.nodes SELECT * FROM main.nodes WHERE document = ?", which)
    hot.executemany(
        f"INSERT INTO {tier}.words (rowid, terms) VALUES (?, ?)",
        [(node, content_of(space, terms)) for node, terms in move.terms.items()],
    )
    hot.execute(f"INSERT OR IGNORE INTO {tier}.embedders SELECT * FROM main.embedders")
    hot.execute(
        f"INSERT INTO {tier}.vectors (node, embedder, space, script, digest, row)"
        " SELECT node, embedder, space, script, digest, row FROM main.vectors"
        " WHERE node IN (SELECT id FROM main.nodes WHERE document = ?)",
        which,
    )
    moves.remove_document(hot, move.document)


# -- the mirror ------------------------------------------------------------------------------------


def _write_in_place(trial: Path) -> None:
    """Write the mirror's files where they belong, a part at a time."""
    home = trial / HOME
    engine = open_engine(home, create=False)
    try:
        with engine.reading() as reader:
            pages = {d.path: (d.sha256, reader.text_of(d.id)) for d in reader.unmirrored(100)}
    finally:
        engine.close()
    for path, (digest, text) in pages.items():
        page = home / "mirror" / "global" / f"{path.strip('/')}.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        with page.open("wb", buffering=0) as file:
            file.write(f'---\nsha256: "{digest}"\n---\n'.encode())
            file.write(text.encode())


CONTROLS = {
    "acknowledged before it is stored": Control("store", partial(_eagerly, "store"), "fdatasync"),
    "acknowledged before it is imported": Control(
        "import", partial(_eagerly, "import"), "fdatasync"
    ),
    "acknowledged before it is captured": Control(
        "capture", partial(_eagerly, "capture"), "rename"
    ),
    "acknowledged before it is forgotten": Control(
        "forget", partial(_eagerly, "forget"), "fdatasync"
    ),
    "deleted, then inserted elsewhere": Control("rotate", _delete_first, "fdatasync"),
    "one transaction over attached files": Control("rotate", _attach, "fdatasync"),
    "every copy taken for a document": Control(
        "rotate", partial(_plainly, "rotate"), "fdatasync", judge.judge_copies
    ),
    "written in place": Control("mirror", _write_in_place, "write"),
}
"""By what is wrong with it."""
