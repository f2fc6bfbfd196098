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
from pi_rank.files.locks import FileLock, Held
from pi_rank.files.private import open_private, replacing, sync_folder, write_all

MAX_NOTES_BYTES = 1 << 30
_APPENDING = os.O_RDWR | os.O_CREAT | os.O_APPEND


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
            try:
                self._file = open_private(path, _APPENDING)
            except OSError:
                self._lock.release()
                raise
        except Held:
            raise StoreError(f"the notes file {path} cannot be opened: another process is using it") from None
        except OSError as error:
            raise StoreError(f"the notes file {path} cannot be opened: {error.strerror or error}") from None
        try:
            self.lines = self._recover()
        except OSError as error:
            self.close()
            raise StoreError(f"the notes file {path} cannot be read: {error.strerror or error}") from None
        sync_folder(path.parent)

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
        new = -1
        try:
            with replacing(self.path) as file:
                write_all(file, kept)
                new = os.dup(file.fileno())  # now: once the new file is in place, nothing may fail
        except BaseException:
            if new >= 0:
                os.close(new)
            raise
        old, self._file = self._file, new
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
            descriptor = open_private(self.path.with_name(self.path.name + ".torn"), _APPENDING)
            with os.fdopen(descriptor, "r+b", buffering=0) as aside:
                write_all(aside, torn + b"\n")
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
