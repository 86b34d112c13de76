"""A second opinion: whatever the structured detectors of detect-secrets find, our table masks too.

They report of some tokens the prefix alone, so the run of characters that a report begins is what
must be gone. Detectors of entropy and of key words are left out: they report every hash and every
sentence about passwords.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from detect_secrets.core.scan import scan_line
from detect_secrets.settings import transient_settings
from tests.text.fixtures import secrets, secrets_held_out
from tests.text.fixtures.labelled import secrets_of

from ringwood.text.redact import redact

DETECTORS = (
    *("AWSKeyDetector", "ArtifactoryDetector", "AzureStorageKeyDetector", "BasicAuthDetector"),
    *("DiscordBotTokenDetector", "GitHubTokenDetector", "GitLabTokenDetector", "JwtTokenDetector"),
    *("MailchimpDetector", "NpmDetector", "OpenAIDetector", "PrivateKeyDetector"),
    *("PypiTokenDetector", "SendGridDetector", "SlackDetector", "SquareOAuthDetector"),
    *("StripeDetector", "TelegramBotTokenDetector", "TwilioKeyDetector"),
)


def reports(text: str) -> Iterator[tuple[str, str]]:
    """Yield what the detectors report of a text: the detector's word for it, and the whole run."""
    for line in re.split(r"\n|\\n", text):
        for found in scan_line(line):
            value = found.secret_value or ""
            at = line.find(value)
            rest = re.match(r"[\w.+/=~-]*", line[at + len(value) :])
            yield found.type, value + (rest[0] if rest else "")


def left_over(texts: Iterable[str]) -> list[tuple[str, str]]:
    """Return what is reported of the texts and still stands in them once masked."""
    left = []
    with transient_settings({"plugins_used": [{"name": name} for name in DETECTORS]}):
        for text in texts:
            if found := list(reports(text)):
                masked, _ = redact(text)
                left += [each for each in found if each[1] in masked]
    return left


@pytest.mark.parametrize(("half", "seed"), [(secrets, 1), (secrets_held_out, 2)])
def test_what_detect_secrets_finds_is_masked(half: ModuleType, seed: int) -> None:
    texts = [case.text for case in secrets_of(half, seed)]
    with transient_settings({"plugins_used": [{"name": name} for name in DETECTORS]}):
        found = sum(1 for text in texts for _ in reports(text))

    assert left_over(texts) == []
    assert found > 60  # it does find something


@pytest.mark.slow
@pytest.mark.shared
def test_what_detect_secrets_finds_in_real_transcripts_is_masked(shared_data: Path) -> None:
    texts = [
        string
        for file in sorted((shared_data / "transcripts").rglob("*.jsonl"))
        for line in file.read_bytes().split(b"\n")
        if line.strip()
        for string in strings_in(json.loads(line))
    ]

    assert left_over(texts) == []
    assert len(texts) > 1_000


def strings_in(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for each in value:
                yield from strings_in(each)
        case dict():
            for each in value.values():
                yield from strings_in(each)
