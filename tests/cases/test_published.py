"""Every published case of the kinds and areas of losing, locking and breaking has its test."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cases.published import cases_beside_tests, ids_of_areas, modules, rows_of_kinds

TESTS = Path(__file__).resolve().parents[1]
KINDS = ("LOCK", "WAL", "CORRUPT", "DEL", "DUP", "LOSS", "BIG")
AREAS = ("crash", "concurrency", "disk", "corruption", "clock")

SOURCE = '''
# con-99
@pytest.mark.parametrize("name", NAMES)  # LOCK 7
def test_a_server_lives_on(name: str) -> None:  # res-08, CORRUPT 17
    """Not of dur-98."""
    assert name  # dur-97


def test_con_04_a_lock_is_free() -> None:
    assert True  # 96


def helper() -> None:  # 95
    pass


def test_twelve_of_them(  # of 94 things
) -> None:  # 93
    assert True
'''
REPORTS = "| 7 | LOCK | a | b |\n| 57 | SCOPE/LOSS | a | b |\n| 8 | UNI | a | b |\n"
FAULTS = '{"id": "con-01", "area": "concurrency"}\n{"id": "sec-01", "area": "secrets"}\n'


def test_a_case_stands_beside_a_test_in_its_head_or_its_name() -> None:
    assert cases_beside_tests(SOURCE) == {"7", "res-08", "17", "con-04", "93"}


def test_cases_are_listed_by_kind_and_by_area() -> None:
    assert rows_of_kinds(REPORTS, KINDS) == {"7", "57"}
    assert ids_of_areas(FAULTS, AREAS) == {"con-01"}


@pytest.mark.shared
def test_every_case_of_these_kinds_and_areas_stands_beside_a_test(shared_data: Path) -> None:
    cases = shared_data.parent / "cases"
    rows = rows_of_kinds((cases / "public-bug-reports.md").read_text("utf-8"), KINDS)
    ids = ids_of_areas((cases / "faults-and-attacks.jsonl").read_text("utf-8"), AREAS)

    found = set[str]().union(*map(cases_beside_tests, modules(TESTS)))

    assert len(rows) >= 20
    assert len(ids) >= 20
    assert sorted((rows | ids) - found) == []
