"""The tree as a whole: title, root, sections, limits."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from ringwood.parse.tree import ParsedDocument, ParsedNode, ParseOptions, parse_document

OPTOGENETICS = """\
# Optogenetics and bio-display

Cells that answer to light.

## Art

Screens that live.

### Biological display

A dish of cells shows an image.

## Risks
"""


def node(document: ParsedDocument, path: str) -> ParsedNode:
    (found,) = [node for node in document.nodes if node.path == path]
    return found


def test_a_heading_path_is_an_address() -> None:
    document = parse_document(OPTOGENETICS)
    display = node(document, "/art/biological-display")
    assert document.slug == "optogenetics-and-bio-display"
    assert display.title == "Biological display"
    assert display.text == "Biological display\nA dish of cells shows an image."
    assert display.kind == "section"


def test_a_section_spans_what_lies_below_and_owns_its_heading() -> None:
    document = parse_document(OPTOGENETICS)
    art = node(document, "/art")
    below = OPTOGENETICS[OPTOGENETICS.index("## Art") : OPTOGENETICS.index("\n\n## Risks")]
    assert OPTOGENETICS[slice(*art.span)] == below
    assert OPTOGENETICS[slice(*art.own)] == "## Art"
    assert document.nodes[0].span == (0, len(OPTOGENETICS))
    assert OPTOGENETICS[slice(*document.nodes[0].own)] == "# Optogenetics and bio-display"


def test_an_item_spans_what_it_holds_and_owns_its_first_paragraph() -> None:
    text = "# A\n\n1. one\n   - two\n     - three\n2. four\n"
    nodes = parse_document(text).nodes[1:]
    assert [text[slice(*node.span)] for node in nodes] == [
        "1. one\n   - two\n     - three",
        "- two\n     - three",
        "- three",
        "2. four",
    ]
    assert [text[slice(*node.own)] for node in nodes] == ["one", "two", "- three", "2. four"]


@pytest.mark.parametrize(
    ("text", "title", "stem", "expected"),
    [
        ("---\ntitle: Front\n---\n# Head\n\nwords", "Given", "stem", "Given"),
        ("---\ntitle: Front\n---\n# Head\n\nwords", None, "stem", "Front"),
        ("# Head\n\nwords", None, "stem", "Head"),
        ("# Head\n\n# Other\n\nwords", None, "stem", "stem"),
        ("words\n\n# Head", None, "stem", "stem"),
        ("first words of it", None, None, "first words of it"),
        ("## Part\n\nwords", None, None, "Part"),
        ("# Head", " two\nlines ", None, "two lines"),
        ("# Head", " ", None, "Head"),
        ("#\n\nwords", None, None, "words"),
        ("", None, "", "untitled"),
        ("***", None, None, "untitled"),
    ],
)
def test_the_title_is_the_first_of_these(
    text: str, title: str | None, stem: str | None, expected: str
) -> None:
    document = parse_document(text, title=title, stem=stem)
    assert (document.title, document.nodes[0].title) == (expected, expected)


def test_a_leading_h1_that_is_not_the_title_is_a_section() -> None:
    document = parse_document("# Head\n\n## Part\n", title="Given")
    assert [node.path for node in document.nodes] == ["", "/head", "/head/part"]
    same = parse_document("# Head\n\n## Part\n", title="head")
    assert [node.path for node in same.nodes] == ["", "/part"]


def test_positions_point_into_the_file_behind_front_matter() -> None:
    text = "---\ntitle: A\ntags: [b]\nx: |\n  c\n  d\n---\n# A\n\nfirst\n\n- second\n"
    document = parse_document(text)
    own = [text[slice(*node.own)] for node in document.nodes]
    assert own == [text[: text.index("\n\nfirst")], "first", "- second"]
    assert document.meta == {"title": "A", "tags": "b", "x": "c d"}


def test_front_matter_says_when_it_was_written() -> None:
    assert parse_document("---\ndate: 2026-03-01\n---\n").created == datetime(
        2026, 3, 1, tzinfo=UTC
    )
    assert parse_document("date: 2026-03-01").created is None


def test_the_root_says_tags_and_aliases_but_no_dates() -> None:
    text = "---\nTitle: A\nDate: 2026-03-01\naliases: [b, c]\n---\nd\n"
    assert parse_document(text).nodes[0].text == "A\nb, c\nd"


def test_the_words_of_a_section_end_at_its_first_subsection_and_its_limit() -> None:
    text = "# A\n\none\n\n> quoted\n\n- two\n  - below\n\n```\ncode\n```\n\n## B\n\nthree\n"
    assert parse_document(text).nodes[0].text == "A\none\ntwo"
    short = parse_document(text, options=ParseOptions(section_chars=6)).nodes[0].text
    assert (short, len(short)) == ("A\none…", 6)


def test_numbered_sections_do_not_take_the_words_of_the_one_above() -> None:
    text = "# A\n\nlead\n\n1. B\n\none\n\n2. C\n\ntwo\n"
    assert [node.text for node in parse_document(text).nodes if node.kind != "paragraph"] == [
        "A\nlead",
        "1. B\none",
        "2. C\ntwo",
    ]


def test_long_leaves_become_siblings() -> None:
    text = "- One is one. Two is two.\n  - inner\n\n> Three is three. Four is four.\n"
    document = parse_document(text, options=ParseOptions(max_leaf_chars=16))
    assert [(node.kind, node.path, node.text) for node in document.nodes[1:]] == [
        ("item", "/one-is-one", "One is one."),
        ("paragraph", "/one-is-one/two-is-two", "Two is two."),
        ("item", "/one-is-one/inner", "inner"),
        ("quote", "/three-is-three", "Three is three."),
        ("quote", "/four-is-four", "Four is four."),
    ]


def test_containers_beyond_the_depth_are_leaves_with_all_their_words() -> None:
    text = "- a\n  - b\n    - c\n      - d\n"
    document = parse_document(text, options=ParseOptions(max_depth=2))
    assert [(node.path, node.text) for node in document.nodes[1:]] == [
        ("/a", "a"),
        ("/a/b", "b"),
        ("/a/b/c-d", "c\n- d"),
    ]


def test_items_beside_one_another_are_not_deep() -> None:
    document = parse_document("- a\n  - b\n" * 40, options=ParseOptions(max_depth=2))
    assert [node.text for node in document.nodes[1:]] == ["a", "b"] * 40
    assert document.nodes[-1].path == "/a~40/b"


def test_paths_have_at_most_so_many_parts() -> None:
    text = "# A\n\n## B\n\n### C\n\n#### D\n\n##### E\n\nwords\n"
    options = ParseOptions(max_path_parts=3)
    assert [node.path for node in parse_document(text, options=options).nodes] == [
        "",
        "/b",
        "/b/c",
        "/b/d",
        "/b/e",
        "/b/words",
    ]


def test_a_text_always_gives_the_same_tree() -> None:
    assert parse_document(OPTOGENETICS) == parse_document(OPTOGENETICS)


@pytest.mark.parametrize("line_end", ["\r\n", "\r"])
def test_line_ends_change_positions_only(line_end: str) -> None:
    def without_places(text: str) -> list[ParsedNode]:
        nodes = parse_document(text).nodes
        return [replace(node, span=(0, 0), own=(0, 0)) for node in nodes]

    text = f"---\ntags: [a, b]\n---\n{OPTOGENETICS}\n- a\n  b\n\n```\nc\n```\n\n> d\n> e\n"
    assert without_places(text.replace("\n", line_end)) == without_places(text)


def test_a_paragraph_right_above_a_rule_is_a_paragraph_not_a_title() -> None:
    text = "A sentence that goes on. " * 10 + "\n---\n\nmore\n"
    first, second = parse_document(text).nodes[1:]
    assert (first.kind, first.text) == ("paragraph", ("A sentence that goes on. " * 10).strip())
    assert second.text == "more"


def test_titles_have_an_end() -> None:
    long = "word " * 1_000
    document = parse_document(f"- # {long}\n  {long}\n", title=long)
    assert max(len(node.title) for node in document.nodes) == 200
    assert len(document.title) == 200
