"""Writes memory roots for tests."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from pi_rank.ranking.analysis import FtsAnalyzer

L1 = "memory/L1.identity.jsonl"
L2 = "memory/L2.playbooks.jsonl"
TOMBSTONES = "memory/tombstones.jsonl"


def line(id_="mem_a", **fields):
    """A record's line, with what it needs unless `fields` says otherwise; a field that is ... is left out."""
    record = {"id": id_, "statement": f"Statement of {id_}", "status": "active", "confidence": 0.9, **fields}
    return json.dumps({key: value for key, value in record.items() if value is not ...})


def write(root: Path, file: str, *lines: str | bytes) -> Path:
    """Put a file under the root, one line each, in the place of what is there."""
    data = b"".join((item if isinstance(item, bytes) else item.encode()) + b"\n" for item in lines)
    return replace_with(root / file, data)


def replace_with(path: Path, data: bytes) -> Path:
    """Put a file in the place of another, as a program does that nobody is to see at work."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.new")
    new.write_bytes(data)
    return new.replace(path)


def settle(path: Path) -> Path:
    """Make a file's last change old enough for its size and time to be trusted."""
    os.utime(path, (time.time() - 60, time.time() - 60))
    return path


class CountingAnalyzer(FtsAnalyzer):
    """The analyzer, and how many documents it was given."""

    def __init__(self):
        super().__init__()
        self.documents = 0

    def document_terms(self, texts):
        self.documents += len(texts)
        return super().document_terms(texts)
