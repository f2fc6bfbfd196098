"""Where a turn is asked: what its working directory says about profile and project."""

from __future__ import annotations

import os
import time
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import NamedTuple

import msgspec

from pi_rank.context import PROJECT_PROFILE, SessionContext, last_segment
from pi_rank.memory.pi_identity import pi_slug
from pi_rank.memory.project import resolve_project, slug

# Turns of one session follow each other in one folder, and looking costs as much as a turn; a project that is
# given a new identity is known under it this many seconds later.
KNOWN_SECONDS = 1.0
FOLDERS_KEPT = 256


class Place(NamedTuple):
    """What a folder says: the profile of its project, the project's top folder, and its name.

    `pi_project_id` is PI's own id of the project where that is another one than the profile's.
    """

    profile_id: str
    project_root: str
    repository_id: str
    pi_project_id: str | None


class Places:
    """Fills in the place of turns. Threads may share it."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, Place]] = {}

    def placed(self, context: SessionContext) -> SessionContext:
        """The turn with the profile, project root and repository id of its working directory, and PI's id.

        What the turn says itself is never overridden, an empty text included. Without a working directory
        nothing is filled in; PI's id of the folder's project is not, where the turn names another profile.

        :raises ContextError, ConfigError: as `pi_rank.memory.project.resolve_project`.
        """
        folder = context.working_directory
        if not folder or None not in (context.profile_id, context.project_root, context.repository_id):
            return context
        place = self._place(folder)
        if context.profile_id not in (None, place.profile_id):
            place = place._replace(pi_project_id=None)
        missing = {name: value for name, value in place._asdict().items() if getattr(context, name) is None}
        return msgspec.structs.replace(context, **missing)

    def _place(self, folder: str) -> Place:
        now = time.perf_counter()
        until, place = self._known.get(folder, (0.0, None))
        if place is None or now >= until:
            place = find_place(folder)
            if len(self._known) >= FOLDERS_KEPT:
                self._known.clear()
            self._known[folder] = now + KNOWN_SECONDS, place
        return place


def find_place(folder: str) -> Place:
    """What a working directory says; one of another operating system only its name.

    :raises ContextError, ConfigError: as `pi_rank.memory.project.resolve_project`.
    """
    if _is_foreign(folder):
        name = last_segment(folder)
        return _place(slug(name), folder, name, pi_slug(name))
    project = resolve_project(folder)
    return _place(project.id, str(project.root), project.name, project.pi_id)


def _place(project_id: str, root: str, name: str, pi_id: str) -> Place:
    return Place(f"{PROJECT_PROFILE}{project_id}", root, name, None if pi_id == project_id else pi_id)


def _is_foreign(folder: str) -> bool:
    """Whether the path is absolute elsewhere but not here, where it would be taken for one below us."""
    own, other = (PureWindowsPath, PurePosixPath) if os.name == "nt" else (PurePosixPath, PureWindowsPath)
    return other(folder).is_absolute() and not own(folder).is_absolute() and not own(folder).anchor


def current_folder() -> str | None:
    """The folder that the process works in: where whoever asks without naming a place is.

    None where it is gone.
    """
    try:
        return str(Path.cwd())
    except FileNotFoundError:
        return None
