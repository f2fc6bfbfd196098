"""The store's vectors: one per text and model, numbered in the order in which they came."""

from __future__ import annotations

from binascii import crc32
from typing import TYPE_CHECKING, Any, NamedTuple

from pi_rank.errors import RecordError, VectorError
from pi_rank.memory.records import decode_stored, embedded_text

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

# The plus keeps SQLite from the index on models, by which it would visit and sort all vectors to find one.
_NEW = "SELECT seq, text_hash, vector FROM vectors WHERE +model_id = ? AND seq > ? ORDER BY seq"
_SIZE = "SELECT length(vector) FROM vectors WHERE model_id = ? GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1"
_ANY_SIZE = "SELECT length(vector) FROM vectors WHERE model_id = ? LIMIT 1"
_MISSING = """
    SELECT text_hash, payload, min(rowid) AS first FROM records
    WHERE active AND text_hash NOT IN (SELECT text_hash FROM vectors WHERE model_id = ?)
    GROUP BY text_hash ORDER BY first"""
_PUT = """
    INSERT INTO vectors (model_id, text_hash, vector, checksum)
    SELECT ?1, ?2, ?3, ?4 WHERE EXISTS (SELECT 1 FROM records WHERE text_hash = ?2)
    ON CONFLICT DO NOTHING"""
VectorRow = tuple[str, bytes, bytes, int]


class VectorRows(NamedTuple):
    """Stored vectors, oldest first: float32[n, dimension]; row i is of the text with `text_hashes[i]`."""

    last: int
    text_hashes: list[bytes]
    matrix: NDArray[np.float32]


def read_vectors(connection: sqlite3.Connection, model_id: str, after: int) -> VectorRows:
    """The model's vectors numbered past `after`, but for those that are not of the length of the most."""
    import numpy as np

    found = connection.execute(_NEW, (model_id, after)).fetchall()
    last = found[-1][0] if found else after
    found = [row for row in found if type(row[1]) is bytes is type(row[2])]
    sizes = {len(row[2]) for row in found}
    if len(sizes) > 1 or any(size % 4 for size in sizes):
        size = _usual_size(connection, model_id)
        found = [row for row in found if len(row[2]) == size]
    flat = np.frombuffer(b"".join(row[2] for row in found), "<f4").astype(np.float32, copy=False)
    return VectorRows(last, [row[1] for row in found], flat.reshape(len(found), -1 if found else 0))


def read_missing(connection: sqlite3.Connection, model_id: str) -> list[tuple[bytes, str]]:
    """(text hash, text) of each text of an active record that has no vector of the model, oldest first.

    A record whose payload is damaged has no text any more.
    """
    texts = []
    for text_hash, payload, _ in connection.execute(_MISSING, (model_id,)).fetchall():
        try:
            texts.append((text_hash, embedded_text(decode_stored(payload))))
        except (RecordError, TypeError):
            continue  # a doctor names it
    return texts


def checked_rows(
    connection: sqlite3.Connection,
    model_id: str,
    text_hashes: Sequence[bytes],
    matrix: Any,  # noqa: ANN401
) -> list[VectorRow]:
    """Rows for `write_vectors`.

    :raises VectorError: `matrix` is not float32[n, dimension] of finite values, one row for each hash, in the
        dimension that the model has here already.
    """
    import numpy as np

    if getattr(matrix, "dtype", None) != np.float32 or matrix.ndim != 2 or len(matrix) != len(text_hashes):
        got = f"{getattr(matrix, 'dtype', type(matrix))}{list(getattr(matrix, 'shape', ()))}"
        raise VectorError(f"expected float32[{len(text_hashes)}, dimension], got {got}")
    if not np.isfinite(matrix).all():
        raise VectorError("a vector holds a value that is not finite")
    known = connection.execute(_ANY_SIZE, (model_id,)).fetchone()
    if known and len(matrix) and matrix.shape[1] * 4 != known[0]:
        usual = _usual_size(connection, model_id) // 4  # any one may be damaged
        if matrix.shape[1] != usual:
            raise VectorError(f"{model_id} has {usual} dimensions in this store, got {matrix.shape[1]}")
    blobs = [row.tobytes() for row in matrix.astype("<f4", copy=False)]
    return [(model_id, hash_, blob, crc32(blob)) for hash_, blob in zip(text_hashes, blobs, strict=True)]


def drop_unusable_vectors(connection: sqlite3.Connection) -> None:
    """Forget the vectors of texts that are gone, and those that are not what was written."""
    connection.execute("DELETE FROM vectors WHERE text_hash NOT IN (SELECT text_hash FROM records)")
    damaged = [
        (seq,)
        for seq, vector, checksum in connection.execute("SELECT seq, vector, checksum FROM vectors")
        if type(vector) is not bytes or crc32(vector) != checksum
    ]
    connection.executemany("DELETE FROM vectors WHERE seq = ?", damaged)


def _usual_size(connection: sqlite3.Connection, model_id: str) -> int:
    """Bytes of most of a model's vectors, of which there are some."""
    return int(connection.execute(_SIZE, (model_id,)).fetchone()[0])


def unit_rows(matrix: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Which rows have unit length, as every embedding has: bool[n]. Values that are not finite have not."""
    import numpy as np

    from pi_rank._core.vectors import NORM_TOLERANCE

    with np.errstate(over="ignore", invalid="ignore"):
        unit: NDArray[np.bool_] = np.abs(np.linalg.norm(matrix, axis=1) - 1) < NORM_TOLERANCE
    return unit


def write_vectors(connection: sqlite3.Connection, rows: Sequence[VectorRow]) -> None:
    """Add rows of `checked_rows`, save those that are there already or whose text is gone."""
    connection.executemany(_PUT, rows)
