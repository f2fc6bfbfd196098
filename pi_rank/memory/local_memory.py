"""The memory that a project's settings lead to, and whether its user has said that it may speak."""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path

import msgspec

from pi_rank.errors import ConfigError, ContextError, UntrustedWarning
from pi_rank.files.foreign import read_foreign, why_not_own
from pi_rank.memory.files import MOST_MEMORY_BYTES
from pi_rank.memory.governed import governed_files
from pi_rank.memory.settings import Settings, find_settings, read_settings
from pi_rank.memory.trusted import Trusted, is_trusting, trusted_folders, write_trusted

CONFIG = "config.json"


def local_memory(folder: Path) -> Path | None:
    """The memory of the settings that count in a folder; None where there is none, or it is not trusted.

    A memory below the user's own `~/.pi`, where PI keeps them, needs no word. Any other, in the project or
    outside of it, does (`trust`), and again when its files change: else it is left out, with an
    UntrustedWarning.

    :raises ConfigError: the settings are no JSON object, or the list of trusted folders cannot be read.
    """
    settings = read_settings(folder)
    named = None if settings is None else settings.values.get("localPath")
    if settings is None or not isinstance(named, str) or not named:
        return None
    try:
        memory = _named_memory(settings, named)
        why = "" if is_trusting() or _is_pis_own(memory) else why_not_trusted(settings, memory)
    except ConfigError:
        raise
    except (OSError, RuntimeError, ValueError) as error:  # a NUL, a loop of links, nobody's home
        why = f"is not a usable path ({error})"
    if not why:
        return memory
    warnings.warn(
        f"{settings.path}: the memory {named!r} is left out: it {why}; after a look at it, "
        f"`pi-rank trust {settings.folder}` has it used, and --trust for one run",
        UntrustedWarning,
        stacklevel=1,  # one place, so that one run says it once
    )
    return None


def why_not_trusted(settings: Settings, memory: Path) -> str:
    """Why a project's memory may not be used as it is now; "" where it may."""
    entry = trusted_folders().get(str(settings.folder))
    if entry is None:
        return "is not trusted yet"
    if (entry.settings, entry.memory) != (settings.digest, str(memory.resolve())):
        return "was trusted with other settings"
    if entry.files is not None and entry.files != memory_digests(memory):
        return "has changed since it was trusted"
    return ""


def trust(folder: Path, top: Path, sources: dict[str, str], *, follow: bool = False) -> dict[str, Trusted]:
    """Have the settings and the memory of a folder used as they are now; with `follow`, whatever it will say.

    :param top: the top of its project. :param sources: SHA-256 of agents' own files there, by path below it.
    :return: what is trusted now, by folder: that of the settings, and the project's top.
    :raises ConfigError: there is nothing to trust.
    :raises OSError: the list cannot be written, or the memory not read.
    """
    entries = {}
    if not (sources or follow) or _settings(folder) is not None:
        settings = settings_of(folder)
        named = settings.values.get("localPath")
        memory = _named_memory(settings, named) if isinstance(named, str) and named else None
        files = None if follow or memory is None else memory_digests(memory)
        resolved = "" if memory is None else str(memory.resolve())
        entries[str(settings.folder)] = Trusted(settings.digest, resolved, files)
    if sources or follow:
        entry = entries.get(str(top), Trusted("", "", {}))
        entries[str(top)] = msgspec.structs.replace(entry, sources=None if follow else sources)
    write_trusted({**trusted_folders(), **entries})
    return entries


def untrust(folder: Path) -> bool:
    """Take back what `trust` said of a folder; whether there was anything.

    :raises OSError: the list cannot be written.
    """
    folders = dict(trusted_folders())
    known = [str(parent) for parent in (folder, *folder.parents) if str(parent) in folders]
    if known:
        del folders[known[0]]
        write_trusted(folders)
    return bool(known)


def settings_of(folder: Path) -> Settings:
    """The settings that a folder's project has, whoever wrote them.

    :raises ConfigError: there are none, or they cannot be read.
    """
    settings = _settings(folder)
    if settings is None:
        raise ConfigError(
            f"there is nothing to trust in {folder}: no .pi/settings.json in its project, and no file of "
            "rules for agents; --follow trusts whatever notes are and will be below it"
        )
    return settings


def _settings(folder: Path) -> Settings | None:
    try:
        return find_settings(folder)
    except OSError as error:
        raise ConfigError(f"{error.filename} cannot be used: it {error.strerror}") from None


def standing(folder: str, entry: Trusted) -> str:
    """How a trusted folder stands now: "trusted", or why it is left out."""
    try:
        if entry.settings:
            settings = settings_of(Path(folder))
            if settings.digest != entry.settings or str(settings.folder) != folder:
                return "its settings have changed since"
        memory = Path(entry.memory)
        if entry.memory and entry.files is not None and entry.files != memory_digests(memory):
            return "its memory has changed since"
        sources = entry.sources or {}
        changed = sorted(name for name in sources if _digest(Path(folder, name)) != sources[name])
    except (ConfigError, ContextError, OSError) as error:
        return str(error)
    return f"{changed[0]} has changed since" if changed else "trusted"


def memory_digests(memory: Path) -> dict[str, str]:
    """SHA-256 of each governed file of a memory, and of its config.json.

    :raises OSError: one of them cannot be read.
    """
    digests = {}
    for name in (*governed_files(memory), CONFIG):
        if digest := _digest(memory / name):
            digests[name] = digest
    return digests


def _digest(path: Path) -> str:
    """SHA-256 of a file; "" where it is missing."""
    try:
        return hashlib.sha256(read_foreign(path, MOST_MEMORY_BYTES)).hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return ""


def _named_memory(settings: Settings, named: str) -> Path:
    return settings.folder / Path(named).expanduser()


def _is_pis_own(memory: Path) -> bool:
    home = (Path.home() / ".pi").resolve()
    found = memory.resolve()
    if not found.is_relative_to(home) or not found.is_dir():
        return found.is_relative_to(home)
    return not why_not_own(found.stat())
