"""Whether a home holds what was promised: every acknowledged text once, whole, and findable.

The judge opens the home in a process of its own, as the person's next command does, and asks
through `Memory`. What no public call shows is read from the files: SQLite's own checks, copies of a
document in two tiers, words and vectors without their node, files that nobody will ever remove.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import apsw
from tests.faults.log import Log, lines_of
from tests.faults.workloads import HOME, WAIT_S, named

from ringwood.errors import HomeError
from ringwood.memory import Memory
from ringwood.types import Document

PROBLEMS = "problems"
"""The file in a trial's folder that takes what was found wrong."""
FILES = ("memory.db", "memory-warm.db", "memory-cold.db")

HARM = ("lost", "twice", "torn", "corrupt", "back")
"""What may never be found."""

_TWO_HOURS = 7200
_TICK_S = 0.1
_FOLLOW_S = 30.0
_DRAFT = re.compile(r"\.(new|tmp|part)$|^\.ringwood-draft-|-journal$|^restoring-")


@dataclass(slots=True)
class Promise:
    """What may be found of one key. Mutable: the log is read line by line."""

    whole: bool
    """Whether the text is a document of its own."""
    may_be: set[str | None] = field(default_factory=lambda: {None})
    """Texts, any of which is right; None: it is right that it is not there."""
    copies: int = 1
    """How many documents may hold it."""
    forgotten: bool = False
    """Whether it was acknowledged that it is gone."""


def promises(trial: Path) -> dict[str, Promise]:
    """Say what may be found, by the log of a trial."""
    found: dict[str, Promise] = {}
    for what, key, text, whole, copies in lines_of(trial):
        if what not in ("begin", "done"):
            continue
        promise = found.setdefault(key, Promise(whole))
        promise.copies = copies
        if what == "done":
            promise.may_be = {text}
            promise.forgotten = text is None
        else:
            promise.may_be.add(text)
    return found


def judge(name: str, trial: str) -> None:
    """Write down what is wrong with the home of a trial, `kind: what` per line; none is well."""
    problems = list(_judge(name, Path(trial)))
    Path(trial, PROBLEMS).write_text(json.dumps(problems), "utf-8")


def found_in(trial: Path) -> list[str]:
    """Read what the judge found; that it found nothing out is a problem, too."""
    try:
        problems: list[str] = json.loads((trial / PROBLEMS).read_text("utf-8"))
    except FileNotFoundError:
        return ["broken: the home cannot be judged"]
    return problems


def _judge(name: str, trial: Path) -> Iterator[str]:
    workload, home = named(name), trial / HOME
    yield from _torn_files(home)
    yield from workload.check(trial)
    _let_time_pass(trial)
    promised = promises(trial)
    try:
        with Memory.open(home, wait_s=WAIT_S) as memory:
            memory.create()
            # What was captured is promised to be kept, not to be stored already.
            stored = {key: each for key, each in promised.items() if each.whole}
            yield from _compared(_texts(memory), stored)
            log = Log(trial)
            workload.finish(memory, log, trial)
            log.close()
            memory.rotate()
            _let_follow(memory)
            texts, promised = _texts(memory), promises(trial)
            yield from _compared(texts, promised)
            yield from _recalled(memory, texts, promised)
            yield from _caught_up(memory, texts)
            yield from (f"verify: {each.says}" for each in memory.verify().findings)
            yield from _kept_out(memory, promised)
    except HomeError as error:
        yield f"corrupt: {error.message}"
        return
    yield from _at_rest(home)
    yield from (f"left over: {path.name}" for path in trial.rglob("*") if _DRAFT.search(path.name))


def _let_follow(memory: Memory) -> None:
    """Give vectors and mirror time, also for a second attempt at what failed before."""
    until = time.monotonic() + _FOLLOW_S
    while time.monotonic() < until:
        memory.recall("heron", counted=False)  # any question sets it going
        memory.wait(WAIT_S)
        if not memory.missing_vectors() and not memory.stats().unmirrored:
            break
        time.sleep(_TICK_S)


def _let_time_pass(trial: Path) -> None:
    """Make drafts as old as they are when nobody writes them any more."""
    long_ago = time.time() - _TWO_HOURS
    for draft in [*trial.rglob("*.new")]:
        for path in (draft, *draft.rglob("*")):
            os.utime(path, (long_ago, long_ago))


Texts = Mapping[Document, str]
"""Every document that a reader sees, with its text."""


def _texts(memory: Memory) -> dict[Document, str]:
    documents = memory.recent(limit=100_000)
    return {each: memory.read(f"{each.space}:{each.path}").source for each in documents}


def _compared(texts: Texts, promised: Mapping[str, Promise]) -> Iterator[str]:
    """Compare what is there with what was promised."""
    for document, text in texts.items():
        if hashlib.sha256(text.encode()).hexdigest() != document.sha256:
            yield f"torn: {document.path} is not what its digest says"
    for key, promise in promised.items():
        holding = [text for text in texts.values() if key in text]
        if not holding and None not in promise.may_be:
            yield f"lost: {key}"
        elif len(holding) > promise.copies:
            yield f"twice: {key} is in {len(holding)} documents"
        elif holding and not _is_among(holding[0], promise):
            kind = "back" if promise.forgotten else "torn"
            yield f"{kind}: {key} is there as nobody left it"


def _is_among(text: str, promise: Promise) -> bool:
    if promise.whole:
        return text in promise.may_be
    return any(each is not None and text.count(each) == 1 for each in promise.may_be)


def _recalled(memory: Memory, texts: Texts, promised: Iterable[str]) -> Iterator[str]:
    """Ask for every text by the word that only it holds."""
    for key in promised:
        holders = {str(d.id) for d, text in texts.items() if key in text}
        hits = memory.recall(key, counted=False).hits
        if {hit.document for hit in hits[:1]} - holders or (holders and not hits):
            yield f"unfindable: {key}"
        if len({hit.address for hit in hits}) < len(hits):
            yield f"twice: a recall of {key} shows a node twice"


def _caught_up(memory: Memory, texts: Texts) -> Iterator[str]:
    """Ask whether vectors and mirror have followed."""
    stats = memory.stats()
    if memory.missing_vectors():
        yield f"vectors: {memory.missing_vectors()} nodes have none"
    states = Counter(document.state for document in texts)
    if set(states) - {"ready"}:
        yield f"vectors: documents are {dict(states)}"
    if stats.unmirrored:
        yield f"mirror: {stats.unmirrored} documents are not in it"
    pages = list(Path(memory.home, "mirror").rglob("*.md"))
    if len(pages) != len(texts):
        yield f"mirror: {len(pages)} files for {len(texts)} documents"
    if stats.spooled or stats.set_aside:
        yield f"spool: {stats.spooled} events wait, {len(stats.set_aside)} were set aside"


def _kept_out(memory: Memory, promised: Mapping[str, Promise]) -> Iterator[str]:
    """Try to bring back what was forgotten."""
    for key, promise in promised.items():
        if promise.forgotten:
            again = memory.store(f"# Note {key}\n\nAgain.", source=key)
            if again.state != "forgotten":
                yield f"back: {key} was let in again"


# -- the files -------------------------------------------------------------------------------------


def _torn_files(home: Path) -> Iterator[str]:
    """Look for a page of the mirror that is not whole, as the crash left it."""
    for page in (home / "mirror").rglob("*.md"):
        _, _, rest = page.read_text("utf-8").partition("---\n")
        head, _, text = rest.partition("---\n")
        digest = hashlib.sha256(text.encode()).hexdigest()
        if f'sha256: "{digest}"' not in head:
            yield f"torn: the mirror's {page.name}"


_CHECKS = {
    "PRAGMA quick_check": [("ok",)],
    "PRAGMA foreign_key_check": [],
    "PRAGMA journal_mode": [("wal",)],
    "SELECT id FROM nodes WHERE length > 0 EXCEPT SELECT id FROM words_docsize": [],
    "SELECT id FROM words_docsize EXCEPT SELECT id FROM nodes": [],
    "SELECT node FROM vectors EXCEPT SELECT id FROM nodes": [],
    "SELECT node, embedder FROM vectors GROUP BY 1, 2 HAVING count(*) > 1": [],
    """SELECT s.name FROM spaces s WHERE s.nodes <> (SELECT count(*) FROM nodes n
        WHERE n.space = s.number)""": [],
    "SELECT id FROM documents EXCEPT SELECT document FROM nodes": [],
}
"""What each file answers when all is well."""


def _at_rest(home: Path) -> Iterator[str]:
    """Check the files by themselves, closed as they are now."""
    for file in FILES:
        with closing(apsw.Connection(str(home / file))) as connection:
            for query, well in _CHECKS.items():
                answer = connection.execute(query).fetchall()
                if answer != well:
                    yield f"corrupt: {file}: {' '.join(query.split())}: {answer[:3]}"
    copies = _copies(home)
    yield from (f"twice: document {i} lies in {n} tiers" for i, n in copies.items() if n > 1)


def judge_copies(name: str, trial: str) -> None:
    """Judge as a reader would who takes every copy of a document for a document."""
    where = _copies(Path(trial, HOME))
    problems = [f"twice: document {i}" for i, count in where.items() if count > 1]
    Path(trial, PROBLEMS).write_text(json.dumps(problems), "utf-8")


def _copies(home: Path) -> Counter[int]:
    """Count the tiers that a document lies in."""
    where: Counter[int] = Counter()
    for file in FILES:
        with closing(apsw.Connection(str(home / file))) as connection:
            where.update(row[0] for row in connection.execute("SELECT id FROM documents"))
    return where


def is_harm(problem: str) -> bool:
    """Say whether a text came to harm, as against something that only lags behind."""
    return problem.partition(":")[0] in HARM


def kinds(problems: Sequence[str]) -> Counter[str]:
    """Count what was found, by kind."""
    return Counter(problem.partition(":")[0] for problem in problems)
