"""Every setting in one place: composes the options of all stages, reads environment and file.

A setting is `section.key`, for example `budget.max_nodes`. It comes from an argument, else from the
environment (`RINGWOOD_BUDGET_MAX_NODES`; `RINGWOOD_EMBEDDER`), else from `<home>/config.toml`, else
it is the default that stands beside the code it steers.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from math import inf, isfinite
from pathlib import Path
from typing import Any

import tomlkit

from ringwood import home as homes
from ringwood.capture.buffer import CaptureOptions
from ringwood.embed.options import EmbedOptions
from ringwood.embed.remote.address import PORTS, base_url
from ringwood.engine.base import TierOptions
from ringwood.errors import ConfigError, StorageError
from ringwood.mounts import HomeOptions
from ringwood.parse.tree import ParseOptions
from ringwood.recall.budget import Budget
from ringwood.recall.candidates import CandidateOptions
from ringwood.recall.diversity import DiversityOptions
from ringwood.recall.floor import FloorOptions
from ringwood.recall.fusion import Weights
from ringwood.recall.pipeline import RecallOptions
from ringwood.recall.priors import PriorOptions
from ringwood.recall.spread import SpreadOptions
from ringwood.upkeep.dreaming.dream import DreamOptions
from ringwood.upkeep.schedule import UpkeepOptions
from ringwood.upkeep.switching.reindex import ReindexOptions
from ringwood.write.link import LinkOptions
from ringwood.write.mirror import MirrorOptions
from ringwood.write.notes import NoteOptions
from ringwood.write.worker import WorkerOptions

SHORT_NAMES = {"RINGWOOD_EMBEDDER": "embed.embedder"}
"""Environment variables with a name of their own."""

PLACES = ("tiers.warm_path", "tiers.cold_path")
"""Settings that name the files of one home: a copy of it that held them would share its files."""

OF_THE_MACHINE = (*PLACES, "embed.ollama_url", "embed.openai_url")
"""Settings that belong to a machine and not to a memory: an export leaves them out, so that nobody
who hands one over says where texts are sent."""

OTHERS_NAMES = {"OLLAMA_HOST": "embed.ollama_url", "OPENAI_BASE_URL": "embed.openai_url"}
"""Environment variables of other programs. They count where nothing was said to Ringwood itself."""


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """How the resident process lives. It stands here because front ends lie above this module."""

    idle_s: float = 900.0
    """After so long without a request it leaves, seconds: a pause for coffee costs no new start."""


@dataclass(frozen=True, slots=True)
class Config:
    """The options of every stage. Each field is a section of the file."""

    home: HomeOptions = field(default_factory=HomeOptions)
    """Where a home may lie."""
    parse: ParseOptions = field(default_factory=ParseOptions)
    """Text to tree."""
    notes: NoteOptions = field(default_factory=NoteOptions)
    """Which files an import reads."""
    capture: CaptureOptions = field(default_factory=CaptureOptions)
    """When what was said is stored."""
    embed: EmbedOptions = field(default_factory=EmbedOptions)
    """Texts to vectors."""
    link: LinkOptions = field(default_factory=LinkOptions)
    """Similar edges."""
    mirror: MirrorOptions = field(default_factory=MirrorOptions)
    """The Markdown mirror."""
    worker: WorkerOptions = field(default_factory=WorkerOptions)
    """What follows a store."""
    tiers: TierOptions = field(default_factory=TierOptions)
    """Ages and places of the tiers."""
    dream: DreamOptions = field(default_factory=DreamOptions)
    """How far a dream goes unasked."""
    upkeep: UpkeepOptions = field(default_factory=UpkeepOptions)
    """What is done by the clock."""
    reindex: ReindexOptions = field(default_factory=ReindexOptions)
    """How gently a home is filled anew."""
    candidates: CandidateOptions = field(default_factory=CandidateOptions)
    """How widely recall looks."""
    fusion: Weights = field(default_factory=Weights)
    """How much each signal counts."""
    spread: SpreadOptions = field(default_factory=SpreadOptions)
    """How far activation reaches."""
    priors: PriorOptions = field(default_factory=PriorOptions)
    """Importance, recency, access."""
    floor: FloorOptions = field(default_factory=FloorOptions)
    """How much evidence is enough."""
    diversity: DiversityOptions = field(default_factory=DiversityOptions)
    """When two candidates say the same."""
    budget: Budget = field(default_factory=Budget)
    """Upper bounds of one recall."""
    serve: ServeOptions = field(default_factory=ServeOptions)
    """The resident process."""

    @property
    def recall(self) -> RecallOptions:
        """The stages of recall."""
        return RecallOptions(
            candidates=self.candidates,
            fusion=self.fusion,
            spread=self.spread,
            priors=self.priors,
            floor=self.floor,
            diversity=self.diversity,
            budget=self.budget,
        )


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting as it holds now."""

    key: str
    """`section.key`."""
    value: Any
    """The value."""
    origin: str
    """`default`, `config.toml`, or the environment variable's name."""


def load(home: str, environ: Mapping[str, str] | None = None) -> Config:
    """Read the settings that hold for a home.

    Raises:
        ConfigError: when a key is unknown, a value does not fit, or the file is no TOML.
    """
    config = Config()
    for setting in settings(home, environ):
        if setting.origin != "default":
            config = _with(config, setting.key, setting.value)
    return config


def settings(home: str, environ: Mapping[str, str] | None = None) -> list[Setting]:
    """List every setting with its value and where it came from.

    Raises:
        ConfigError: as `load`.
    """
    known = {key: Setting(key, value, "default") for key, value in _defaults().items()}
    for key, value in _file_values(home).items():
        known[key] = Setting(key, _fit(key, value), homes.CONFIG_FILE)
    environ = os.environ if environ is None else environ
    names = {f"RINGWOOD_{key.replace('.', '_').upper()}": key for key in known} | SHORT_NAMES
    for name, key in names.items():
        if environ.get(name):
            known[key] = Setting(key, _fit(key, environ[name]), name)
    for name, key in OTHERS_NAMES.items():
        if environ.get(name) and known[key].origin == "default":
            known[key] = Setting(key, _fit(key, environ[name]), name)
    return list(known.values())


def credential(home: str, provider: str, environ: Mapping[str, str] | None = None) -> str | None:
    """Return the key for a provider, from the environment or the home's file of keys.

    Args:
        home: the home's folder.
        provider: `openai`: `OPENAI_API_KEY`, else `key` under `[openai]`.
        environ: None: this process's.

    Raises:
        HomeError: when others can read the file.
        ConfigError: when it holds something else than keys. The message does not repeat it.
    """
    environ = os.environ if environ is None else environ
    path = str(Path(home) / homes.CREDENTIALS_FILE)
    if given := environ.get(f"{provider.upper()}_API_KEY", "").strip():
        return given
    text = homes.read_private(path)
    try:
        key = tomllib.loads(text or "").get(provider, {}).get("key", "")
        return key.strip() or None
    except (AttributeError, ValueError, RecursionError):
        # Nothing of the cause: it may quote the line that it does not understand.
        raise ConfigError(
            f"{path} is no file of keys.", mend=f'write a section [{provider}] with key = "…"'
        ) from None


def setting(home: str, key: str) -> Setting:
    """Return one setting.

    Raises:
        ConfigError: when there is none of this name, or as `load`.
    """
    for each in settings(home):
        if each.key == key:
            return each
    raise _unknown(key)


def set_value(home: str, key: str, value: str) -> Setting:
    """Write one setting into the home's file, keeping the comments in it.

    Raises:
        ConfigError: when the key is unknown or the value does not fit.
        StorageError: when the file cannot be written.
    """
    fitted = _fit(key, value)
    if key in PORTS and fitted is not None:  # refused before a password in it is written down
        base_url(fitted, setting=key, port=PORTS[key])
    section, _, name = key.partition(".")
    _file_values(home)  # what is no settings file is not written into
    document = tomlkit.parse(_file_text(home))
    table = document.setdefault(section, tomlkit.table())
    if fitted is None:
        table.pop(name, None)
    else:
        table[name] = fitted
    homes.write_private(str(Path(home) / homes.CONFIG_FILE), tomlkit.dumps(document))
    return Setting(key, fitted, homes.CONFIG_FILE)


def text_without(home: str, keys: Collection[str]) -> str:
    """Return the home's file of settings as it stands, some settings left out of it.

    Raises:
        ConfigError: when the file is no TOML, or holds a setting that there is not.
        StorageError: when it cannot be read.
    """
    text = _file_text(home)
    left_out = sorted(key for key in _file_values(home) if key in keys)
    if not left_out:
        return text
    document = tomlkit.parse(text)
    for key in left_out:
        section, _, name = key.partition(".")
        document[section].remove(name)
    return tomlkit.dumps(document)


def _defaults() -> dict[str, Any]:
    config = Config()
    return {
        f"{section.name}.{option.name}": getattr(getattr(config, section.name), option.name)
        for section in fields(Config)
        for option in fields(getattr(config, section.name))
    }


def _with(config: Config, key: str, value: Any) -> Config:
    section, _, name = key.partition(".")
    return replace(config, **{section: replace(getattr(config, section), **{name: value})})


def _file_text(home: str) -> str:
    path = Path(home) / homes.CONFIG_FILE
    try:
        return path.read_text("utf-8-sig")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise StorageError(
            f"{path} cannot be read: {error.strerror}.", mend=f"check the permissions of {path}"
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8.", mend=f"save {path} as UTF-8") from error


def _file_values(home: str) -> dict[str, Any]:
    """Flatten the file into `section.key` names."""
    try:
        sections = tomllib.loads(_file_text(home))
    except (ValueError, RecursionError) as error:  # also numbers and nesting beyond all bounds
        path = Path(home) / homes.CONFIG_FILE
        raise ConfigError(f"{path} is not valid TOML: {error}.", mend=f"correct {path}") from error
    values: dict[str, Any] = {}
    for section, table in sections.items():
        if not isinstance(table, dict):
            raise _unknown(section)
        values |= {f"{section}.{name}": value for name, value in table.items()}
    return values


def _fit(key: str, value: Any) -> Any:
    """Turn a value from file or environment into the type of its setting, within its range."""
    kind = _kinds().get(key)
    if kind is None:
        raise _unknown(key)
    optional = kind.endswith(" | None")
    if optional and value in (None, "", "none"):
        return None
    kind = kind.removesuffix(" | None")
    least, most = _RANGES.get(key, (0, inf))
    try:
        fitted: Any = _CONVERT[kind](value)
        if kind in ("int", "float") and not least <= fitted <= most:
            raise ValueError(value)
        return fitted
    except (ValueError, TypeError, OverflowError) as error:
        limits = f" from {least:g}" + (f" to {most:g}" if most < inf else "")
        expected = _EXPECTED[kind] + (limits if kind in ("int", "float") else "")
        raise ConfigError(
            f"{key} is {expected}, not {value!r}.", mend=f"ringwood config {key} VALUE"
        ) from error


def _kinds() -> dict[str, str]:
    config = Config()
    return {
        f"{section.name}.{option.name}": str(option.type)
        for section in fields(Config)
        for option in fields(getattr(config, section.name))
    }


def _unknown(key: str) -> ConfigError:
    return ConfigError(f"There is no setting {key!r}.", mend="ringwood config lists them all")


def _bool(value: Any) -> bool:
    words = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
    if isinstance(value, bool):
        return value
    if str(value).casefold() not in words:
        raise ValueError(value)
    return words[str(value).casefold()]


def _count(value: Any) -> int:
    if isinstance(value, bool) or int(value) != float(value) or int(value) < 0:
        raise ValueError(value)
    return int(value)


def _amount(value: Any) -> float:
    if isinstance(value, bool) or not isfinite(float(value)) or float(value) < 0.0:
        raise ValueError(value)
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise TypeError(value)
    value.encode()  # no lone surrogates: neither a file nor the database takes them
    return value


_RANGES: dict[str, tuple[float, float]] = {
    "parse.max_leaf_chars": (1, inf),
    "parse.max_path_parts": (1, inf),
    "parse.max_slug_chars": (8, inf),
    "capture.max_messages": (1, inf),
    "link.threshold": (0, 1),
    "tiers.hot_days": (0, 36_500),
    "tiers.warm_days": (0, 36_500),
    "embed.connect_timeout_s": (0.1, inf),
    "embed.timeout_s": (1, inf),
    "embed.batch": (1, inf),
    "worker.lease_s": (0.05, inf),
    "candidates.top_k": (1, inf),
    "spread.expansion_damping": (0, 1),
    "priors.recency_days": (0.01, inf),
    "fusion.across": (0, 1),
    "floor.asked": (0, 1),
    "floor.injected": (0, 1),
    "floor.cosine_zero": (0, 0.99),
    "floor.cosine_zero_small": (0, 0.99),
    "floor.cosine_zero_small_across": (0, 0.99),
    "budget.max_nodes": (1, inf),
    "budget.max_chars": (1, inf),
    "budget.max_node_chars": (1, inf),
}
"""Least and most of numbers that are not simply from 0: where recall would divide by nothing, find
nothing ever, or work without a pause."""
_CONVERT = {"bool": _bool, "int": _count, "float": _amount, "str": _text}
_EXPECTED = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
}
