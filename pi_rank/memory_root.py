"""Reads PI's memory files, and never writes there."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from pi_rank.errors import MemoryRootError, RecordError
from pi_rank.files import Fingerprint, LiveFile, read_version, refreshed, without_bom
from pi_rank.notes import Notes, NotesReader
from pi_rank.project import read_settings
from pi_rank.records import Layer, MemoryRecord, decode_object, decode_record
from pi_rank.results import Skipped
from pi_rank.root_config import RootConfig, parse_config

TOMBSTONES = "memory/tombstones.jsonl"
PROFILES = "memory/profiles.jsonl"
PROJECTS = "memory/projects/"
_LAYER_FILES: tuple[tuple[str, Layer], ...] = (
    ("memory/L1.identity.jsonl", "L1"),
    ("memory/L2.playbooks.jsonl", "L2"),
)


class SourcedRecord(NamedTuple):
    """A record and where it was read: file relative to the root, with forward slashes, and 1-based line."""

    record: MemoryRecord
    file: str
    line: int


class RootContents(msgspec.Struct):
    """All governed memory of a root, as one reading found it.

    Ids are unique in `records`, which are in file order. `unreadable` names the files (and, ending in `/`,
    folders) that are there but could not be read: what they hold is unknown, which is not the same as
    nothing.
    """

    root: Path
    records: list[SourcedRecord]
    tombstones: frozenset[str]
    skipped: list[Skipped]
    profiles: list[dict[str, Any]]
    warnings: list[str]
    fingerprints: dict[str, Fingerprint]
    unreadable: frozenset[str]


class MemoryRoot:
    """A folder of PI's memory files. Nothing is opened until something is read."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).expanduser().absolute()
        self._notes = NotesReader(self.path)
        self._config = LiveFile(self.path / "config.json", parse_config)

    def read(self) -> RootContents:
        """Every record, tombstone and profile. A line that is not usable is skipped and reported.

        :raises MemoryRootError: the root is missing, is no folder, or cannot be listed.
        """
        self.require_folder()
        return _RootReader(self.path).read()

    def unchanged_since(self, known: Mapping[str, Fingerprint]) -> dict[str, Fingerprint] | None:
        """Fresh fingerprints if every governed file is what it was at `known`, else None. Decodes nothing.

        :raises MemoryRootError: the root is missing, is no folder, or cannot be listed.
        """
        self.require_folder()
        try:
            names = [name for name in _governed_files(self.path) if (self.path / name).exists()]
        except OSError:
            return None
        if names != sorted(known):
            return None
        fresh: dict[str, Fingerprint] = {}
        for name in names:
            fingerprint = refreshed(self.path / name, known[name])
            if fingerprint is None:
                return None
            fresh[name] = fingerprint
        return fresh

    def notes(self, today: date) -> Notes:
        """Scratchpad, daily log and sessions of a day, as they are now."""
        return self._notes.read(today)

    def config(self) -> RootConfig:
        """`config.json` as it is now. What is wrong in it becomes a warning and the default is used."""
        try:
            return self._config.read()
        except OSError as error:
            return RootConfig(warnings=(f"config.json cannot be read ({_why(error)}); defaults are used",))

    def require_folder(self) -> None:
        """Raises MemoryRootError, saying what to do, where the root is missing or is no folder."""
        try:
            with os.scandir(self.path):
                return
        except NotADirectoryError:
            problem = "is not a folder"
        except FileNotFoundError:
            problem = "does not exist"
        except (OSError, ValueError) as error:
            problem = f"cannot be read ({_why(error)})"
        raise MemoryRootError(
            f"the memory root {self.path} {problem}; "
            "give PI's memory folder as the root, or set PI_MEMORY_ROOT"
        )


class _RootReader:
    """One reading of a root: collects records, and everything that went wrong, as it goes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.records: dict[str, SourcedRecord] = {}
        self.skipped: list[Skipped] = []
        self.warnings: list[str] = []
        self.fingerprints: dict[str, Fingerprint] = {}
        self.unreadable: set[str] = set()

    def read(self) -> RootContents:
        if not (self.root / "memory").is_dir():
            self.warnings.append("there is no folder named memory here: is this PI's memory root?")
        for file, layer in _LAYER_FILES:
            self._read_records(file, layer, None)
        for file in self._project_files():
            self._read_records(file, "L2", Path(file).stem)
        tombstones = frozenset(self._tombstones())
        profiles = [profile for _, profile in self._objects(PROFILES)]
        return RootContents(
            root=self.root,
            records=list(self.records.values()),
            tombstones=tombstones,
            skipped=self.skipped,
            profiles=profiles,
            warnings=self.warnings,
            fingerprints=self.fingerprints,
            unreadable=frozenset(self.unreadable),
        )

    def _read_records(self, file: str, layer: Layer, project: str | None) -> None:
        for number, line in self._lines(file):
            try:
                record = decode_record(line, layer=layer, project=project)
            except RecordError as error:
                self.skipped.append(Skipped(file, number, str(error)))
                continue
            earlier = self.records.pop(record.id, None)  # popped, so that the order is that of the last ones
            self.records[record.id] = SourcedRecord(record, file, number)
            if earlier is not None:
                reason = f"duplicate id {record.id!r}: the later record at {file}:{number} is used"
                self.skipped.append(Skipped(earlier.file, earlier.line, reason))

    def _tombstones(self) -> Iterator[str]:
        for number, marker in self._objects(TOMBSTONES):
            deleted = marker.get("deleted_record_id")
            if isinstance(deleted, str) and deleted:
                yield deleted
            else:
                reason = f"deleted_record_id: expected an id, got {deleted!r:.60}"
                self.skipped.append(Skipped(TOMBSTONES, number, reason))

    def _objects(self, file: str) -> Iterator[tuple[int, dict[str, Any]]]:
        for number, line in self._lines(file):
            try:
                yield number, decode_object(line)
            except RecordError as error:
                self.skipped.append(Skipped(file, number, str(error)))

    def _lines(self, file: str) -> Iterator[tuple[int, bytes]]:
        """Numbered lines of a file that are not blank; a missing file has none."""
        for number, line in enumerate(self._data(file).split(b"\n"), 1):
            stripped = line.strip()
            if stripped:
                yield number, stripped

    def _data(self, file: str) -> bytes:
        try:
            version = read_version(self.root / file)
        except (FileNotFoundError, NotADirectoryError):
            return b""
        except OSError as error:
            self._cannot_read(file, _why(error))
            return b""
        if version.data.startswith((b"\xff\xfe", b"\xfe\xff")):
            self._cannot_read(file, "it is UTF-16; save it as UTF-8")
            return b""
        if not version.stable:
            self.warnings.append(f"{file} kept changing while it was read; sync again when it is quiet")
        self.fingerprints[file] = version.fingerprint
        return without_bom(version.data)

    def _project_files(self) -> list[str]:
        try:
            return _project_files(self.root)
        except OSError as error:
            self._cannot_read(PROJECTS, _why(error))
            return []

    def _cannot_read(self, file: str, why: str) -> None:
        self.unreadable.add(file)
        self.warnings.append(f"{file} cannot be read ({why}); what it held at the last sync is kept")


def find_memory_root(explicit: str | Path | None = None, working_directory: str | Path | None = None) -> Path:
    """Where the memory is: `explicit`, else PI_MEMORY_ROOT, else the project's own, else PI's default.

    The project's own is `localPath` in its `.pi/settings.json`, relative to the folder that holds `.pi`.

    :raises ConfigError: the project's settings file is not JSON: its memory must not be mixed up with
    another's.
    """
    if explicit is not None:
        return Path(explicit).expanduser()
    if from_environment := os.environ.get("PI_MEMORY_ROOT"):
        return Path(from_environment).expanduser()
    found = read_settings(Path(working_directory).expanduser().absolute()) if working_directory else None
    local_path = found[1].get("localPath") if found else None
    if found and isinstance(local_path, str) and local_path:
        return found[0] / Path(local_path).expanduser()
    return Path("~/.pi/agent/pi-memory").expanduser()


def _governed_files(root: Path) -> list[str]:
    return sorted([*(file for file, _ in _LAYER_FILES), *_project_files(root), TOMBSTONES, PROFILES])


def _project_files(root: Path) -> list[str]:
    """Names of the project files relative to the root, sorted.

    :raises OSError: their folder cannot be listed, or a name in it cannot be written down.
    """
    folder = root / PROJECTS
    if not os.path.lexists(folder):
        return []
    names = sorted(PROJECTS + name for name in os.listdir(folder) if name.endswith(".jsonl"))  # noqa: PTH208
    for name in names:
        if not _is_text(name):
            raise OSError(f"the file name {name!a} is not Unicode; rename it")
    return names


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
