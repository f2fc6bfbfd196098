"""Where the store of a memory collection is: the one that every other part of pi_rank uses for that root."""

from __future__ import annotations

from pathlib import Path

from pi_rank.qmd.config import MARKDOWN, MEMORY

_RECORD_FILES = ("L1.identity.jsonl", "L2.playbooks.jsonl")


def store_path(root: str) -> Path:
    """The store's file for a memory root, by this process's environment."""
    from pi_rank.store.store import default_store_path

    return default_store_path(Path(root))


def kind_of(folder: Path) -> str:
    """Whether a folder is laid out as a memory root: records of a layer, or of projects, below `memory`."""
    memory = folder / "memory"
    if any((memory / name).is_file() for name in _RECORD_FILES) or any(memory.glob("projects/*.jsonl")):
        return MEMORY
    return MARKDOWN
