"""The id by which PI itself knows a folder's project. Its rules are not ours, and its records carry it."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

_NOT_LATIN = re.compile("[^a-z0-9]+")


def short_hash(text: str) -> str:
    """The first 16 hex digits of SHA-256, by which PI names what has no name."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def pi_slug(name: str) -> str:
    """A name as PI writes it into ids: of Latin letters and digits only, `default` where there are none."""
    return _NOT_LATIN.sub("-", name.lower()).strip("-") or "default"


def pi_project_id(
    folder: Path, *, settings_id: str, git_root: Path | None, origin_url: str, package: str | None
) -> str:
    """PI's id of the project that `folder` belongs to, from what is found there.

    :param settings_id: `projectIdentity.project_id` of the folder's own settings: PI looks into no other.
    :param origin_url: of the git root's own `.git` folder; that of a worktree is a file, and has none.
    :param package: the name of the nearest package.json, however far up; None where there is none.
    """
    if settings_id.strip():
        return pi_slug(settings_id)
    if git_root is not None:
        return f"git-{short_hash(origin_url)}" if origin_url else f"gitroot-{short_hash(str(git_root))}"
    return pi_slug(folder.name if package is None else package)
