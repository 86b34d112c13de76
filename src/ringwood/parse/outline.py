"""Sections that only their numbers announce: `1.`, `1.2`, `一、`, `（一）`, `第一章`."""

from __future__ import annotations

from ringwood.parse.blocks import Block


def number_sections(text: str, blocks: list[Block]) -> list[Block]:
    """Return the top-level blocks with numbered sections as headings."""
    return blocks
