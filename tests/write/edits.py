"""A note as a person edits it, and what each part of it is afterwards: a model without our parser.

A note is a list of sections, each a heading line and a body of paragraphs; edits work on those and
remember which part is which. What an address must lead to follows from that alone.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

_HEADING = re.compile(r"^(#{1,6}) (.+)$")
_FENCE = re.compile(r"^\s*(```|~~~)")


@dataclass(eq=False, slots=True)
class Section:
    """A heading with what follows it up to the next one; the first of a note may have none."""

    level: int
    """1..6; 0 before the first heading."""
    title: str
    """Empty before the first heading."""
    blocks: list[str]
    """What stands between blank lines, fences whole."""
    before: dict[str, str] = field(default_factory=dict)
    """What each block that was edited was at first."""
    is_gone: bool = False
    """Whether it was deleted."""

    def text(self) -> str:
        """Return its own source, without sections below it."""
        heading = [f"{'#' * self.level} {self.title}"] if self.level else []
        return "\n\n".join([*heading, *self.blocks])


class Note:
    """A note under edit. `edits` counts what was done to it."""

    def __init__(self, text: str) -> None:
        """Take a note apart. What stands between its parts becomes one blank line."""
        self.sections: list[Section] = []
        self.edits = 0
        self._split(text)
        self.all = list(self.sections)
        """Every section there ever was."""

    def _split(self, text: str) -> None:
        current = Section(0, "", [])
        block: list[str] = []
        fenced = False

        def flush() -> None:
            if block:
                current.blocks.append("\n".join(block))
                block.clear()

        for line in text.splitlines():
            heading = None if fenced else _HEADING.match(line)
            if _FENCE.match(line):
                fenced = not fenced
            if heading:
                flush()
                if current.level or current.blocks:
                    self.sections.append(current)
                current = Section(len(heading[1]), heading[2].strip(), [])
            elif line.strip() or fenced:
                block.append(line)
            else:
                flush()
        flush()
        self.sections.append(current)

    def text(self) -> str:
        """Write the note."""
        return "\n\n".join(section.text() for section in self.sections) + "\n"

    def below(self, section: Section) -> list[Section]:
        """Return a section and those below it."""
        start = self.sections.index(section)
        end = start + 1
        while end < len(self.sections) and self.sections[end].level > section.level:
            end += 1
        return self.sections[start:end]

    def source(self, section: Section) -> str:
        """Return the whole source of a section as it is now."""
        return "\n\n".join(each.text() for each in self.below(section)).rstrip()

    def headings(self) -> list[Section]:
        """Return the sections that are no document: all below the first level."""
        return [each for each in self.sections if each.level > 1]

    # -- edits -----------------------------------------------------------------------------------

    def rename(self, section: Section, title: str) -> None:
        """Give a section another title."""
        section.title = title
        self.edits += 1

    def edit(self, section: Section, rng: random.Random) -> None:
        """Change a few words of a block."""
        plain = [n for n, block in enumerate(section.blocks) if is_prose(block)]
        if not plain:
            return
        place = rng.choice(plain)
        old = section.blocks[place]
        words = old.split(" ")
        spot = rng.randrange(1, len(words))
        new = " ".join([*words[:spot], "(as amended)", *words[spot:]])
        section.blocks[place] = new
        section.before[new] = section.before.pop(old, old)
        self.edits += 1

    def shuffle(self, section: Section, rng: random.Random) -> None:
        """Put a section with all below it before or behind another of the same parent."""
        beside = [each for each in self._level(section) if self._is_beside(each, section)]
        self._put(section, beside, rng)

    def move(self, section: Section, rng: random.Random) -> None:
        """Put a section with all below it anywhere among those of its level."""
        self._put(section, self._level(section), rng)

    def delete(self, section: Section) -> None:
        """Take a section out, with all below it."""
        for each in self.below(section):
            each.is_gone = True
            self.sections.remove(each)
        self.edits += 1

    def _level(self, section: Section) -> list[Section]:
        return [e for e in self.sections if e.level == section.level and e is not section]

    def _is_beside(self, one: Section, other: Section) -> bool:
        places = sorted((self.sections.index(one), self.sections.index(other)))
        return all(each.level >= one.level for each in self.sections[places[0] : places[1]])

    def _put(self, section: Section, among: list[Section], rng: random.Random) -> None:
        if not among:
            return
        block = self.below(section)
        target = rng.choice(among)
        for each in block:
            self.sections.remove(each)
        place = self.sections.index(target)
        if rng.random() < 0.5:
            place += len(self.below(target))
        self.sections[place:place] = block
        self.edits += 1


def is_prose(block: str) -> bool:
    """Say whether a block is a paragraph of some words: an edit leaves most of it."""
    return block[:1].isalpha() and "\n" not in block and 8 <= len(block.split(" ")) <= 100
