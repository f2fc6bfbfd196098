"""Writes a new memory root of what sources hold. Nothing that is there is ever changed."""

from __future__ import annotations

import os
import shutil
from collections import defaultdict
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from pi_rank.errors import ConfigError, ContextError, RecordError
from pi_rank.files.private import replace_private
from pi_rank.memory.contents import Skipped
from pi_rank.memory.governed import LAYER_FILES, PROJECTS
from pi_rank.memory.project import resolve_project, slug
from pi_rank.memory.records import MemoryRecord, decode_record
from pi_rank.memory.sources.mixed import RootSources
from pi_rank.memory.sources.protocol import SourceSpec
from pi_rank.sources.registry import open_sources

REVIEW_DAYS = 90
_CHANGES = "When what it was imported from says something else."
_IDENTITY, _PLAYBOOKS = (file for file, _ in LAYER_FILES)


class Imported(NamedTuple):
    """What was written: file → its records; and what could not be used."""

    files: dict[str, int]
    skipped: list[Skipped]
    warnings: list[str]


def import_memory(specs: Sequence[SourceSpec], folder: Path, root: Path, today: date) -> Imported:
    """Write all records of these sources to a new root, whole or not at all.

    They become PI's: of the project that their folder belongs to, and nobody's own reading any more.

    :param folder: what relative paths of the sources are below.
    :param today: the first day of the records' next review.
    :raises ConfigError: there is no such source, it holds nothing, or there is something at `root`.
    :raises OSError: a source cannot be read, or the root not written; then there is none.
    """
    _require_free(root)
    for spec in specs:
        open_sources(spec, folder)  # what cannot even be opened is an error here, and no warning
    found = RootSources(open_sources, folder).read(tuple(specs), {})
    if found.unreadable:
        raise ConfigError("; ".join(found.warnings))
    places = _Places()
    lines: dict[str, dict[str, bytes]] = defaultdict(dict)
    skipped = list(found.skipped)
    seen: set[str] = set()
    for name, records in found.files:
        for line, fields in records:
            try:
                record = _checked(fields, seen)
            except RecordError as error:
                skipped.append(Skipped(name, line, str(error)))
                continue
            file, written = pi_line(record, places.project_of(record), today)
            lines[file][record.id] = written
    if not lines:
        raise ConfigError(f"{', '.join(map(str, specs))}: there is no record to import")
    _write(root, {file: b"".join(each.values()) for file, each in lines.items()})
    return Imported({file: len(each) for file, each in lines.items()}, skipped, found.warnings)


def pi_line(record: MemoryRecord, project: str | None, today: date) -> tuple[str, bytes]:
    """The file of a record in a root, and its line with every field that PI asks for.

    A date that is not known stays empty: PI and we then say that we do not know how old it is.
    """
    fields: dict[str, Any] = msgspec.to_builtins(record)
    extra = fields.pop("extra", {})
    given = {"type": record.scope.type, **fields.pop("scope", {})}
    scope = {"type": "project", "project": project} if project else given
    written = {
        **{key: value for key, value in extra.items() if key != "read_by"},
        "tags": [],
        "stability": "semi-stable",
        "created_at": fields.get("updated_at", ""),
        "updated_at": "",
        "review": {
            "cadence_days": REVIEW_DAYS,
            "next_review": (today + timedelta(REVIEW_DAYS)).isoformat(),
            "change_condition": _CHANGES,
        },
        "supersedes": [],
        "superseded_by": [],
        "vault_ref": None,
        **fields,
        "scope": scope,
        "evidence": [{"type": "", "ref": "", "note": "", **each} for each in fields.get("evidence", [{}])],
    }
    if record.layer == "L1":
        file = _IDENTITY
    else:
        name = slug(project) if project else ""
        file = f"{PROJECTS}{name}.jsonl" if name else _PLAYBOOKS
    return file, msgspec.json.encode(written) + b"\n"


class _Places:
    """The projects that records' folders belong to."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def project_of(self, record: MemoryRecord) -> str | None:
        """The name of the project that a record is of; None where it is of none."""
        project = record.scope.project if record.scope.type == "project" else None
        if not project or not Path(project).is_absolute():
            return project
        if project not in self._known:
            folder = _folder_named(project[1:]) if project.startswith("/-") else Path(project)
            try:
                self._known[project] = project if folder is None else resolve_project(folder).name
            except (ConfigError, ContextError):
                self._known[project] = Path(project).name
        return self._known[project]


def _folder_named(name: str) -> Path | None:
    """The folder whose path is `name` where all but letters and digits are `-`; None where there is none."""
    level = [Path(Path.home().anchor)]
    while level:
        below = []
        for folder in level:
            for child in _folders(folder):
                called = "".join(c if c.isascii() and c.isalnum() else "-" for c in str(child))
                if called == name:
                    return child
                if name.startswith(f"{called}-"):
                    below.append(child)
        level = below
    return None


def _folders(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir() and not path.is_symlink())
    except OSError:
        return []


def _checked(fields: dict[str, Any], seen: set[str]) -> MemoryRecord:
    record = decode_record(msgspec.json.encode(fields))
    if record.id in seen:
        raise RecordError(f"duplicate id {record.id!r}: the earlier record is used")
    seen.add(record.id)
    return record


def _require_free(root: Path) -> None:
    if root.is_symlink() or (root.exists() and (not root.is_dir() or any(root.iterdir()))):
        raise ConfigError(f"{root} is there already: name a folder that is not, or an empty one")


def _write(root: Path, files: dict[str, bytes]) -> None:
    root.parent.mkdir(parents=True, exist_ok=True)
    made = root.with_name(f".{root.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    made.mkdir(mode=0o700)
    try:
        for name, data in files.items():
            path = made / name
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_private(path, data)
        if os.name == "nt" and root.exists():
            root.rmdir()
        made.rename(root)  # onto an empty folder, or none; never onto files that came meanwhile
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
