"""Memory roots for the tests of recall."""

from __future__ import annotations

import json

from tests.support.memory_files import replace_with

RECORDS = [
    ("mem_deploy", "Deploy orchard with make release; it stops at the canary.", ["deploy", "orchard"]),
    ("mem_canary", "The canary takes a tenth of the traffic for ten minutes.", ["canary"]),
    ("mem_pnpm", "Use pnpm, and never commit a package-lock.json.", ["pnpm"]),
    ("mem_bushu", "部署前要先检查灰度发布的错误率。", ["部署"]),
    ("mem_rocket", "Releases are announced with 🚀 in the channel.", []),
    ("mem_ci", "CI runs on every branch.", []),
]


def record(number, statement, tags, **fields):
    """A record as PI writes it."""
    return {
        "id": number,
        "layer": "L2",
        "scope": {"type": "global"},
        "statement": statement,
        "tags": tags,
        "confidence": 0.9,
        "status": "active",
        "updated_at": "2026-06-01",
        "evidence": [{"type": "session", "ref": "s1", "note": ""}],
        **fields,
    }


def write_root(folder, records=RECORDS):
    """A memory root with records of (id, statement, tags)."""
    (folder / "memory").mkdir(parents=True)
    lines = "".join(json.dumps(record(*fields), ensure_ascii=False) + "\n" for fields in records)
    replace_with(folder / "memory" / "L2.playbooks.jsonl", lines.encode())
    return folder
