"""Forgetting: all that was derived goes, siblings stay, and nothing brings it back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ringwood.engine.sqlite import open_engine
from ringwood.errors import AddressError, UsageError
from ringwood.memory import Memory
from ringwood.write.draft import Intake
from ringwood.write.forget import Erasure, Forgotten, forget_documents, forget_node

CANARY = "The zebrafish protocol uses xylographic buffers at forty degrees."
SIBLING = "The sourdough protocol uses rye flour at twenty degrees."
NOTE = f"# Lab\n\n## Fish\n\n{CANARY}\n\n- feed them daily\n\n## Bread\n\n{SIBLING}\n"


def bytes_of(home: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(home.rglob("*")) if file.is_file())


def found(memory: Memory, query: str) -> list[str]:
    return [
        hit.text for hit in memory.recall(query, floor=0.0).hits if query in hit.text.casefold()
    ]


def test_a_forgotten_section_is_gone_from_every_file_and_its_sibling_stays(
    memory: Memory, tmp_path: Path
) -> None:
    memory.store(NOTE, source="lab")
    memory.store(NOTE.replace("daily", "twice a day"), source="lab")
    memory.wait()
    memory.recall("zebrafish")
    assert b"xylographic" in bytes_of(tmp_path / "home")

    report = memory.forget("/lab/fish")
    memory.wait()

    assert (report.documents, report.nodes) == (0, 3)
    assert not found(memory, "zebrafish")
    assert found(memory, "sourdough")
    with pytest.raises(AddressError):
        memory.read("/lab/fish")
    memory.close()
    data = bytes_of(tmp_path / "home")
    assert b"xylographic" not in data
    assert b"sourdough" in data


def test_a_forgotten_document_is_gone_from_every_file(memory: Memory, tmp_path: Path) -> None:
    memory.store(NOTE)
    memory.store(f"# Other\n\n{SIBLING}")
    memory.wait()

    report = memory.forget("/lab")
    memory.wait()

    assert report.documents == 1
    assert report.files == 1
    assert not list((tmp_path / "home" / "mirror").rglob("lab.md"))
    assert list((tmp_path / "home" / "mirror").rglob("other.md"))
    memory.close()
    assert b"xylographic" not in bytes_of(tmp_path / "home")


def test_an_import_of_the_same_folder_brings_nothing_back(memory: Memory, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "lab.md").write_text(NOTE, "utf-8")
    (notes / "other.md").write_text("# Other\n\nAbout the quokka colony.", "utf-8")
    memory.import_notes([notes])
    memory.forget("/lab/fish")
    memory.forget("/other")

    again = memory.import_notes([notes]).imported
    (notes / "lab.md").write_text(NOTE.replace("rye", "wheat"), "utf-8")
    (notes / "other.md").write_text("# Other\n\nAbout the quokka colony, edited.", "utf-8")
    edited = memory.import_notes([notes]).imported

    assert (again.unchanged, again.forgotten, again.changed) == (1, 1, 0)
    assert (edited.forgotten, edited.changed) == (1, 1)
    assert not found(memory, "zebrafish")
    assert not found(memory, "quokka")
    assert "wheat" in memory.read("/lab/bread").source


def test_again_lets_it_back_in_for_good(memory: Memory, tmp_path: Path) -> None:
    note = tmp_path / "lab.md"
    note.write_text(NOTE, "utf-8")
    memory.import_notes([note])
    memory.forget("/lab/fish")

    lifted = memory.import_notes([note], again=True).imported
    later = memory.import_notes([note]).imported

    assert (lifted.changed, later.unchanged) == (1, 1)
    assert found(memory, "zebrafish")


def test_a_forgotten_paragraph_stays_away_from_other_documents_too(memory: Memory) -> None:
    memory.store(NOTE)
    memory.forget("/lab/fish")

    memory.store(f"# Copy\n\nBefore.\n\n  {CANARY.upper()}\n\nAfter.")

    assert not found(memory, "zebrafish")
    assert "After." in memory.read("/copy").source


def test_a_text_of_which_every_part_was_forgotten_is_kept_out(words: Memory) -> None:
    first = words.store("The heron waits.\n\nThe otter dives.\n\nThe rest stays.")
    for part in ("the-otter-dives", "the-heron-waits"):
        words.forget(f"{first.path}/{part}")

    assert words.store("The otter dives.\n\nThe heron waits.").state == "forgotten"
    assert len(words.recent()) == 1


def test_what_was_forgotten_elsewhere_goes_with_the_next_part_that_is_forgotten(
    words: Memory,
) -> None:
    one = words.store("The heron waits.\n\nThe rest stays.")
    two = words.store("The otter dives.\n\nThe  heron waits.\n\nThe fox runs.", path="/two")
    three = words.store("The otter dives.\n\nThe heron  waits.", path="/three")
    words.forget(f"{one.path}/the-heron-waits")

    done = words.forget("/two/the-otter-dives")
    assert (done.documents, done.nodes) == (0, 2)
    assert words.read(two.address).source.split() == ["The", "fox", "runs."]
    done = words.forget("/three/the-otter-dives")
    assert (done.documents, done.nodes) == (1, 3)
    assert three.document not in {str(each.id) for each in words.recent()}


def test_a_part_is_forgotten_where_another_document_of_the_same_text_was(words: Memory) -> None:
    text = "The heron waits.\n\nThe rest stays."
    stays = words.store(text.replace(" ", "  "), path="/stays")
    words.forget(words.store(text, path="/goes").address)

    assert words.forget("/stays/the-heron-waits").nodes == 1

    assert not found(words, "heron")
    assert words.read(stays.address).source.split() == ["The", "rest", "stays."]


def test_the_whole_text_again_is_existing_when_only_a_part_of_it_was_forgotten(
    memory: Memory,
) -> None:
    first = memory.store(NOTE)
    memory.forget("/lab/fish")

    again = memory.store(NOTE)

    assert (again.state, again.document) == ("existing", first.document)
    assert len(memory.recent()) == 1
    assert not found(memory, "zebrafish")


def test_a_short_text_is_forgotten_under_its_own_source_only(memory: Memory) -> None:
    memory.store("# One\n\n- done\n- not yet\n", source="one")
    memory.forget("/one/done")
    memory.store("# Two\n\n- done\n", source="two")
    memory.store("# One\n\n- done\n- not yet\n- added\n", source="one")

    assert memory.read("/two/done").source == "- done"
    with pytest.raises(AddressError):
        memory.read("/one/done")


def test_storing_a_forgotten_text_says_so(memory: Memory) -> None:
    memory.store("A fact that is long enough to be forgotten everywhere.")
    memory.forget("/" + memory.recent()[0].path.strip("/"))

    receipt = memory.store("A fact that is long enough  to be FORGOTTEN everywhere.")

    assert receipt.state == "forgotten"
    assert not memory.recent()


def test_a_dry_run_removes_nothing(memory: Memory) -> None:
    memory.store(NOTE)

    report = memory.forget("/lab/fish", dry_run=True)

    assert report.nodes == 3
    assert found(memory, "zebrafish")


def test_by_source_by_id_and_by_space(memory: Memory, tmp_path: Path) -> None:
    one = memory.store("First thing about llamas.", source="one")
    memory.store("Second thing about alpacas.", source="two")
    memory.store("Third thing about vicunas.")

    assert memory.forget(document=one.document).documents == 1
    assert memory.forget(source="two").documents == 1
    assert memory.forget(space="global").documents == 1
    assert memory.stats().totals.tiers["hot"].documents == 0


def test_exactly_one_thing_is_forgotten_at_a_time(memory: Memory) -> None:
    memory.store(NOTE)

    with pytest.raises(UsageError, match="one thing"):
        memory.forget()
    with pytest.raises(UsageError, match="one thing"):
        memory.forget(document="1", source="x")
    with pytest.raises(AddressError):
        memory.forget("/nowhere")
    with pytest.raises(AddressError):
        memory.forget(document="nonsense")


def test_what_is_forgotten_in_one_space_stays_in_another(memory: Memory, tmp_path: Path) -> None:
    with Memory.open(memory.home, space="other", embedder="hashing") as other:
        other.store(NOTE)
        memory.store(NOTE)
        memory.forget("/lab")

        assert found(other, "zebrafish")
        other.store(NOTE + "\nmore")
        assert "zebrafish" in other.read("/lab~2/fish").source


def test_a_document_that_was_cut_keeps_the_time_that_it_was_given(memory: Memory) -> None:
    given = datetime(2025, 5, 1, tzinfo=UTC)
    memory.store(f"---\ntitle: Lab\ndate: 2024-01-01\n---\n{NOTE}", path="/lab", at=given)

    memory.forget("/lab/fish")

    assert memory.read("/lab").document.created_at == given


def test_what_somebody_else_forgot_first_is_counted_as_nothing(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="words") as memory:
        receipt = memory.store(NOTE)
        [document] = memory.recent()
        engine = open_engine(tmp_path, create=False)
        erasure = Erasure(engine, str(tmp_path / "mirror"), "", Intake(datetime.now(UTC)))
        fish = memory.read("/lab/fish").node.id
        memory.forget(receipt.address)

        assert forget_documents(erasure, [document]) == Forgotten()
        assert forget_node(erasure, fish) == Forgotten()
        engine.close()


@pytest.mark.parametrize(
    "text",
    [
        f"{CANARY}\n\n{SIBLING}\n",
        f"## {CANARY[:40]}\n\nThe buffers are warm.\n\n## Bread\n\n{SIBLING}\n",
    ],
)
def test_a_title_made_of_the_first_words_is_forgotten_with_them(
    text: str, memory: Memory, tmp_path: Path
) -> None:
    receipt = memory.store(text, source="lab")
    memory.wait()
    memory.recall("zebrafish")
    first = memory.tree(receipt.path)[1].node
    assert "zebrafish" in first.path.removeprefix(receipt.path)

    memory.forget(first.path)
    memory.wait()

    assert not found(memory, "zebrafish")
    memory.close()
    assert not list((tmp_path / "home").rglob("*zebrafish*"))
    data = bytes_of(tmp_path / "home")
    assert b"zebrafish" not in data.lower()
    assert b"sourdough" in data


def test_a_title_that_stays_keeps_its_addresses_where_something_below_is_forgotten(
    memory: Memory,
) -> None:
    memory.store(f"{SIBLING}\n\n{CANARY}\n", source="lab")
    memory.store(f"# Lab\n\n{SIBLING}\n\n{CANARY}\n", source="lab")
    old = memory.store(f"# Bench\n\n{SIBLING}\n\n{CANARY}\n", source="lab").path
    memory.forget(f"{old}/the-zebrafish-protocol-uses-xylographic-buffers")
    assert memory.read("/lab").node.path == old


@pytest.mark.parametrize("part", ["", "/fish"])
def test_no_edge_of_a_document_in_another_tier_leads_to_what_was_forgotten(
    part: str, memory: Memory
) -> None:
    hot = memory.store(NOTE, source="lab")
    memory.wait()
    memory.store(NOTE + "\nIt is cold.\n", source="old", at=datetime.now(UTC) - timedelta(days=300))
    memory.wait()
    memory.rotate()
    joined = {str(node.document) for node, _ in memory.read("/lab/fish").neighbours}
    assert joined == {"2"}, "the cold document is joined to the hot one"

    memory.forget(hot.address + part)

    assert "edges" not in memory.verify().counts
