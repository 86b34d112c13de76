"""Paths of documents: unique in a space, whatever lies there already."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ringwood.write.paths import assign_paths, numbered, slug_path


def test_paths_below_a_renamed_ancestor_follow_it() -> None:
    taken = {"/a", "/a~2/b"}

    paths = assign_paths("/a", ["", "/b", "/b/c"], lambda path, _: path not in taken)

    assert paths == ["/a~2", "/a~2/b~2", "/a~2/b~2/c"]


def test_no_two_nodes_of_a_document_get_one_path() -> None:
    paths = assign_paths("/a", ["", "/b", "/b~2"], lambda path, _: path != "/a/b")

    assert paths == ["/a", "/a/b~2", "/a/b~3"]


@given(count=st.integers(0, 300))
def test_the_next_number_is_given_without_trying_every_one(count: int) -> None:
    taken = {"/a", *(f"/a~{number}" for number in range(2, count + 1))} if count else set()
    asked: list[str] = []

    def is_free(path: str) -> bool:
        asked.append(path)
        return path not in taken

    assert numbered("/a", is_free) == ("/a" if count == 0 else f"/a~{max(2, count + 1)}")
    assert len(asked) <= 2 + 2 * count.bit_length()


@given(taken=st.sets(st.integers(2, 40)))
def test_what_is_given_is_free_even_where_numbers_are_missing(taken: set[int]) -> None:
    paths = {"/a", *(f"/a~{number}" for number in taken)}

    assert numbered("/a", lambda path: path not in paths) not in paths


def test_a_given_path_becomes_slugs() -> None:
    assert slug_path("Notes/../New Idea/") == "/notes/new-idea"
    assert slug_path("///") == "/untitled"
