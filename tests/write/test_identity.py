"""Which node of an edited document is which: by a model of edits, and case by case."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.scaling import grows_at_most
from tests.write.edits import Note, Section, is_prose

from ringwood.engine.base import Engine
from ringwood.engine.sqlite import open_engine
from ringwood.errors import AddressError
from ringwood.memory import Memory
from ringwood.parse.tree import parse_document
from ringwood.recall import browse
from ringwood.types import Node
from ringwood.write.draft import Draft, Intake
from ringwood.write.identity import carry_ids
from ringwood.write.ingest import ingest

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
WORDS = [
    "river",
    "stone",
    "copper",
    "lamp",
    "winter",
    "glass",
    "paper",
    "anchor",
    "garden",
    "violin",
    "thunder",
    "maple",
]
SHORT = ["TBD.", "Done."]
TITLES = ["Plan", "Goal", "Risks", "Notes", "Cost"]


def note_of(seed: int) -> Note:
    """Make a note: a dozen sections on two levels, some of one title, some of one short text."""
    rng = random.Random(seed)
    parts = ["# The note"]
    for number in range(rng.randint(4, 12)):
        parts.append(f"{'##' if number % 3 == 0 else '###'} {rng.choice(TITLES)}")
        for _ in range(rng.randint(0, 3)):
            words = [rng.choice(WORDS) + str(rng.randrange(40)) for _ in range(12)]
            parts.append(" ".join(words) if rng.random() < 0.8 else rng.choice(SHORT))
    return Note("\n\n".join(parts))


def step(note: Note, rng: random.Random) -> None:
    """Do one thing to a note."""
    if not note.headings():
        return
    section = rng.choice(note.headings())
    match rng.choice(["edit", "rename", "shuffle", "move", "delete"]):
        case "rename":
            note.rename(section, f"{rng.choice(TITLES)} {rng.randrange(5)}")
        case "delete":
            note.delete(section)
        case "edit":
            note.edit(section, rng)
        case "shuffle":
            note.shuffle(section, rng)
        case _:
            note.move(section, rng)


def stored(engine: Engine, note: Note, round_: int) -> None:
    draft = Draft(note.text(), "s", "person", source="note")
    ingest(engine, [draft], Intake(NOON + timedelta(hours=round_), "ready"))


def sources(engine: Engine) -> dict[str, str]:
    """Return the source of every section by its path."""
    with engine.reading() as reader:
        [root] = reader.roots("s")
        text = reader.text_of(root.id)
        nodes = reader.nodes_of(root.id)
    return {n.path: text[slice(*n.span)].rstrip() for n in nodes if n.kind == "section"}


def led_to(engine: Engine, path: str) -> str | None:
    """Return the source that an address leads to; None when it is gone, and says since when."""
    with engine.reading() as reader:
        try:
            node = browse.resolve(reader, f"s:{path}", "s")
        except AddressError as error:
            if "gone since 2026-03-01" not in error.message:
                raise
            return None
        return reader.text_of(node.document)[slice(*node.span)].rstrip()


def title_of(source: str | None) -> str:
    return (source or "").split("\n")[0].strip("# ")


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
@example(seed=730)  # a section and the one above it hold the same, and both are renamed
@example(seed=1443)  # an empty section is deleted, and one of its title was edited
@example(seed=1867)  # a section is renamed like the one above it, which is renamed, too
@example(seed=2499)  # another comes to the place and title that a deleted one had last
def test_an_address_of_a_section_leads_to_it_through_any_edits_or_says_that_it_is_gone(
    seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    engine = open_engine(tmp_path_factory.mktemp("home"), create=True)
    rng = random.Random(seed)
    note = note_of(seed)
    claims: list[tuple[str, str, list[Section]]] = []
    names: dict[Section, set[str]] = {each: set() for each in note.all}
    for round_ in range(4):
        stored(engine, note, round_)
        for each in note.sections:
            names[each].add(each.title)
        claims += [
            (path, source, [each for each in note.sections if note.source(each) == source])
            for path, source in sources(engine).items()
        ]
        for _ in range(rng.randint(1, 3)):
            step(note, rng)
    stored(engine, note, 4)

    for path, source, sections in claims:
        now = led_to(engine, path)
        alive = [note.source(each) for each in sections if not each.is_gone]
        # Another of a title that it had, in its place: what comes back there is itself again.
        came_back = any(title_of(now) in names[each] for each in sections)
        lost = now is None and not any(each.is_gone for each in sections)
        assert now is None or now in alive or came_back, (path, source, now, alive)
        has_words = any(is_prose(block) for each in sections for block in each.blocks)
        assert not (lost and has_words), (path, source, alive)
    engine.close()


SECTIONS = "# Yard\n\n## Alpha\n\n{alpha}\n\n## Beta\n\n{beta}\n"
ALPHA = "The gate of the yard is locked at ten in the evening by whoever leaves last."
BETA = "Two geese guard the pond and let nobody near it but the child with the bread."


def test_two_sections_that_swap_titles_keep_their_own_ids(words: Memory) -> None:
    words.store(SECTIONS.format(alpha=ALPHA, beta=BETA), source="yard")
    gate = words.read("/yard/alpha").node.id

    words.store(SECTIONS.format(alpha=BETA, beta=ALPHA), source="yard")

    assert words.read("/yard/beta~2").node.id == gate
    assert ALPHA in words.read("/yard/alpha").source


def test_a_path_that_led_to_one_node_is_never_given_to_another(words: Memory) -> None:
    words.store(SECTIONS.format(alpha=ALPHA, beta=BETA), source="yard")
    renamed = SECTIONS.format(alpha=ALPHA, beta=BETA).replace("## Alpha", "## Gate")
    words.store(f"{renamed}\n## Alpha\n\nA new thing under a name that was free.", source="yard")

    assert words.read("/yard/alpha").node.path == "/yard/gate"
    assert words.read("/yard/alpha~2").source.endswith("that was free.")
    assert words.store("# Alpha\n\nElsewhere.", path="/yard/alpha").path == "/yard/alpha~3"


def test_every_one_of_many_old_names_leads_to_where_the_node_is_now(words: Memory) -> None:
    names = ["alpha", "gate", "door", "lock", "bolt"]
    for name in names:
        text = SECTIONS.format(alpha=ALPHA, beta=BETA).replace("Alpha", name.capitalize())
        words.store(text, source="yard")

    assert {words.read(f"/yard/{name}").node.path for name in names} == {"/yard/bolt"}


def test_a_section_that_is_taken_out_is_gone_and_one_that_comes_back_is_itself(
    words: Memory,
) -> None:
    text = SECTIONS.format(alpha=ALPHA, beta=BETA)
    words.store(text, source="yard")
    beta = words.read("/yard/beta").node.id
    words.store(text.partition("## Beta")[0], source="yard")
    with pytest.raises(AddressError, match=r"/yard/beta is gone since 20\d\d-\d\d-\d\d"):
        words.read("/yard/beta")

    words.store(text, source="yard")

    assert words.read("/yard/beta").node.id == beta


def test_sections_of_one_title_keep_their_numbers_when_they_change_places(words: Memory) -> None:
    first, second = f"## Note\n\n{ALPHA}", f"## Note\n\n{BETA}"
    words.store(f"# Yard\n\n{first}\n\n{second}", source="yard")
    words.store(f"# Yard\n\n{second}\n\n{first}", source="yard")

    assert ALPHA in words.read("/yard/note").source
    assert BETA in words.read("/yard/note~2").source


def test_identical_lines_stay_with_their_section_when_sections_move(words: Memory) -> None:
    def day(name: str, text: str) -> str:
        return f"## {name}\n\n{text}\n\nTo be done."

    words.store("# Yard\n\n" + day("One", ALPHA) + "\n\n" + day("Two", BETA), source="yard")
    before = [words.read(f"/yard/{name}/to-be-done").node.id for name in ("one", "two")]
    words.store(
        "# Yard\n\n" + day("Two", BETA + " Now.") + "\n\n" + day("One", ALPHA + " So."),
        source="yard",
    )

    after = [words.read(f"/yard/{name}/to-be-done").node.id for name in ("one", "two")]
    assert after == before


def test_a_text_that_shares_nothing_is_new_and_the_old_one_gone(words: Memory) -> None:
    words.store(f"# Yard\n\n{ALPHA}\n", source="yard")
    [gate] = words.read("/yard").children
    words.store(f"# Yard\n\n{BETA}\n", source="yard")

    with pytest.raises(AddressError, match="gone since"):
        words.read(gate.path)


def stored_nodes(text: str) -> list[Node]:
    parsed = parse_document(text).nodes
    return [
        Node(
            id=number,
            document=1,
            parent=each.parent,
            order=number,
            kind=each.kind,
            title=each.title,
            path=f"/d{each.path}",
            span=each.span,
            own=each.own,
            text=each.text,
            script="",
            length=1,
        )
        for number, each in enumerate(parsed)
    ]


def book(paragraphs: int, seed: int) -> str:
    rng = random.Random(seed)
    parts = [" ".join(f"w{rng.randrange(300)}" for _ in range(30)) for _ in range(paragraphs)]
    return "# Book\n\n" + "\n\n".join(parts)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (lambda length: book(length, 1), lambda length: book(length, 2)),
        (lambda length: "- done\n" * length, lambda length: "- more\n" + "- done\n" * length),
        (
            lambda length: "# L\n\n" + "## Notes\n\nTo be done.\n\n" * length,
            lambda length: "# L\n\n" + "## Notes\n\nTo be done soon.\n\n" * length,
        ),
    ],
    ids=["rewritten", "equal items", "equal sections"],
)
def test_what_finding_again_costs_grows_with_the_length_only(
    before: Callable[[int], str], after: Callable[[int], str]
) -> None:
    known = {
        length: (stored_nodes(before(length)), parse_document(after(length)).nodes)
        for length in (400, 1600)
    }

    def run(length: int) -> None:
        old, new = known[length]
        carry_ids(old, "/d", new)

    assert grows_at_most(run, 400, 1600, 8)
