"""Which embedder a home goes by here, and which one it goes over to."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from ringwood.config import Config, credential
from ringwood.embed.base import Embedder
from ringwood.embed.choose import Choice, Remembered, choose, choose_next
from ringwood.embed.meaning import Meaning
from ringwood.embed.open import open_embedder
from ringwood.open_home.database import OpenDatabase
from ringwood.upkeep.switching.reindex import Reindex
from ringwood.write.draft import Intake
from ringwood.write.remembered import remember, remembered, wanted


class Embedding(OpenDatabase):
    """Chooses an embedder, opens it, and lets it go when the home has another one."""

    def __init__(self, home: str, config: Config, embedder: str | Embedder | None) -> None:
        """Name what is to be used; nothing is opened."""
        super().__init__(home, config)
        self._asked_embedder = embedder
        self._chosen: Choice | None = None
        self._left: list[Embedder] = []  # opened for a choice that holds no more
        self._under_way: Reindex | None = None

    def choice(self) -> Choice:
        """Return the embedder and how meanings are compared. Asks no server.

        Decided anew when the home went over to another embedder, in whichever process; and, for an
        embedder on a server, until the home knows it: any process may be the one that meets it.
        """
        with self._lock:
            chosen = self._chosen
            if self._closed and chosen is not None:
                return chosen  # of the worker, which is on its way out
            with self.engine().reading() as reader:
                known = remembered(reader)
            if chosen is None or not _holds(chosen, known):
                self._leave(chosen)
                chosen = self._choose(self.asked, known)
            elif chosen.unsettled is not None:
                chosen = replace(self._choose(chosen.unsettled, known), owned=chosen.owned)
            self._chosen = chosen
            return chosen

    @property
    def asked(self) -> str | Embedder | None:
        """The embedder that a caller or a setting names; None: what the home was filled with."""
        return self._asked_embedder or self._config.embed.embedder

    def open_next(self, asked: str | Embedder) -> Choice:
        """Open an embedder that the home is to go over to; the caller closes what is owned.

        Raises:
            UsageError: when there is no embedder of this name.
            EmbedderError: when it is not to be had, or its server does not answer well.
        """
        with self.engine().reading() as reader:
            known = [each for each in (wanted(reader), remembered(reader)) if each is not None]
        calibrated = self._config.embed.calibration
        return choose_next(asked, known, calibrated=calibrated, opener=self.embedder_named)

    def take_over(self, asked: str | Embedder, opened: Choice) -> None:
        """Go by an embedder that the home went over to here, and close it when the time comes.

        Who named none before follows the home wherever it goes next.
        """
        with self._lock:
            self._leave(self._chosen)
            self._chosen = opened
            if self.asked is not None or not isinstance(asked, str):
                self._asked_embedder = asked

    @property
    def under_way(self) -> Reindex | None:
        """The reindex that is done in the background here, a step at a time."""
        return self._under_way

    @under_way.setter
    def under_way(self, reindex: Reindex | None) -> None:
        with self._lock:
            if self._under_way is not None:
                self._leave(self._under_way.target)
            self._under_way = reindex

    def _leave(self, choice: Choice | None) -> None:
        """Let a choice go. Its embedder is closed at the end: others may be in a call of it."""
        if choice is not None and choice.owned is not None:
            self._left.append(choice.owned)

    def meaning(self) -> Meaning | None:
        """Return how meanings are compared; an embedder on a server is asked first who it is.

        That may take a while, so it is for the worker: no lock is held meanwhile.

        Raises:
            EmbedderError: when the server does not answer well.
        """
        choice = self.choice()
        if choice.unsettled is None:
            return choice.meaning
        choice.unsettled.meet()
        with self.engine().reading() as reader:
            filled = remembered(reader) is not None
        if filled:
            self._remember(self.choice().remembered)
        return self.choice().meaning

    def _choose(self, asked: str | Embedder | None, known: Remembered | None) -> Choice:
        calibrated = self._config.embed.calibration
        return choose(asked, known, calibrated=calibrated, opener=self.embedder_named)

    def embedder_named(self, name: str) -> Embedder | None:
        """Make an embedder by its name, with this home's settings and keys; None for `words`.

        Raises:
            UsageError: when there is no such embedder.
            EmbedderError: when it cannot be had.
        """
        key_of = partial(credential, self._home)
        return open_embedder(name, options=self._config.embed, key_of=key_of)

    def intake(self) -> Intake:
        """Say how texts are taken in; the first of them fixes the home's embedder."""
        self._remember(self.choice().remembered)
        return Intake(datetime.now(UTC), self.choice().state, self._config.parse)

    def _remember(self, chosen: Remembered) -> None:
        """Write down which embedder the home's vectors are of, unless it is there already."""
        engine = self.engine()
        with engine.reading() as reader:
            news = _is_news(chosen, remembered(reader))
        if not news:
            return
        with engine.writing() as writer, engine.reading() as reader:
            if _is_news(chosen, remembered(reader)):
                remember(writer, chosen)

    def _leave_all(self) -> None:
        """Let go what is chosen, and what is being filled in."""
        with self._lock:
            self._leave(self._chosen)
            self.under_way = None

    def _close_left(self) -> None:
        """Close what was let go: a batch under way ends at once."""
        while self._left:
            self._left.pop().close()


def _holds(choice: Choice, known: Remembered | None) -> bool:
    """Say whether a choice still fits what the home is filled with.

    One whose server nobody had met when it was made holds as long as the home keeps the name.
    """
    if known is None or known.accepts(choice.remembered):
        return True
    return choice.unsettled is not None and choice.remembered.name == known.name


def _is_news(chosen: Remembered, known: Remembered | None) -> bool:
    """Say whether a home is to be told which embedder its vectors are of."""
    if known is None:
        return True
    if known == chosen:
        return bool(chosen.record) and not known.record
    return known.accepts(chosen)
