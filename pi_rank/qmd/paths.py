"""Where configuration, index and daemon socket are: where qmd users look for theirs, in files of our own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pi_rank.qmd.errors import QmdError
from pi_rank.qmd.launcher import index_stem

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Places(NamedTuple):
    """The files of one index."""

    name: str
    config: Path
    database: Path
    socket: Path
    daemon_lock: Path
    embed_lock: Path
    log: Path


def places(environment: Mapping[str, str], name: str = "index") -> Places:
    """The files of the index `name`, by QMD_CONFIG_DIR, XDG_CONFIG_HOME, XDG_CACHE_HOME and INDEX_PATH.

    :raises QmdError: the name would lead out of the folder.
    """
    if not _NAME.fullmatch(name):
        raise QmdError(
            f"Not a name for an index: {name!r}\nUse letters, digits, dots, dashes and underscores."
        )
    home = environment.get("HOME") or str(Path.home())
    folder = environment.get("QMD_CONFIG_DIR")
    if not folder:
        folder = f"{environment.get('XDG_CONFIG_HOME') or f'{home}/.config'}/qmd"
    stem = index_stem({"HOME": home, **environment}, name)
    return Places(
        name=name,
        config=Path(folder) / f"{name}.pi-rank.json",
        database=Path(f"{stem}.sqlite3"),
        socket=Path(f"{stem}.sock"),
        daemon_lock=Path(f"{stem}.daemon.lock"),
        embed_lock=Path(f"{stem}.embed.lock"),
        log=Path(f"{stem}.daemon.log"),
    )
