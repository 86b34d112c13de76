"""A home with some of everything in it, and its export."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.write.saying import say

from ringwood import config
from ringwood.capture.consent import pause
from ringwood.memory import Memory

NOTES = {
    "latin": "# Pump\n\nThe pump in hall 3 leaks near valve v7.\n\n## Repair\n\n- gasket\n- bolt\n",
    "han": "# 水泵\n\n三号车间的水泵在阀门附近漏水。\n\n## 维修\n\n更换垫片。\n",
    "cyrillic": "# Насос\n\nНасос протекает у клапана.\n\n## Ремонт\n\nЗаменить прокладку.\n",
    "odd": "# Zwölf\u2028e\u0301\n\ncafé 👩‍👩‍👧 \x7f\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
}
DAYS = {"latin": 0, "han": 60, "cyrillic": 400, "odd": 90}


def fill(memory: Memory) -> None:
    """Put in three scripts, three tiers, edits, moves, exchanges, uses, and something forgotten."""
    now = datetime.now(UTC)
    for name, text in NOTES.items():
        memory.store(text, source=name, at=now - timedelta(days=DAYS[name]))
    for number in range(30):
        memory.store(
            f"# Day {number}\n\nShift {number} was quiet, gauge at {number}.\n",
            path=f"/log/{number}",
        )
    memory.store(NOTES["latin"].replace("Repair", "Mending").replace("v7", "v8"), source="latin")
    memory.within(space="elsewhere").store("# Apart\n\nAnother space.\n", importance=0.9)
    memory.forget("global:/log/3")
    say(memory.home, "person", "Why does the pump leak?")
    say(memory.home, "assistant", "The gasket is worn.", sequence="2")
    memory.take_in(everything=True)
    memory.wait(30.0)
    memory.rotate()
    memory.dream()
    memory.recall("pump leaks near the valve")
    config.set_value(memory.home, "budget.max_nodes", "5")
    pause(memory.home, "/")


def exported(memory: Memory, *, vectors: bool = True, undone: bool = False) -> bytes:
    """Export into memory."""
    target = io.BytesIO()
    memory.export(target, vectors=vectors, undone=undone)
    return target.getvalue()


def restored(home: Path, export: bytes, *, vectors: bool = True) -> bytes:
    """Restore into a new home, and export it again."""
    with Memory.open(home, wait_s=0.0) as memory:
        memory.restore(io.BytesIO(export))
        if not vectors:
            memory.wait(30.0)
        return exported(memory, vectors=vectors)
