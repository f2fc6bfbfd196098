"""Arrays that the compiled core cannot read as they lie are refused with a sentence."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from pi_rank._core.bm25 import score_rows
from pi_rank._core.encoder import checksum
from pi_rank._core.fusion import fuse
from pi_rank._core.graph import LinkGraph

TIES = np.arange(6, dtype=np.int32)
OTHER_ORDER = np.dtype(np.int32).newbyteorder(">" if sys.byteorder == "little" else "<")


def fused(rows, ties=TIES):
    return fuse((rows,), (1.0,), 60, 10, ties)


@pytest.mark.parametrize("value", [None, [1, 2], (1, 2), b"\0\0\0\0", memoryview(TIES)])
def test_what_is_no_array_is_refused_by_name(value):
    kind = type(value).__name__
    with pytest.raises(TypeError, match=f"a list must be a numpy array of int32, not {kind}"):
        fused(value)
    with pytest.raises(TypeError, match="tie_rank must be a numpy array of int32"):
        fused(TIES, value)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (TIES.astype(np.int64), "int64 with 1"),
        (TIES.astype(np.uint32), "uint32 with 1"),
        (TIES.astype(np.float32), "float32 with 1"),
        (TIES.astype(object), "object with 1"),
        (TIES.astype(OTHER_ORDER), "i4 with 1"),
        (TIES.reshape(2, 3), "int32 with 2"),
        (np.array(1, np.int32), "int32 with 0"),
        (TIES[::2], "a strided one of int32 with 1"),
        (TIES[::-1], "a strided one of int32 with 1"),
    ],
)
def test_another_array_is_refused_with_what_it_is(value, found):
    with pytest.raises(ValueError, match=rf"array of int32 with 1 dimension\(s\), not [<>]?{found}$"):
        fused(value)


def test_a_matrix_needs_two_dimensions():
    flat = np.zeros(4, np.int32)
    with pytest.raises(ValueError, match="ground must be a contiguous array of int32 with 2 dimension"):
        LinkGraph(flat, flat.reshape(1, 4), flat, flat[:2])
    with pytest.raises(ValueError, match=r"upper must be .* not a strided one of int32 with 2"):
        LinkGraph(flat.reshape(1, 4), np.zeros((4, 4), np.int32).T[:, ::2], flat, flat[:2])


def test_read_only_arrays_and_subclasses_are_read_as_they_lie(tmp_path):
    np.save(tmp_path / "rows.npy", TIES)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    assert isinstance(mapped, np.memmap)
    frozen = TIES.copy()
    frozen.setflags(write=False)
    expected = [values.tolist() for values in fused(TIES)]
    assert [values.tolist() for values in fused(mapped)] == expected
    assert [values.tolist() for values in fused(frozen, frozen)] == expected


def test_an_array_of_no_rows_is_an_array():
    none = np.empty(0, np.int32)
    assert [values.size for values in fused(none)] == [0, 0]
    assert [values.size for values in score_rows((), ("bun",), 0, none)] == [0, 0]


def test_an_array_is_held_no_longer_than_it_is_read():
    rows = TIES.copy()
    before = sys.getrefcount(rows)
    for _ in range(100):
        fused(rows, rows)
        with pytest.raises(ValueError, match="list 0 holds row 5"):
            fused(rows, rows[:5])
    assert sys.getrefcount(rows) == before


def test_a_buffer_is_given_back():
    content = bytearray(b"some bytes")
    assert checksum(content) == checksum(bytes(content)) == checksum(memoryview(content))
    content += b"more"  # refused while somebody holds the buffer
    with pytest.raises(TypeError, match="bytes-like"):
        checksum("text")
