"""Cases that once showed a fault, or are worth keeping: in `corpus/<door>/`, replayed by the suite.

A text of a case stands for bytes where its door says so: it is UTF-8, and what is no UTF-8 are surrogates.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).with_name("corpus")


class Kept(NamedTuple):
    """A kept case: its door, what was seen when it was found, and itself."""

    path: Path
    door: str
    found: str
    case: object


def kept_cases(door=None):
    """All kept cases, or those of one door, in the order of their files."""
    pattern = "*/*.json" if door is None else f"{door}/*.json"
    for path in sorted(FOLDER.glob(pattern)):
        content = json.loads(path.read_text(encoding="utf-8"))
        yield Kept(path, path.parent.name, content["found"], content["case"])


def keep_case(door, found, case, folder=FOLDER):
    """Writes a case down; the path of its file."""
    text = json.dumps({"found": found, "case": case}, indent=1, sort_keys=True) + "\n"
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    words = re.sub(r"[^a-z0-9]+", "-", found.lower()).strip("-")[:60]
    path = folder / door / f"{words}-{digest}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def as_bytes(text):
    """The bytes that a text of a case stands for."""
    return text.encode("utf-8", "surrogateescape")


def as_text(data):
    """A text of a case that stands for these bytes."""
    return data.decode("utf-8", "surrogateescape")
