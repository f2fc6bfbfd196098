"""The program that a long-lived process runs, by whose files an upgrade is noticed."""

from __future__ import annotations

import sys
import time
from pathlib import Path


class Program:
    """The files of this package that are loaded, by which an upgrade is noticed."""

    def __init__(self) -> None:
        self._written: dict[str, int] = {}
        self._started = time.time_ns()
        self.changed()

    def changed(self) -> bool:
        """Whether a file was written after this began, or is another than when it was first seen here."""
        return any(self._is_new(file) for file in _loaded_files())

    def _is_new(self, file: str) -> bool:
        try:
            written = Path(file).stat().st_mtime_ns
        except OSError:
            return True  # removed: the upgrade is under way
        return written > self._started or self._written.setdefault(file, written) != written


def _loaded_files() -> list[str]:
    modules = [module for name, module in list(sys.modules.items()) if name.split(".")[0] == "pi_rank"]
    return [file for module in modules if (file := getattr(module, "__file__", None))]
