"""Writes memory roots for tests, and stands in for the analyzer where terms do not matter."""

from __future__ import annotations

import json
from pathlib import Path

L1 = "memory/L1.identity.jsonl"
L2 = "memory/L2.playbooks.jsonl"
TOMBSTONES = "memory/tombstones.jsonl"


def line(id_="mem_a", **fields):
    """A record's line, with what it needs unless `fields` says otherwise; a field that is ... is left out."""
    record = {"id": id_, "statement": f"Statement of {id_}", "status": "active", "confidence": 0.9, **fields}
    return json.dumps({key: value for key, value in record.items() if value is not ...})


def write(root: Path, file: str, *lines: str | bytes) -> Path:
    """Write a file under the root, one line each."""
    path = root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join((item if isinstance(item, bytes) else item.encode()) + b"\n" for item in lines))
    return path


class Words:
    """An analyzer whose terms are the words themselves: the store only keeps them."""

    def __init__(self):
        self.documents = 0

    def document_terms(self, texts):
        self.documents += len(texts)
        return [" ".join(text).encode() for text in texts]
