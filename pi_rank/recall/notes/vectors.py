"""Vectors of notes, kept in a file of ours beside the notes: the next start need not embed them again."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from pi_rank.ranking.array_file import CacheMismatch, read_arrays, write_arrays
from pi_rank.store.vectors import VectorRows, unit_rows

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

_KIND = "vectors of notes 1"
_HASH_BYTES = 32
# The file is written whole. Until so many vectors are new, and this share of those in it, a crash costs them.
SAVE_VECTORS, SAVE_SHARE = 1_000, 0.25

_log = logging.getLogger("pi_rank")


class NoteVectors:
    """The vectors of one model by the hash of the text. What is lost of them is embedded again.

    :param path: the file; None keeps them in memory only.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._model_id: str | None = None
        self._found: dict[bytes, Vector] = {}
        self._in_file = 0
        self._unsaved = 0

    def use(self, model_id: str | None) -> None:
        """From now on those of this model: what the file has of it. None: of no model."""
        self._model_id = model_id
        self._found = {} if self._path is None or model_id is None else _read(self._path, model_id)
        self._in_file, self._unsaved = len(self._found), 0

    def lacks(self, text_hash: bytes) -> bool:
        """Whether a text is to be embedded still."""
        return self._model_id is not None and text_hash not in self._found

    def add(self, text_hashes: Sequence[bytes], matrix: Vector) -> None:
        """Take in vectors of the model, float32[n, dimension], one row for each text."""
        self._found.update(zip(text_hashes, matrix, strict=True))
        self._unsaved += len(text_hashes)

    def rows(self, text_hashes: Iterable[bytes]) -> VectorRows:
        """What there is of these texts."""
        found = {name: vector for name in text_hashes if (vector := self._found.get(name)) is not None}
        matrix = np.array(list(found.values()), np.float32)
        return VectorRows(0, list(found), matrix.reshape(len(found), -1 if found else 0))

    def keep_only(self, text_hashes: Collection[bytes]) -> None:
        """Forget all others."""
        if gone := self._found.keys() - text_hashes:
            self.forget(gone)

    def forget(self, text_hashes: Iterable[bytes]) -> None:
        """Forget these, in the file too: their texts have been taken back."""
        for name in list(text_hashes):
            self._found.pop(name, None)
        if self._in_file:
            self._write()
        elif self._path is not None:
            self._remove(self._path)  # of another model, perhaps: it is not searched for single texts

    def save(self, *, last: bool = False) -> None:
        """Write the file where that pays.

        :param last: nothing comes after this.
        """
        least = 0 if last else SAVE_VECTORS + SAVE_SHARE * self._in_file
        if self._unsaved > least:
            self._write()

    def _write(self) -> None:
        if self._path is None or self._model_id is None:
            return
        rows = self.rows(self._found)
        arrays: dict[str, NDArray[Any]] = {
            "hashes": np.frombuffer(b"".join(rows.text_hashes), np.uint8),
            "vectors": rows.matrix.ravel(),
        }
        try:
            write_arrays(self._path, _KIND, self._model_id, arrays)
        except OSError as error:
            _log.warning("%s was not written (%s): notes will be embedded again", self._path, error)
            self._remove(self._path)  # it may hold what was taken back
        else:
            self._in_file, self._unsaved = len(self._found), 0

    def _remove(self, path: Path) -> None:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            _log.warning("%s cannot be removed: %s", path, error)
        else:
            self._in_file = 0


def _read(path: Path, model_id: str) -> dict[bytes, Vector]:
    try:
        arrays = read_arrays(path, _KIND, model_id)
        names = arrays["hashes"].reshape(-1, _HASH_BYTES)
        matrix = arrays["vectors"].reshape(len(names), -1 if len(names) else 0)
    except (CacheMismatch, KeyError, ValueError) as error:
        if path.exists():
            _log.info("notes are embedded again: %s", error)
        return {}
    sound = unit_rows(matrix)
    return {name.tobytes(): row for name, row, good in zip(names, matrix, sound, strict=True) if good}
