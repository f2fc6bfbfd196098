"""What the block quotes besides records: scratchpad, the day's log, and the day's sessions."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import TypeVar

import msgspec

from pi_rank.errors import RecordError
from pi_rank.memory.files import LiveFile
from pi_rank.memory.records import decode_object, without_nulls

_T = TypeVar("_T")
SCRATCHPAD = "scratchpad.md"
SESSION_INDEX = "sessions/session-index.jsonl"
MOST_INDEX_BYTES = 64 << 20
NAMED_LINES = 5  # of the index that cannot be used; a turn names no more


class SessionSummary(
    msgspec.Struct, frozen=True, rename={"first_message": "firstMessage", "started_at": "startedAt"}
):
    """A past session as PI's index has it. `date` is its day, `started_at` its start, as written."""

    id: str
    date: str
    project: str = ""
    name: str = ""
    first_message: str = ""
    decisions: tuple[str, ...] = ()
    started_at: str = ""
    archived: bool = False
    cwd: str = ""

    @property
    def project_name(self) -> str:
        """The project: `project`, but the whole name of its folder where PI has kept only the end of it.

        PI reads the name from the folder of its session files, in which `my-app` and `/my/app` are the same.
        """
        folder = re.split(r"[/\\]", self.cwd.rstrip("/\\"))[-1]
        return folder if self.project and folder.endswith(f"-{self.project}") else self.project


class Notes(msgspec.Struct, frozen=True):
    """The live text of one day; empty where a file is missing. `sessions` are that day's, the newest first.

    Archived sessions are none of them. Those that started at one time, or say no time, are in index order.
    """

    scratchpad: str = ""
    daily: str = ""
    sessions: tuple[SessionSummary, ...] = ()
    warnings: tuple[str, ...] = ()


class _SessionIndex(msgspec.Struct, frozen=True):
    by_day: dict[str, tuple[SessionSummary, ...]]
    warnings: tuple[str, ...]


class NotesReader:
    """Reads a root's notes on every turn, from memory where the files are unchanged."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._scratchpad = LiveFile(root / SCRATCHPAD, _decode_text)
        self._sessions = LiveFile(root / SESSION_INDEX, _parse_sessions, MOST_INDEX_BYTES)
        self._daily = ("", self._scratchpad)  # file name and file; replaced when the day changes

    def read(self, today: date) -> Notes:
        """The notes of a day. Of a file that cannot be read counts what it last said, with a warning."""
        daily = f"daily/{today.isoformat()}.md"
        if self._daily[0] != daily:
            self._daily = (daily, LiveFile(self._root / daily, _decode_text))
        warnings: list[str] = []
        index = _read(self._sessions, SESSION_INDEX, warnings) or _SessionIndex({}, ())
        return Notes(
            scratchpad=_read(self._scratchpad, SCRATCHPAD, warnings) or "",
            daily=_read(self._daily[1], daily, warnings) or "",
            sessions=index.by_day.get(today.isoformat(), ()),
            warnings=(*warnings, *index.warnings),
        )


def _read(file: LiveFile[_T], name: str, warnings: list[str]) -> _T | None:
    try:
        return file.read()
    except OSError as error:
        used = "it is left out" if file.last is None else "what it last said is used"
        warnings.append(f"{name} cannot be read ({error.strerror or error}); {used}")
        return file.last


def _decode_text(data: bytes) -> str:
    return data.decode("utf-8", "replace").replace("\r\n", "\n")


def _parse_sessions(data: bytes) -> _SessionIndex:
    """Sessions by day; of two lines with one id the later counts, as PI appends."""
    latest: dict[str, SessionSummary] = {}
    skipped = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            try:
                summary = msgspec.convert(without_nulls(decode_object(line)), SessionSummary)
            except (RecordError, msgspec.ValidationError) as error:
                skipped.append(f"{SESSION_INDEX}:{number} is skipped: {error}")
                continue
            latest[summary.id] = summary
    by_day: dict[str, list[SessionSummary]] = {}
    for summary in sorted(latest.values(), key=lambda summary: summary.started_at, reverse=True):
        if not summary.archived:
            day = summary.date[:10]  # a day, or a moment that begins with its day
            by_day.setdefault(day, []).append(summary)
    if len(skipped) > NAMED_LINES:
        more = f"{SESSION_INDEX}: {len(skipped) - NAMED_LINES} more of its lines are skipped"
        skipped[NAMED_LINES:] = [more]
    return _SessionIndex({day: tuple(sessions) for day, sessions in by_day.items()}, tuple(skipped))
