"""What the campaign knocks at: a door makes cases, tries them, and says what it saw that should not be."""

from __future__ import annotations

import os
import traceback
from abc import ABC, abstractmethod
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, NamedTuple

from pi_rank.errors import PiRankError

REPOSITORY = Path(__file__).resolve().parents[2]


class Problem(NamedTuple):
    """Something that should not be. Problems of one kind are one fault; the detail tells them apart."""

    kind: str
    detail: str


class Trial:
    """What one case did: inputs and other things counted, and problems."""

    def __init__(self):
        self.inputs = 0
        self.tallies = Counter()
        self.problems = []

    def say(self, kind, detail=""):
        """Note a problem."""
        self.problems.append(Problem(kind, str(detail)[:4_000]))

    def check(self, holds, kind, detail=""):
        """Note a problem where something does not hold; whether it does."""
        if not holds:
            self.say(kind, detail() if callable(detail) else detail)
        return bool(holds)

    @contextmanager
    def expecting(self, what, *allowed):
        """Runs the product. Only these errors may come out of it, and end the block silently."""
        try:
            yield
        except allowed:
            self.tallies["refused"] += 1
        except PiRankError as error:
            self.say(f"{what}: refused", f"{type(error).__name__}: {error}")
        except Exception as error:
            self.say(f"{what}: {type(error).__name__} at {_place(error)}", traceback.format_exc()[-3_000:])


class Door(ABC):
    """One way into the product. Subclasses are listed in `tests.campaign.registry`."""

    # Seconds of processor time that a case may take; three times as long on the wall, it is ended as hung.
    deadline: ClassVar[float] = 20.0
    # Whether the same case gives the same outcome, so that it can be reduced and kept.
    repeatable: ClassVar[bool] = True

    def __init__(self, folder):
        self.folder = folder

    @classmethod
    def missing(cls):
        """Why the door cannot be tried here; "" where it can."""
        return ""

    @abstractmethod
    def make(self, chance):
        """A case: a JSON value, drawn from a `random.Random`."""

    @abstractmethod
    def run(self, case, trial):
        """Tries a case. It must survive any part of a case that is left out."""

    def close(self):  # noqa: B027 - most doors have nothing to let go of
        """Lets go of processes and files."""


def try_case(door, case):
    """The trial of one case, whatever comes of it."""
    trial = Trial()
    began = os.times()
    try:
        door.run(case, trial)
    except Exception as error:  # the campaign's own fault, which must not pass for a good outcome
        trial.say(f"campaign: {type(error).__name__} at {_place(error, ours=True)}", traceback.format_exc())
    ended = os.times()
    used = sum(ended[:4]) - sum(began[:4])
    trial.check(used <= door.deadline, "too slow", f"{used:.1f} s of processor time, at most {door.deadline}")
    return trial


def _place(error, *, ours=False):
    """Where an error was raised: the last line of the product, or of whoever, in its trace."""
    frames = traceback.extract_tb(error.__traceback__)
    product = [frame for frame in frames if f"{os.sep}pi_rank{os.sep}" in frame.filename]
    frame = (frames if ours or not product else product)[-1]
    return f"{Path(frame.filename).name}:{frame.name}"
