"""One process of the campaign: tries cases at one door until its time is up, and says so in lines of JSON.

    python -m tests.campaign.worker DOOR SEED SECONDS FOLDER

Before a case is tried it is written to FOLDER/case.json, so that one that ends the process can be read.
"""

from __future__ import annotations

import faulthandler
import json
import logging
import random
import sys
import time
import warnings
from pathlib import Path

from tests.campaign.door import try_case
from tests.campaign.reduce import reduce_case
from tests.campaign.registry import door_class

REDUCE_SECONDS = 30.0


def main(argv):
    name, seed, seconds, folder = argv[0], argv[1], float(argv[2]), Path(argv[3])
    faulthandler.enable()  # the parent ends a hung case with SIGABRT, and reads where it was
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    door = door_class(name)(folder)
    try:
        work(door, seed, seconds, folder, tell)
    finally:
        door.close()


def tell(**message):
    """A line for the parent."""
    print(json.dumps(message), flush=True)


def work(door, seed, seconds, folder, tell):
    """Tries cases for so many seconds; each has a seed of its own."""
    known = set()
    until = time.monotonic() + seconds
    number = 0
    while time.monotonic() < until:
        text = json.dumps(door.make(random.Random(f"{seed}:{number}")))
        case = json.loads(text)  # what is tried is what would be kept
        number += 1
        (folder / "case.json").write_text(text, encoding="utf-8")
        tell(begun=number)
        trial = try_case(door, case)
        tell(inputs=trial.inputs, tallies=dict(trial.tallies))
        for problem in trial.problems:
            if problem.kind not in known:
                known.add(problem.kind)
                small = _reduced(door, case, problem.kind) if door.repeatable else case
                tell(kind=problem.kind, detail=problem.detail, case=small)


def _reduced(door, case, kind):
    tell(begun="reducing")

    def shows(candidate):
        tell(begun="reducing")
        return any(problem.kind == kind for problem in try_case(door, candidate).problems)

    return reduce_case(case, shows, REDUCE_SECONDS)


if __name__ == "__main__":
    main(sys.argv[1:])
