"""Reads PI's memory files, and never writes there."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

import msgspec

from pi_rank.errors import MemoryRootError
from pi_rank.memory.config import RootConfig
from pi_rank.memory.config_file import ConfigFile
from pi_rank.memory.contents import PROFILES, TOMBSTONES, RecordFile, RootContents, RootFiles, decode_files
from pi_rank.memory.files import (
    FileVersion,
    Fingerprint,
    is_half_written,
    is_known,
    read_version,
    without_bom,
)
from pi_rank.memory.governed import LAYER_FILES, PROJECTS, governed_files, project_files
from pi_rank.memory.local_memory import local_memory
from pi_rank.memory.notes import Notes, NotesReader
from pi_rank.memory.sources.mixed import RootSources, label_of
from pi_rank.memory.sources.protocol import SourceOpener, SourceSpec

WRITER_POLL_SECONDS = 0.1


class MemoryRoot:
    """A folder of PI's memory files. Nothing is opened until something is read."""

    def __init__(
        self,
        path: str | Path,
        *,
        kept_config: Path | None = None,
        writer_seconds: float = 0.0,
        opener: SourceOpener | None = None,
        sources: Sequence[SourceSpec] | None = None,
    ) -> None:
        """:param kept_config: where to note what config.json says, for when it cannot be read.
        :param writer_seconds: how long to wait for a file that seems half written, instead of keeping what it
            held: for who asks to be brought up to date, and not for turns.
        :param opener: makes the sources of memory in other forms (`pi_rank.sources`); None reads PI's alone.
        :param sources: used instead of those that config.json names; then the folder may be missing.
        """
        self.path = Path(path).expanduser().absolute()
        self._sources = None if opener is None else RootSources(opener, self.path)
        self._given = None if sources is None else tuple(map(_named, sources))
        self._notes = NotesReader(self.path)
        self._config = ConfigFile(self.path / "config.json", kept_config)
        self._writer_seconds = writer_seconds

    def read(self, known: Mapping[str, Fingerprint] | None = None) -> RootContents:
        """Every record, tombstone and profile. A line that is not usable is skipped and reported.

        :param known: what the files looked like before: one that is being written now is not read by halves.
        :raises MemoryRootError: the root is missing, is no folder, or cannot be listed.
        """
        return decode_files(self.read_files(known))

    def read_files(self, known: Mapping[str, Fingerprint] | None = None) -> RootFiles:
        """The files' bytes, for `decode_files`.

        :raises MemoryRootError: as `read`.
        """
        self.require_folder()
        files = _RootReader(self.path, known or {}, self._writer_seconds, is_pis=not self._specs()).read()
        if self._sources is None:
            return files
        found = self._sources.read(self._specs(), known or {})
        return files._replace(
            records=[*found.record_files(), *files.records],  # of two with one id, PI's own is the later
            warnings=[*files.warnings, *found.warnings],
            fingerprints={**files.fingerprints, **found.fingerprints},
            unreadable=files.unreadable | found.unreadable,
            skipped=found.skipped,
        )

    def _specs(self) -> tuple[SourceSpec, ...]:
        return self.config().sources if self._given is None else self._given

    def unchanged_since(self, known: Mapping[str, Fingerprint]) -> bool:
        """Whether size and time alone say that every governed file is what it was at `known`.

        :raises MemoryRootError: the root is missing, is no folder, or cannot be listed.
        """
        self.require_folder()
        try:
            names = [name for name in governed_files(self.path) if (self.path / name).exists()]
        except OSError:
            return False
        foreign = {name: seen for name, seen in known.items() if label_of(name)}
        own = sorted(known.keys() - foreign.keys())
        if names != own or not all(is_known(self.path / name, known[name]) for name in names):
            return False
        return self._sources is None or not self._sources.changed_since(self._specs(), foreign)

    def notes(self, today: date) -> Notes:
        """Scratchpad, daily log and sessions of a day, as they are now."""
        return self._notes.read(today)

    def config(self) -> RootConfig:
        """`config.json` as it is now, or as it last was (see `ConfigFile.read`)."""
        return self._config.read()

    def keep_config(self) -> tuple[str, ...]:
        """Note what `config.json` says, for processes that begin while it cannot be read; why not, if so."""
        try:
            self._config.keep()
        except OSError as error:
            return (f"what config.json says could not be noted beside the store ({_why(error)})",)
        return ()

    def require_folder(self) -> None:
        """Raises MemoryRootError, saying what to do, where the root is missing or is no folder."""
        try:
            with os.scandir(self.path):
                return
        except NotADirectoryError:
            problem = "is not a folder"
        except FileNotFoundError:
            if self._given is not None:
                return
            problem = "does not exist"
        except (OSError, ValueError) as error:
            problem = f"cannot be read ({_why(error)})"
        raise MemoryRootError(
            f"the memory root {self.path} {problem}; "
            "give PI's memory folder as the root, or set PI_MEMORY_ROOT"
        )


class _RootReader:
    """One reading of a root: collects files, and everything that went wrong, as it goes."""

    def __init__(
        self, root: Path, known: Mapping[str, Fingerprint], writer_seconds: float, *, is_pis: bool
    ) -> None:
        self.root = root
        self._is_pis = is_pis
        self.known = known
        self._until = time.monotonic() + writer_seconds
        self.warnings: list[str] = []
        self.fingerprints: dict[str, Fingerprint] = {}
        self.unreadable: set[str] = set()

    def read(self) -> RootFiles:
        if self._is_pis and not (self.root / "memory").is_dir():
            self.warnings.append(f"the folder {self.root / 'memory'} is missing: is this PI's memory root?")
        records = [RecordFile(name, self._data(name), layer, None) for name, layer in LAYER_FILES]
        for name in self._project_files():
            records.append(RecordFile(name, self._data(name), "L2", Path(name).stem))
        return RootFiles(
            root=self.root,
            records=records,
            tombstones=self._data(TOMBSTONES),
            profiles=self._data(PROFILES),
            warnings=self.warnings,
            fingerprints=self.fingerprints,
            unreadable=frozenset(self.unreadable),
        )

    def _data(self, file: str) -> bytes:
        """The file's bytes; none where it is missing or cannot be read."""
        try:
            version = self._version(file)
        except (FileNotFoundError, NotADirectoryError):
            return b""
        except OSError as error:
            self._cannot_read(file, _why(error))
            return b""
        if version.data.startswith((b"\xff\xfe", b"\xfe\xff")):
            self._cannot_read(file, "it is UTF-16; save it as UTF-8")
            return b""
        if is_half_written(version, self.known.get(file)):
            self._cannot_read(file, "it has lost its end and is being written")
            return b""
        if not version.stable:
            self.warnings.append(f"{file} kept changing while it was read; sync again when it is quiet")
        self.fingerprints[file] = version.fingerprint
        return without_bom(version.data)

    def _version(self, file: str) -> FileVersion:
        """The file as it is now, or once it is believed, where there is time to wait for that."""
        version = read_version(self.root / file)
        while is_half_written(version, self.known.get(file)) and time.monotonic() < self._until:
            time.sleep(WRITER_POLL_SECONDS)
            version = read_version(self.root / file)
        return version

    def _project_files(self) -> list[str]:
        try:
            names, odd = project_files(self.root)
        except OSError as error:
            self._cannot_read(PROJECTS, _why(error))
            return []
        self.warnings += [
            f"{PROJECTS}{name!a} is not read: its name is not Unicode; rename it" for name in odd
        ]
        return names

    def _cannot_read(self, file: str, why: str) -> None:
        self.unreadable.add(file)
        if file in self.known:  # its end is what it is compared with next time
            self.fingerprints[file] = self.known[file]._replace(settled=False)
        self.warnings.append(f"{file} cannot be read ({why}); what it held at the last sync is kept")


def _named(spec: SourceSpec) -> SourceSpec:
    """A source that whoever opens the root asked for; without a path, where its user keeps it."""
    return spec if spec.path is not None else msgspec.structs.replace(spec, named=True)


def find_memory_root(explicit: str | Path | None = None, working_directory: str | Path | None = None) -> Path:
    """Where the memory is: `explicit`, else PI_MEMORY_ROOT, else the project's own, else PI's default.

    The project's own is `localPath` in its `.pi/settings.json`, relative to the folder that holds `.pi`,
    where the user has trusted it or it lies below `~/.pi` (see `local_memory`).

    :raises ConfigError: the project's settings file is not JSON: its memory must not be mixed up with
    another's.
    """
    if explicit is not None:
        return Path(explicit).expanduser()
    if from_environment := os.environ.get("PI_MEMORY_ROOT"):
        return Path(from_environment).expanduser()
    if working_directory and (memory := local_memory(Path(working_directory).expanduser().absolute())):
        return memory
    return Path("~/.pi/agent/pi-memory").expanduser()


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
