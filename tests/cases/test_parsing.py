"""Markdown that other readers trip over: fences, line ends, front matter, and texts made to hurt.

Numbers are those of the public reports (kinds PARSE and FM); `qry-06` and `qry-07` are from our
list of faults and attacks. Not here, since there is no such thing yet: 83 as it was reported, an
editor's temporary file under a watched mirror (nothing is watched, and the mirror is not read
back). What of it concerns an import is here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ringwood.memory import Memory


def sections(memory: Memory, address: str) -> list[str]:
    """List the titles of the sections below an address."""
    return [
        line.node.title for line in memory.tree(address, depth=9) if line.node.kind == "section"
    ]


def found(memory: Memory, query: str) -> list[str]:
    return [hit.text for hit in memory.recall(query).hits]


FENCES = {
    "three backticks in four": "````md\n```\n# not a heading\n```\n# nor this\n````",
    "tildes": "~~~sh\n# not a heading\n```\n# nor this\n~~~",
    "backticks in tildes": "~~~\n```\n# not a heading\n~~~",
    "indented": "    # not a heading",
    "in an item": "- item\n\n  ```\n  # not a heading\n  ```",
    "in a quote": "> ```\n> # not a heading\n> ```",
}


@pytest.mark.parametrize("fence", FENCES.values(), ids=FENCES)  # 75
def test_a_comment_in_a_fence_is_no_heading(words: Memory, fence: str) -> None:
    words.store(f"# Build\n\n## Before\n\nText.\n\n{fence}\n\n## After\n\nText.\n")

    assert sections(words, "/build") == ["Before", "After"]
    assert any("not a heading" in text for text in found(words, "not a heading"))


def test_an_unclosed_fence_holds_all_that_follows(words: Memory) -> None:  # 75
    words.store("# Build\n\n## Before\n\nText.\n\n```sh\n# a comment\n\n## After\n\nlast line\n")

    assert sections(words, "/build") == ["Before"]
    assert any("last line" in text for text in found(words, "last line"))


YAML = "title: Night shift\ntags: [a, b]\nsummary: >\n  folded over\n  two lines\nnote: |\n  kept\n"
NOTE = "## Rules\n\nThe lantern stays lit.\n"


@pytest.mark.parametrize("closing", ["---", "..."])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])  # 77
def test_no_line_end_and_no_byte_order_mark_hides_a_note(
    words: Memory, tmp_path: Path, encoding: str, newline: str, closing: str
) -> None:
    file = tmp_path / "shift.md"
    text = f"---\n{YAML}{closing}\n\n{NOTE}".replace("\n", newline)
    file.write_bytes(text.encode(encoding))

    imported = words.import_notes([file]).imported

    assert (imported.changed, imported.skipped, imported.repaired) == (1, (), 0)
    assert words.recent()[0].title == "Night shift"
    assert sections(words, "/night-shift") == ["Rules"]
    assert found(words, "lantern")[0] == "The lantern stays lit."
    assert words.read("/night-shift").source == text


def test_a_span_counts_from_the_start_of_the_file(words: Memory, tmp_path: Path) -> None:  # 79
    text = "---\ntitle: Log\na: 1\nb: 2\nc: 3\n---\n\n# Start\n\nFirst 😀.\n\n## End\n\nLast.\n"
    file = tmp_path / "log.md"
    file.write_text(text, "utf-8")
    words.import_notes([file])

    nodes = [line.node for line in words.tree("/log", depth=9)]

    spans = {node.title: text[slice(*node.span)] for node in nodes if node.kind == "paragraph"}
    assert spans == {"First 😀.": "First 😀.", "Last.": "Last."}
    [end] = [node for node in nodes if node.title == "End"]
    assert text[: end.span[0]].count("\n") == 11  # line 12 of the file
    assert all(words.read(node.path).source == text[slice(*node.span)] for node in nodes)


def test_a_mirrored_note_with_front_matter_gets_ours_once_and_is_then_left_alone(
    memory: Memory, tmp_path: Path
) -> None:  # 81
    note = tmp_path / "note.md"
    note.write_text(f"---\n{YAML}---\n\n{NOTE}", "utf-8")
    memory.import_notes([note])
    memory.wait()
    [page] = Path(memory.home, "mirror").rglob("*.md")
    first = page.read_text("utf-8"), page.stat().st_mtime_ns, page.stat().st_ino

    memory.import_notes([note])
    memory.store(note.read_text("utf-8"), source=str(note.resolve()))
    memory.wait()

    assert (page.read_text("utf-8"), page.stat().st_mtime_ns, page.stat().st_ino) == first
    assert first[0].endswith(f'"\n---\n---\n{YAML}---\n\n{NOTE}')
    assert first[0].count("ringwood:") == 1
    # The control: a change does reach the file, and replaces its front matter too.
    note.write_text(f"---\n{YAML}---\n\n{NOTE}At dawn it goes out.\n", "utf-8")
    memory.import_notes([note])
    memory.wait()
    assert page.read_text("utf-8").endswith("At dawn it goes out.\n")
    assert page.read_text("utf-8").count("ringwood:") == 1


def test_what_an_editor_leaves_beside_a_note_is_not_taken_for_one(
    words: Memory, tmp_path: Path
) -> None:  # 83
    notes = tmp_path / "notes"
    notes.mkdir()
    note = notes / "plan.md"
    note.write_text("The plan is to wait.", "utf-8")
    words.import_notes([notes])
    for name in ("plan.md.tmp", ".plan.md.swp", "plan.md~", ".#plan.md", "4913"):
        (notes / name).write_text("half of the pl", "utf-8")
    draft = notes / "plan.md.new"
    draft.write_text("The plan is to leave.", "utf-8")
    draft.replace(note)

    imported = words.import_notes([notes]).imported

    assert imported.changed == 1
    assert {Path(each.file).name for each in imported.skipped} == {
        "plan.md.tmp",
        "plan.md~",
        "4913",
    }
    assert [document.path for document in words.recent()] == ["/plan"]
    assert found(words, "plan") == ["The plan is to leave."]


def table(columns: int, rows: int) -> str:
    head = f"{'|a' * columns}|\n{'|-' * columns}|\n"
    return head + "".join("|b" * (row % 300) + "\n" for row in range(rows))


HOSTILE: dict[str, Callable[[], str]] = {
    "40 kB of images": lambda: "![" * 20_000,
    "a ragged table of 200 columns": lambda: table(200, 120),
    "40,000 brackets": lambda: "[" * 40_000,
    "5,000 nested quotes": lambda: "> " * 5_000 + "deep",
    "a list 1,000 deep": lambda: "".join(f"{'  ' * i}- item\n" for i in range(1_000)),
    "40 kB of backticks": lambda: "`" * 40_000,
    "40 kB of emphasis": lambda: "*_" * 20_000,
}


@pytest.mark.parametrize("name", HOSTILE)  # qry-06
def test_a_text_made_to_hurt_is_stored_whole_and_what_follows_is_found(
    words: Memory, name: str
) -> None:
    text = f"# Odd\n\n{HOSTILE[name]()}\n\n# Next\n\nThe quokka is fine.\n"

    receipt = words.store(text, title="Odd")

    assert receipt.state == "ready"
    assert words.read("/odd").source == text
    assert any("quokka" in text for text in found(words, "quokka"))
    assert all(len(line.node.path.split("/")) <= 13 for line in words.tree("/odd", depth=99))


BAD_FRONT_MATTER = {
    "an object": "a: !!python/object/apply:os.system ['touch /tmp/owned']\ntitle: Taken\n",
    "an alias bomb": "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\ntitle: Taken\n",
    "3,000 brackets": f"a: {'[' * 3_000}\ntitle: Taken\n",
    "repeated keys": "title: Taken\ntitle: Taken twice\n",
    "no mapping": "- title: Taken\n",
    "not closed": "title: [Taken\n",
    "a control character": "title: Taken\na: \x01\n",
}


@pytest.mark.parametrize("name", BAD_FRONT_MATTER)  # qry-07
def test_bad_front_matter_is_text_and_costs_nothing_else(words: Memory, name: str) -> None:
    text = f"---\n{BAD_FRONT_MATTER[name]}---\n\n# Real title\n\nThe quokka is fine.\n"

    receipt = words.store(text)

    document = words.read(receipt.address).document
    assert not document.title.startswith("Taken twice")
    assert words.read(receipt.address).source == text
    assert any("quokka" in each for each in found(words, "quokka"))
    assert any("Taken" in each for each in found(words, "taken"))


def test_good_front_matter_is_read_and_a_date_that_is_none_is_not(words: Memory) -> None:  # qry-07
    good = words.store("---\ntitle: Good\ndate: 2026-10-02\n---\n\nText one.\n")
    bad = words.store("---\ntitle: Bad\ndate: 2026-13-45\n---\n\nText two.\n")

    cards = [words.read(each.address).document for each in (good, bad)]

    assert [card.title for card in cards] == ["Good", "Bad"]
    assert f"{cards[0].created_at:%Y-%m-%d}" == "2026-10-02"
    assert cards[1].created_at == cards[1].stored_at
