"""The notes file: what /remember was told. Lines are only ever appended, and are on the disk before the
answer; taking a note back writes the file anew.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from pi_rank.errors import StoreError
from pi_rank.private_files import replace_private
from pi_rank.recall.notes.file_lock import FileLock

MAX_NOTES_BYTES = 1 << 30


class Note(msgspec.Struct, frozen=True, tag_field="op", tag="note"):
    """Something an agent was told to remember. `at` is an ISO 8601 date and time in UTC."""

    id: Annotated[
        str, msgspec.Meta(pattern=r"^\w{1,64}\Z")
    ]  # shown in the middle of a line, and part of an address
    at: str
    content: Annotated[str, msgspec.Meta(pattern=r"\S")]
    trigger: str | None = None


class Merge(msgspec.Struct, frozen=True, tag_field="op", tag="merge"):
    """Notes that say the same count as one from here on. Their own lines stay where they are."""

    into: str
    ids: tuple[str, ...]
    at: str


Line = Note | Merge
_decode = msgspec.json.Decoder(type=Line).decode


class NotesLog:
    """One process's hold on a notes file. `lines` is what was read at the opening; `damaged` are the numbers,
    from 1, of the lines that are none of ours: they stay in the file, and /status counts them.

    :raises StoreError: another process holds the file, or it cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damaged: list[int] = []
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(path.with_name(path.name + ".lock"))
            self._file = _open(path)
        except OSError as error:
            raise StoreError(f"the notes file {path} cannot be opened: {error.strerror or error}") from None
        try:
            self.lines = self._recover()
        except OSError as error:
            self.close()
            raise StoreError(f"the notes file {path} cannot be read: {error.strerror or error}") from None
        _sync_folder(path.parent)

    def append(self, lines: Sequence[Line]) -> None:
        """Write lines and wait until they are on the disk; all of them, or none.

        :raises OSError: they could not be written, and none of them counts.
        """
        data = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
        try:
            if self._size + len(data) > MAX_NOTES_BYTES:
                raise OSError("the notes file is full")
            written = 0
            while written < len(data):
                written += os.write(self._file, data[written:])
            os.fsync(self._file)
        except OSError:
            os.ftruncate(
                self._file, self._size
            )  # half a batch must not stay: its askers are told that it failed
            raise
        self._size += len(data)

    def remove(self, ids: Collection[str]) -> None:
        """Write the file anew without these notes: what was taken back is on the disk no more.

        :raises OSError: it could not be written; the file is as it was.
        """
        kept = b"".join(line + b"\n" for line in self._read().split(b"\n")[:-1] if not _is_of(line, ids))
        replace_private(self.path, kept)
        _sync_folder(self.path.parent)
        old, self._file = self._file, _open(self.path)
        os.close(old)
        self._size = len(kept)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)
        self._lock.release()

    def _recover(self) -> list[Line]:
        """The file's lines. What a crash left of a last one is set aside in `<file>.torn`, and cut off."""
        data = self._read()
        whole = data.rfind(b"\n") + 1
        if torn := data[whole:]:
            with self.path.with_name(self.path.name + ".torn").open("ab") as aside:
                aside.write(torn + b"\n")
                aside.flush()
                os.fsync(aside.fileno())
            os.ftruncate(self._file, whole)
            os.fsync(self._file)
        self._size = whole
        lines = data[:whole].split(b"\n")[:-1]
        return [
            line for number, text in enumerate(lines, 1) if (line := self._decoded(number, text)) is not None
        ]

    def _read(self) -> bytes:
        with os.fdopen(os.dup(self._file), "rb") as file:
            file.seek(0)
            return file.read()

    def _decoded(self, number: int, text: bytes) -> Line | None:
        line = _decoded(text)
        if line is None:
            self.damaged.append(number)
        return line


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600)


def _is_of(text: bytes, ids: Collection[str]) -> bool:
    line = _decoded(text)
    if line is None:
        return False  # nobody knows what it says: it stays
    return line.id in ids if isinstance(line, Note) else line.into in ids


def _decoded(text: bytes) -> Line | None:
    """The line of a notes file; None where it is none of ours."""
    try:
        return _decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def new_note(content: str, trigger: str | None, at: str) -> Note:
    """A note with an id of its own."""
    return Note(id=f"note_{uuid.uuid4().hex}", at=at, content=content, trigger=trigger or None)


def _sync_folder(folder: Path) -> None:
    """Make a new file's name as durable as its content. Windows has no such call, and needs none."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
