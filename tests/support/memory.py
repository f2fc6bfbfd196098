"""Small memory roots for tests, and engines on them."""

from __future__ import annotations

import json
from contextlib import contextmanager

from pi_rank import MemoryEngine
from tests.support.memory_files import replace_with

DEFAULTS = {
    "layer": "L2",
    "scope": {"type": "global"},
    "tags": [],
    "statement": "s",
    "confidence": 0.9,
    "created_at": "2026-06-30",
    "updated_at": "2026-06-30",
    "status": "active",
}


def write_root(root, records, tombstones=(), config=None):
    """A memory root holding `records`, each completed by DEFAULTS; returns its path."""
    memory = root / "memory"
    memory.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(DEFAULTS | record, ensure_ascii=False) for record in records]
    replace_with(memory / "L2.playbooks.jsonl", "".join(f"{line}\n" for line in lines).encode())
    deleted = [json.dumps({"deleted_record_id": record_id}) for record_id in tombstones]
    replace_with(memory / "tombstones.jsonl", "".join(f"{line}\n" for line in deleted).encode())
    if config is not None:
        (root / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return root


@contextmanager
def engine_on(tmp_path, records, *, model=None, reranker=None, **root):
    """A synced engine on a new memory root below `tmp_path`, lexical only by default."""
    path = write_root(tmp_path / "root", records, **root)
    with MemoryEngine.open(path, store=tmp_path / "store.sqlite3", model=model, reranker=reranker) as engine:
        engine.sync()
        yield engine
