"""Which embedder a home uses: vectors of two are never compared, so a home remembers its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ringwood.embed.base import Embedder
from ringwood.embed.meaning import Meaning
from ringwood.embed.open import open_embedder
from ringwood.embed.remote.embedder import RemoteEmbedder
from ringwood.embed.remote.record import Record
from ringwood.errors import EmbedderError, HomeError, UsageError
from ringwood.types import State

DEFAULT = "bundled"
"""The embedder of a home that was never told."""
WORDS = "words"
"""No embedder: recall by words alone."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a home was filled with."""

    name: str
    """The embedder's name."""
    identity: str
    """Under which its vectors are stored; empty by words alone, and while no embedder was to be had
    yet."""
    record: str = field(default="", compare=False)
    """How a model on a server is known again (`embed.remote.record`); empty for all others."""

    @classmethod
    def of(cls, name: str, meaning: Meaning | None) -> Remembered:
        """Say what a home has to remember when it is filled with an embedder; None: words.

        Raises:
            EmbedderError: when its server has to be asked who it is, and does not answer.
        """
        if meaning is None:
            return cls(name, "")
        remote = meaning.embedder if isinstance(meaning.embedder, RemoteEmbedder) else None
        return cls(name, meaning.identity, "" if remote is None else remote.meet().dumps())

    def accepts(self, offered: Remembered) -> bool:
        """Say whether vectors of an embedder may join those that are stored."""
        return self == offered or (self.name == offered.name and not self.identity)


@dataclass(frozen=True, slots=True)
class Choice:
    """What holds for one opened home."""

    remembered: Remembered
    """What the home's vectors are of."""
    meaning: Meaning | None
    """How to embed and compare; None: recall goes by words."""
    notes: tuple[str, ...] = ()
    """Why it goes by words although the home has vectors."""
    owned: Embedder | None = None
    """The embedder that was opened here and is to be closed; one that was given is its giver's."""
    unsettled: RemoteEmbedder | None = None
    """An embedder on a server of which nothing is written down in the home yet: `meet` it, write
    down what it is, and choose again."""

    @property
    def embeds(self) -> bool:
        """Whether vectors come from this process, now or once a server has answered."""
        return self.meaning is not None or self.unsettled is not None

    @property
    def state(self) -> State:
        """State of a new document: `pending` when vectors are to come, from whichever process."""
        return "ready" if self.remembered.name == WORDS else "pending"


def choose(
    asked: str | Embedder | None,
    remembered: Remembered | None,
    *,
    calibrated: bool,
    opener: Callable[[str], Embedder | None] = open_embedder,
) -> Choice:
    """Decide between what is asked for and what the home was filled with. Asks no server.

    Args:
        asked: a name, an embedder, or None for what the home was filled with.
        remembered: None for a home that holds nothing yet.
        calibrated: False for raw cosines.
        opener: makes an embedder from its name, as `open_embedder` does.

    Raises:
        UsageError: when there is no embedder of the name that is asked for.
    """
    default = remembered.name if remembered is not None else DEFAULT
    wanted = asked if asked is not None else default
    name = wanted if isinstance(wanted, str) else wanted.name
    try:
        embedder = opener(wanted) if isinstance(wanted, str) else wanted
    except (EmbedderError, HomeError, UsageError) as error:
        if isinstance(error, UsageError) and asked is not None:
            raise
        # A home that a program filled with an embedder of its own is read by words elsewhere.
        kept = remembered or Remembered(name, "")
        return Choice(kept, None, (f"Recall by words only: {error.message}",))
    owned = embedder if isinstance(wanted, str) else None
    if remembered is None or remembered.name == name:
        unsettled = _unsettled(embedder, remembered)
        if unsettled is not None and unsettled.record is None:
            why = unsettled.trouble or f"{name!r} has not answered yet"
            note = f"Recall by words only: {why}."
            return Choice(remembered or Remembered(name, ""), None, (note,), owned, unsettled)
        meaning = None if embedder is None else Meaning.of(embedder, calibrated=calibrated)
        offered = Remembered.of(name, meaning)
        if remembered is None or remembered.accepts(offered):
            return Choice(offered, meaning, (), owned, unsettled)
    if owned is not None:
        owned.close()
    return Choice(remembered, None, (_refusal(remembered, name),))


def choose_next(
    asked: str | Embedder,
    known: Sequence[Remembered],
    *,
    calibrated: bool,
    opener: Callable[[str], Embedder | None] = open_embedder,
) -> Choice:
    """Open an embedder that a home is to go over to; a server is asked who it is.

    Args:
        asked: a name or an embedder.
        known: what the home knows of models on servers. One that answers as it did is the same.
        calibrated: False for raw cosines.
        opener: makes an embedder from its name, as `open_embedder` does.

    Raises:
        UsageError: when there is no embedder of this name.
        EmbedderError: when it is not to be had, or its server does not answer well.
    """
    name = asked if isinstance(asked, str) else asked.name
    embedder = opener(asked) if isinstance(asked, str) else asked
    owned = embedder if isinstance(asked, str) else None
    if embedder is None:
        return Choice(Remembered(name, ""), None)
    try:
        if isinstance(embedder, RemoteEmbedder):
            _recognise(embedder, [each.record for each in known if each.name == name])
        meaning = Meaning.of(embedder, calibrated=calibrated)
        return Choice(Remembered.of(name, meaning), meaning, (), owned)
    except EmbedderError:
        if owned is not None:
            owned.close()
        raise


def _recognise(embedder: RemoteEmbedder, records: Sequence[str]) -> None:
    """Meet a server's model, and take it for one of those that are known where it is."""
    met = embedder.meet()
    for record in map(Record.loads, records):
        if record is not None and record.is_of_the_model_of(met):
            embedder.know(record)  # a digest that was made of vectors may differ by their noise
            return


def _unsettled(embedder: Embedder | None, remembered: Remembered | None) -> RemoteEmbedder | None:
    """Tell an embedder on a server what the home knows of it; return it where that is nothing."""
    if not isinstance(embedder, RemoteEmbedder):
        return None
    record = None if remembered is None else Record.loads(remembered.record)
    if record is None:
        return embedder
    embedder.know(record)
    return None


def _refusal(remembered: Remembered, name: str) -> str:
    if remembered.name == name:
        return (
            f"This home was filled with another model of the embedder {name!r}"
            f" ({remembered.identity}): recall goes by words. Bring that model back, or run"
            f" `ringwood reindex`."
        )
    return (
        f"This home was filled with the embedder {remembered.name!r}, not {name!r}: recall goes by"
        f" words. Leave out --embedder, or run `ringwood reindex {name}`."
    )
