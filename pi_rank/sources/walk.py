"""The files of certain names below a folder: looked for before every turn, so folders are remembered."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from pi_rank.memory.files import SETTLED_NS

MOST_FOLDERS = 5_000
"""Of a project; a larger one has its first so many looked through, those near its top before others."""
# What tools put into projects; nobody keeps rules there.
_NOT_THE_PROJECTS = frozenset(
    ("node_modules", "bower_components", "vendor", "venv", "env", "site-packages", "__pycache__")
) | frozenset(("build", "dist", "target", "out"))


class _Folder(NamedTuple):
    mtime_ns: int
    folders: list[str]
    files: list[str]


class Walker:
    """Walks one tree again and again; a folder that did not change is not listed again."""

    def __init__(
        self,
        top: Path,
        wanted: Callable[[str, str], bool],
        hidden: frozenset[str] = frozenset(),
        most_folders: int = MOST_FOLDERS,
    ) -> None:
        """:param wanted: of a folder's path below the top, with slashes, and a file's name: whether to give
            it.
        :param hidden: the hidden folders to look into; links to folders are never followed.
        """
        self._top = str(top)
        self._wanted = wanted
        self._hidden = hidden
        self._most = most_folders
        self._known: dict[str, _Folder] = {}
        self.cut = False

    def names(self) -> list[str]:
        """The files' paths below the top, with slashes, in order of depth, then name.

        :raises OSError: the top cannot be listed.
        """
        seen: dict[str, _Folder] = {}
        found = []
        level = [""]
        while level:
            below = []
            for name in level:
                if len(seen) >= self._most:
                    break
                folder = self._folder(name)
                if folder is not None:
                    seen[name] = folder
                    found += [f"{name}/{file}" if name else file for file in folder.files]
                    below += [f"{name}/{child}" if name else child for child in folder.folders]
            self.cut = len(seen) >= self._most and bool(below)
            level = [] if self.cut else below
        self._known = seen
        return found

    def _folder(self, name: str) -> _Folder | None:
        path = os.path.join(self._top, name)  # noqa: PTH118  (a Path for each would double the time)
        try:
            mtime_ns = os.stat(path).st_mtime_ns  # noqa: PTH116
            known = self._known.get(name)
            return known if known and known.mtime_ns == mtime_ns else self._listed(path, name, mtime_ns)
        except OSError:
            if not name:
                raise
            return None  # gone, or not for us to look into

    def _listed(self, path: str, name: str, mtime_ns: int) -> _Folder:
        folders, files = [], []
        if time.time_ns() - mtime_ns < SETTLED_NS:
            mtime_ns = -1  # it may change once more without showing it
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if self._goes_into(entry.name):
                        folders.append(entry.name)
                elif self._wanted(name, entry.name):
                    files.append(entry.name)
        return _Folder(mtime_ns, sorted(folders), sorted(files))

    def _goes_into(self, name: str) -> bool:
        return name in self._hidden if name.startswith(".") else name not in _NOT_THE_PROJECTS
