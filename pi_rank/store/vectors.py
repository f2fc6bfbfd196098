"""The store's vectors: one per text and model, numbered in the order in which they came."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pi_rank.errors import VectorError
from pi_rank.memory.records import decode_record, embedded_text

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

# The plus keeps SQLite from the index on models, by which it would visit and sort all vectors to find one.
_NEW = "SELECT seq, text_hash, vector FROM vectors WHERE +model_id = ? AND seq > ? ORDER BY seq"
_DIMENSION = "SELECT length(vector) / 4 FROM vectors WHERE model_id = ? LIMIT 1"
_MISSING = """
    SELECT text_hash, payload, min(rowid) AS first FROM records
    WHERE active AND text_hash NOT IN (SELECT text_hash FROM vectors WHERE model_id = ?)
    GROUP BY text_hash ORDER BY first"""
_PUT = """
    INSERT INTO vectors (model_id, text_hash, vector)
    SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM records WHERE text_hash = ?2)
    ON CONFLICT DO NOTHING"""


class VectorRows(NamedTuple):
    """Stored vectors, oldest first: float32[n, dimension]; row i is of the text with `text_hashes[i]`."""

    last: int
    text_hashes: list[bytes]
    matrix: NDArray[np.float32]


def read_vectors(connection: sqlite3.Connection, model_id: str, after: int) -> VectorRows:
    """The model's vectors numbered past `after`."""
    import numpy as np

    found = connection.execute(_NEW, (model_id, after)).fetchall()
    flat = np.frombuffer(b"".join(row[2] for row in found), "<f4").astype(np.float32, copy=False)
    last = found[-1][0] if found else after
    return VectorRows(last, [row[1] for row in found], flat.reshape(len(found), -1 if found else 0))


def read_missing(connection: sqlite3.Connection, model_id: str) -> list[tuple[bytes, str]]:
    """(text hash, text) of each text of an active record that has no vector of the model, oldest first."""
    payloads = connection.execute(_MISSING, (model_id,)).fetchall()
    return [(text_hash, embedded_text(decode_record(payload))) for text_hash, payload, _ in payloads]


def checked_rows(
    connection: sqlite3.Connection,
    model_id: str,
    text_hashes: Sequence[bytes],
    matrix: Any,  # noqa: ANN401
) -> list[tuple[str, bytes, bytes]]:
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
    known = connection.execute(_DIMENSION, (model_id,)).fetchone()
    if known and len(matrix) and matrix.shape[1] != known[0]:
        raise VectorError(f"{model_id} has {known[0]} dimensions in this store, got {matrix.shape[1]}")
    blobs = [row.tobytes() for row in matrix.astype("<f4", copy=False)]
    return [(model_id, *pair) for pair in zip(text_hashes, blobs, strict=True)]


def unit_rows(matrix: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Which rows have unit length, as every embedding has: bool[n]. Values that are not finite have not."""
    import numpy as np

    from pi_rank._core.vectors import NORM_TOLERANCE

    with np.errstate(over="ignore", invalid="ignore"):
        unit: NDArray[np.bool_] = np.abs(np.linalg.norm(matrix, axis=1) - 1) < NORM_TOLERANCE
    return unit


def write_vectors(connection: sqlite3.Connection, rows: Sequence[tuple[str, bytes, bytes]]) -> None:
    """Add (model id, text hash, blob) rows, save those that are there already or whose text is gone."""
    connection.executemany(_PUT, rows)
