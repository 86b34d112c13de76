"""Fill in the vectors of an embedder where nodes have none of it, a little at a time.

    documents that lack some -> texts -> equal texts' vectors, else the embedder -> one transaction

What recall compares is not touched, so it goes on. Everything can be cut short anywhere: what has a
vector is not embedded again, and a text that changed meanwhile is found again in the next round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby, islice

from ringwood.batches import in_batches
from ringwood.embed.meaning import Meaning
from ringwood.engine.base import Engine, FloatVector, Reader
from ringwood.errors import EmbedderError
from ringwood.lease import Lease
from ringwood.types import TIERS, Document, Tier
from ringwood.write.embedding import BATCH, embedded_texts, text_digest

SAVED = 64
"""Nodes of one transaction: a kill loses a few seconds of work, and a writer waits for little."""


@dataclass(frozen=True, slots=True)
class Lack:
    """A node without a vector, and what is to be embedded for it."""

    card: Document
    """Its document, as it was read."""
    node: int
    """Its id."""
    text: str
    """With its heading path."""
    digest: str
    """Of that text."""


class Filling:
    """Where one process stands in filling in one embedder. For one thread at a time."""

    def __init__(
        self,
        engine: Engine,
        meaning: Meaning,
        lease: Lease,
        tiers: Sequence[Tier] = TIERS,
    ) -> None:
        """Begin; nothing is read.

        Args:
            engine: the home's database.
            meaning: whose vectors.
            lease: the right to embed in this home, held for one step at a time.
            tiers: where nodes are to have vectors.
        """
        self._engine, self._meaning, self._lease, self._tiers = engine, meaning, lease, tiers
        self._after = 0
        self.embedded = 0
        """Nodes that got a vector from the embedder so far."""
        self.reused = 0
        """Nodes that got the vector of an equal text so far."""

    def step(self) -> bool | None:
        """Fill in some; None where another holds the lease, False at the end of a round.

        The step after that begins a new round: with what changed or came meanwhile.

        Raises:
            EmbedderError: when it takes none of some texts; those before it are kept.
            BusyError: when the write lock was not had in time.
            StorageError: when the disk refuses.
        """
        if not self._lease.try_acquire():
            return None
        try:
            return self._step()
        finally:
            self._lease.release()

    def _step(self) -> bool:
        identity = self._meaning.identity
        with self._engine.reading() as reader:
            documents = reader.lacking(identity, after=self._after, limit=SAVED, tiers=self._tiers)
            cards = reader.documents(documents)
            lacks = list(islice(self._lacks(reader, [cards[i] for i in documents]), SAVED))
            known = reader.vectors_by_digest(identity, [each.digest for each in lacks])
        if not lacks:
            self._after = 0
            return False
        new = self._embed({e.digest: e.text for e in lacks if e.digest not in known})
        rows = known | new
        saved = self._save([each for each in lacks if each.digest in rows], rows)
        fresh = min(saved, len(new))
        self.embedded += fresh
        self.reused += saved - fresh
        # When as many were found as fit, there may be more of the last document.
        self._after = lacks[-1].card.id - (len(lacks) == SAVED)
        return True

    def _lacks(self, reader: Reader, cards: Sequence[Document]) -> Iterator[Lack]:
        """Yield what lacks, document by document."""
        for card in cards:
            texts = embedded_texts(reader.nodes_of(card.id))
            there = reader.vectors(self._meaning.identity, texts)
            for node, text in texts.items():
                if node not in there:
                    yield Lack(card, node, text, text_digest(text))

    def _embed(self, texts: Mapping[str, str]) -> dict[str, FloatVector]:
        """Embed texts by digest, in batches; of a batch that fails, one by one.

        Raises:
            EmbedderError: when all of a batch fail.
        """
        rows: dict[str, FloatVector] = {}
        for batch in in_batches(texts, BATCH):
            try:
                rows |= self._rows(texts, batch)
            except EmbedderError as error:
                taken = self._one_by_one(texts, batch)
                if not taken:
                    raise error
                rows |= taken
        return rows

    def _one_by_one(self, texts: Mapping[str, str], batch: Sequence[str]) -> dict[str, FloatVector]:
        """Embed what the embedder takes: one text that it refuses does not stop the others."""
        rows: dict[str, FloatVector] = {}
        for digest in batch:
            with suppress(EmbedderError):
                rows |= self._rows(texts, [digest])
        return rows

    def _rows(self, texts: Mapping[str, str], batch: Sequence[str]) -> dict[str, FloatVector]:
        found = self._meaning.embedder.embed_passages([texts[digest] for digest in batch])
        return dict(zip(batch, found, strict=True))

    def _save(self, lacks: Sequence[Lack], rows: Mapping[str, FloatVector]) -> int:
        """Write vectors; return how many, without those of documents that changed meanwhile."""
        saved = 0
        by_tier = sorted(lacks, key=lambda each: TIERS.index(each.card.tier))
        for tier, some in groupby(by_tier, key=lambda each: each.card.tier):
            with self._engine.writing(tier) as writer:
                for card, nodes in groupby(some, key=lambda each: each.card):
                    digests = {each.node: each.digest for each in nodes}
                    found = {node: rows[digest] for node, digest in digests.items()}
                    if writer.put_vectors(
                        card.id,
                        card.sha256,
                        self._meaning.identity,
                        found,
                        digests,
                        (),
                        ready=False,
                    ):
                        saved += len(found)
        return saved
