"""Reindexing: the home goes over to another embedder, at once or whenever somebody has time."""

from __future__ import annotations

import logging
from functools import partial
from time import monotonic, sleep

from ringwood.embed.base import Embedder
from ringwood.embed.choose import DEFAULT, Choice
from ringwood.errors import UsageError
from ringwood.memory.base import Opened
from ringwood.upkeep.dreaming.dream import Progress
from ringwood.upkeep.dreaming.merge import DREAM
from ringwood.upkeep.lease import holding
from ringwood.upkeep.slack import giving_back
from ringwood.upkeep.switching import reindex as upkeep
from ringwood.upkeep.switching.reindex import Plan, Reindex, Reindexed, Standing
from ringwood.write.remembered import remembered, wanted

_log = logging.getLogger(__name__)

NEW_TEXTS_S = 30.0
"""How long texts that were stored meanwhile may go first, before each step, seconds."""
ASK_AGAIN_S = 0.1
"""Pause before asking again for the right to embed, seconds."""


class Reindexing(Opened):
    """Goes over to another embedder while recall goes on."""

    @giving_back()
    def reindex(
        self,
        embedder: str | Embedder | None = None,
        *,
        dry_run: bool = False,
        drop_old: bool = False,
        on_nodes: Progress = lambda what, done, total: None,
    ) -> Reindexed:
        """Give every node a vector of another embedder, then let recall go by these.

        Stores and recalls go on meanwhile, by the old vectors. Safe to cut short and to give again:
        what was embedded is kept.

        Args:
            embedder: a name or an embedder. None: the one that is wanted already, else the one that
                was asked for when this was opened, else the home's own: filled in where it lacks,
                and anew where its model has changed.
            dry_run: embed nothing, only say how much there is to do.
            drop_old: in the end, delete the vectors of all other embedders.
            on_nodes: told what is done, and how many of how many nodes. May raise to stop.

        Raises:
            NoHomeError: when there is no home yet.
            UsageError: when there is no embedder of this name, or another one came to be wanted.
            EmbedderError: when it is not to be had, or takes nothing.
            StorageError: when the disk refuses.
        """
        asked = embedder if embedder is not None else self._meant()
        before = self._opened.choice().remembered.name
        target = self._opened.open_next(asked)
        way = self._way_to(target)
        taken_over = False
        try:
            if not dry_run and self._is_due(target):
                way.begin()
                self._go(way, on_nodes)
                self._opened.take_over(asked, target)
                taken_over = True
                self._opened.wake()  # what is pending is linked under the new one
        finally:
            if not taken_over and target.owned is not None:
                target.owned.close()
        dropped = upkeep.drop_others(self._opened.engine()) if drop_old and not dry_run else 0
        return self._report(way, before, dropped=dropped, dry_run=dry_run)

    def reindex_later(self, embedder: str) -> None:
        """Want an embedder; the resident process, or whoever calls `reindex_step`, fills it in.

        Raises:
            UsageError: when there is no embedder of this name.
            EmbedderError: when it is not to be had here.
        """
        opened = self._opened.embedder_named(embedder)
        if opened is not None:
            opened.close()
        upkeep.ask_for(self._opened.engine(), embedder)

    def reindex_step(self, *, limit_s: float = 0.5) -> bool:
        """Go on for a little while with what is wanted; say whether there is more to do.

        The last step compares anew what was linked, which takes as long as a dream.

        Raises:
            NoHomeError: when there is no home yet.
            EmbedderError: when the embedder is not to be had now.
            StorageError: when the disk refuses.
        """
        way = self._under_way()
        until = monotonic() + limit_s
        while way is not None:
            step = way.step()
            if step in ("done", "cancelled"):
                self._opened.under_way = None
                return step == "cancelled"
            if step == "waiting" or monotonic() >= until:
                return True
        return False

    def cancel_reindex(self) -> str | None:
        """Want no other embedder any more, and return which it was. What is filled in stays."""
        return upkeep.cancel(self._opened.engine())

    def reindexing(self) -> Standing:
        """Say how far the home is on its way to another embedder."""
        with self._opened.engine().reading() as reader:
            return upkeep.standing(reader, self._embedded_tiers)

    def _meant(self) -> str | Embedder:
        """Say which embedder is meant where none is named."""
        with self._opened.engine().reading() as reader:
            coming, current = wanted(reader), remembered(reader)
        if coming is not None:
            return coming.name
        return self._opened.asked or (DEFAULT if current is None else current.name)

    def _is_due(self, target: Choice) -> bool:
        """Say whether there is anything to do."""
        with self._opened.engine().reading() as reader:
            if wanted(reader) is not None or remembered(reader) != target.remembered:
                return True
            there = reader.coverage(target.remembered.identity, tiers=self._embedded_tiers)
        return target.meaning is not None and there.vectors < there.nodes

    def _way_to(self, target: Choice) -> Reindex:
        dreaming = partial(holding, self.home, DREAM)
        plan = Plan(self.config.link, self.config.dream, self._embedded_tiers, dreaming)
        return Reindex(self._opened.engine(), target, self._opened.lease(), plan)

    def _under_way(self) -> Reindex | None:
        """Return what this process is at in the background; nothing where nothing is wanted."""
        with self._opened.engine().reading() as reader:
            coming = wanted(reader)
        way = self._opened.under_way
        if way is not None and way.target.remembered != coming:
            way = self._opened.under_way = None
        if way is not None or coming is None:
            return way
        try:
            target = self._opened.open_next(coming.name)
        except UsageError as error:
            _log.info("somebody else has to go on with the reindex: %s", error.message)
            return None
        way = self._way_to(target)
        if not way.join():
            return None
        self._opened.under_way = way
        return way

    def _go(self, way: Reindex, on_nodes: Progress) -> None:
        """Take steps until the home went over."""
        with self._opened.engine().reading() as reader:
            identity = way.target.remembered.identity
            there = reader.coverage(identity, tiers=self._embedded_tiers)
        while True:
            self._let_new_texts_go_first()
            begun = monotonic()
            step = way.step(lambda space, done, total: on_nodes(f"links in {space}", done, total))
            if step == "done":
                return
            if step == "cancelled":
                raise UsageError(
                    f"{way.target.remembered.name} is wanted no more: somebody cancelled it, or"
                    " asked for another embedder.",
                    mend="ringwood reindex --status",
                )
            if way.filling is not None:
                done = there.vectors + way.filling.embedded + way.filling.reused
                on_nodes("nodes", done, max(done, there.nodes))
            took_s = monotonic() - begun
            sleep(ASK_AGAIN_S if step == "waiting" else self.config.reindex.rest * took_s)

    def _let_new_texts_go_first(self) -> None:
        """Let texts that were stored meanwhile have vectors that recall goes by now."""
        if not self._opened.choice().embeds:
            return
        with self._opened.engine().reading() as reader:
            waiting = reader.pending(1)
        if waiting and waiting[0].state == "pending":  # and not only those that failed before
            self._opened.wake()
            self._opened.wait(NEW_TEXTS_S)

    def _report(self, way: Reindex, before: str, *, dropped: int, dry_run: bool) -> Reindexed:
        """Read back what it came to."""
        chosen = way.target.remembered
        with self._opened.engine().reading() as reader:
            there = reader.coverage(chosen.identity, tiers=self._embedded_tiers)
            others = [kept for id_, kept in reader.kept_vectors().items() if id_ != chosen.identity]
            missing = reader.missing_tiers
        notes = [
            f"The {tier} tier is missing: what it holds got no vectors. Give this again when it is"
            " back."
            for tier in missing
        ]
        named = self.config.embed.embedder
        if named is not None and named != chosen.name:
            notes.append(
                f"The setting embed.embedder names {named}: with it recall goes by words. Run"
                f" `ringwood config embed.embedder {chosen.name}`, or change RINGWOOD_EMBEDDER."
            )
        return Reindexed(
            before=before,
            embedder=chosen.name,
            identity=chosen.identity,
            nodes=there.nodes,
            vectors=there.vectors,
            embedded=0 if way.filling is None else way.filling.embedded,
            reused=0 if way.filling is None else way.filling.reused,
            switched=way.switched,
            edges=way.relinked.added,
            kept=sum(each.vectors for each in others),
            kept_bytes=sum(each.bytes for each in others),
            dropped=dropped,
            notes=(*notes, *way.relinked.notes),
            dry_run=dry_run,
        )
