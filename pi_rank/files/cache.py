"""The folder of what can be made again: stores, fetched models."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """PI_RANK_CACHE_DIR, or the user's cache folder as the operating system has it."""
    import platformdirs

    chosen = os.environ.get("PI_RANK_CACHE_DIR")
    return Path(chosen).expanduser() if chosen else Path(platformdirs.user_cache_dir("pi-rank"))
