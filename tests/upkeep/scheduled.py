"""A process that keeps a schedule: `python scheduled.py HOME EVERY_S (note | hang | raise)`.

Its shared job writes a line into `HOME/runs`, and whenever it looks at what is due, it writes one
into `HOME/looks`. Says `go` when it has begun, and ends with its input.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from ringwood.engine.sqlite import open_engine
from ringwood.upkeep.schedule import LEAST_S, Job, Schedule, StoppedError, Stopping, UpkeepOptions


def main(home: str, every_s: str, how: str) -> None:
    """Keep the schedule until the input ends."""
    engine = open_engine(Path(home), create=False)

    def note(file: str) -> None:
        with (Path(home) / file).open("a", encoding="utf-8") as lines:
            lines.write(f"{os.getpid()}\n")

    def work(stopping: Stopping) -> None:
        note("runs")
        while how == "hang":
            if stopping():
                raise StoppedError
            time.sleep(0.02)
        if how == "raise":
            raise LookupError("a secret text")

    options = UpkeepOptions(retry_s=60.0, start_delay_s=0.05)
    jobs = [
        Job("test", float(every_s), work),
        Job("look", LEAST_S, lambda stopping: note("looks"), shared=False),
    ]
    schedule = Schedule(home, lambda: engine, jobs, options)
    schedule.start()
    sys.stdout.write("go\n")
    sys.stdout.flush()
    sys.stdin.read()
    schedule.stop()
    if not schedule.join(30.0):
        sys.exit("it did not stop")
    engine.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
