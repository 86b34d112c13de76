"""What a model sent as a tool's arguments, turned into what the tool's JSON Schema asks for.

Models and hosts send numbers as strings, an object as its JSON, null for what they leave out, names
in another spelling and names that nobody asked for. All of that is meant well and is understood.
What is left over is a `UsageError` that says which argument, and what it should be.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from math import isfinite
from typing import Any

from ringwood.errors import UsageError
from ringwood.text.clean import clean

Arguments = dict[str, Any]
"""Every parameter by name: what was sent, else the schema's default, else None."""

SHOWN_CHARS = 60
"""Of a bad value, in the message that refuses it."""

_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def fit(tool: str, schema: Mapping[str, Any], given: object) -> Arguments:
    """Return the arguments that a schema of scalar parameters describes.

    A name counts in any spelling (`dryRun` for `dry_run`): a misspelled wish not to change anything
    must not be lost. Names that the schema does not know are passed over.

    Raises:
        UsageError: when a value does not fit, or one is missing.
    """
    sent = {_plain(name): value for name, value in _object(tool, given).items()}
    fitted: Arguments = {}
    for name, rule in schema["properties"].items():
        value = sent.get(_plain(name))
        if value is None:
            fitted[name] = rule.get("default")
        else:
            fitted[name] = _fitted(name, rule, value)
    for name in schema.get("required", ()):
        if fitted[name] is None or fitted[name] == "":
            raise UsageError(f"{tool} needs {name}.", mend=_description(name, schema))
    return fitted


def unwrapped(given: object) -> object:
    """Return what a JSON text holds; anything else, and what is no JSON, as it is."""
    if isinstance(given, str):
        with suppress(ValueError, RecursionError):
            return json.loads(given.strip() or "null")
    return given


def _object(tool: str, given: object) -> Mapping[str, Any]:
    given = unwrapped(given)
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise UsageError(
            f"The arguments of {tool} are a JSON object, not {_shown(given)}.",
            mend='send an object, such as {"query": "…"}',
        )
    return given


def _fitted(name: str, rule: Mapping[str, Any], value: object) -> object:
    """Turn one value into the type of its rule, within its bounds."""
    kind = rule["type"]
    try:
        if kind == "string":
            return _text(rule, value)
        if kind == "boolean":
            return _BOOLEANS[str(value).strip().lower()]
        number = _number(kind, value)
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise UsageError(
            f"{name} is {_expected(rule)}, not {_shown(value)}.", mend=_example(name, rule)
        ) from error
    if not rule.get("minimum", number) <= number <= rule.get("maximum", number):
        raise UsageError(
            f"{name} is {_expected(rule)}, not {_shown(value)}.", mend=_example(name, rule)
        )
    return number


def _text(rule: Mapping[str, Any], value: object) -> str:
    if isinstance(value, list | dict):
        raise TypeError(value)
    text, _ = clean(str(value))
    if len(text) > rule.get("maxLength", len(text)):
        raise ValueError(len(text))
    return text


def _number(kind: str, value: object) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError(value)
    number = float(value)
    if not isfinite(number):
        raise ValueError(value)
    if kind == "number":
        return number
    if number != int(number):
        raise ValueError(value)
    return int(number)


def _expected(rule: Mapping[str, Any]) -> str:
    kind = {
        "string": "a text",
        "boolean": "true or false",
        "integer": "a whole number",
        "number": "a number",
    }[rule["type"]]
    if "maxLength" in rule:
        return f"{kind} of at most {rule['maxLength']} characters"
    if "minimum" in rule:
        return f"{kind} from {rule['minimum']} to {rule['maximum']}"
    return kind


def _example(name: str, rule: Mapping[str, Any]) -> str:
    if "maxLength" in rule:
        return f"send {name} in smaller parts"
    return f"leave {name} out, or send {_expected(rule)}"


def _description(name: str, schema: Mapping[str, Any]) -> str:
    return f"{name}: {schema['properties'][name].get('description', 'required')}"


def _shown(value: object) -> str:
    """Quote a value briefly: it may be of any length, and a model reads this."""
    text = clean(repr(value) if not isinstance(value, str) else f"'{value}'")[0]
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"


def _plain(name: object) -> str:
    return str(name).replace("_", "").replace("-", "").lower()
