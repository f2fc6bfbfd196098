"""Where stores lie, and who may look into them: their folders and files are their owner's alone."""

from __future__ import annotations

import os
from pathlib import Path

STORE_NAME = "store.sqlite3"


def stores_folder() -> Path:
    """The folder of all stores that are nowhere else: in the user's cache folder, or PI_RANK_CACHE_DIR."""
    import platformdirs

    cache = os.environ.get("PI_RANK_CACHE_DIR")
    return (Path(cache).expanduser() if cache else Path(platformdirs.user_cache_dir("pi-rank"))) / "stores"


def is_default_place(path: Path) -> bool:
    """Whether nobody but us puts a file there."""
    folders = path.absolute().parents
    return path.name == STORE_NAME and len(folders) > 1 and _same(folders[1], stores_folder())


def make_place(path: Path) -> None:
    """Make the file of a new store, and the folders that are missing, for their owner alone.

    :raises OSError: they cannot be made.
    """
    missing = [folder for folder in (path.parent, *path.parent.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
    if is_default_place(path):  # made by an earlier version, perhaps
        for folder in (path.parent, path.parent.parent):
            close_to_others(folder)
    # Never a file that is there: to close it would take away the locks that SQLite has on it in this process.
    if not path.exists():
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            return  # another process was first


def close_to_others(path: Path) -> None:
    """Take a file or folder of ours out of other users' reach, where it is ours and they can."""
    found = path.stat()
    if os.name == "posix" and found.st_mode & 0o077 and found.st_uid == os.geteuid():
        path.chmod(found.st_mode & 0o7700)


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
