"""Which files of a root are governed memory."""

from __future__ import annotations

import os
from pathlib import Path

from pi_rank.memory.contents import PROFILES, TOMBSTONES
from pi_rank.memory.records import Layer

PROJECTS = "memory/projects/"
LAYER_FILES: tuple[tuple[str, Layer], ...] = (
    ("memory/L1.identity.jsonl", "L1"),
    ("memory/L2.playbooks.jsonl", "L2"),
)


def governed_files(root: Path) -> list[str]:
    """The files whose records, markers and profiles count, relative to the root, sorted; they need not exist.

    :raises OSError: the folder of projects cannot be listed.
    """
    names, _ = project_files(root)
    return sorted([*(file for file, _ in LAYER_FILES), *names, TOMBSTONES, PROFILES])


def project_files(root: Path) -> tuple[list[str], list[str]]:
    """The project files relative to the root, and those whose names cannot be written down; both sorted.

    :raises OSError: their folder cannot be listed.
    """
    folder = root / PROJECTS
    if not os.path.lexists(folder):
        return [], []
    names = sorted(name for name in os.listdir(folder) if name.endswith(".jsonl"))  # noqa: PTH208
    return [PROJECTS + name for name in names if _is_text(name)], [n for n in names if not _is_text(n)]


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
