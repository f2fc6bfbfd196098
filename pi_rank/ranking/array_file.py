"""A cache file of named arrays: versioned header, checksums, read into memory, replaced atomically.

Layout, little-endian: MAGIC, crc32 of all of the header that follows, header length, the header as JSON
(format version, kind, key, and name, dtype, size, position and checksum of each array), then the arrays, each
on a 64-byte border.

It is not mapped: whoever copies a backup over a mapped file, or cuts it short, kills each process that reads
it (SIGBUS), or changes what has been checked. Processes that are to share a generation can inherit this
memory, or be handed a sealed copy of it (`memfd_create`), but not a file that others may write.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pi_rank.errors import StoreError
from pi_rank.files.private import open_private, replacing, write_all

Bytes = NDArray[np.uint8]

MAGIC = b"PIRANKAR"
FORMAT_VERSION = 2
_PREFIX = struct.Struct("<8sIQ")  # magic, crc32 of the rest of the header, header length
_CRC_END = 12
_ALIGNMENT = 64
# Of the checksum: so many words are taken at a time, which stay in a core's own cache.
_LANES = 8192
_ROW_BYTES = 8 * _LANES
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no bit is lost: 2^64 over the golden ratio
_SHIFT = np.uint64(29)


class CacheMismatch(StoreError):
    """A cache file is absent, damaged, of another format or for other contents: build it again."""


def write_arrays(path: Path, kind: str, key: str, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write the arrays under `key`, so that a reader sees the old file or the whole new one.

    It may be lost, or damaged, where the power fails within seconds: then it is made again.

    :raises OSError: the file cannot be written; the old one is untouched.
    """
    with replacing(path, lasting=False) as file:
        for part in _parts(kind, key, arrays):
            write_all(file, part)


def read_arrays(path: Path, kind: str, key: str) -> dict[str, NDArray[Any]]:
    """The arrays that write_arrays wrote under this kind and key, read-only, in one piece of memory.

    :raises CacheMismatch: no such file, or not that content.
    """
    try:
        data = _read(path)
    except OSError as error:
        raise CacheMismatch(f"no usable cache in {path}: {error}") from error
    header, start = _checked_header(path, data)
    found = (header.get("version"), header.get("kind"), header.get("key"))
    if found != (FORMAT_VERSION, kind, key):
        raise CacheMismatch(f"{path} holds {found}, not {(FORMAT_VERSION, kind, key)}")
    arrays, end = {}, start
    for entry in header["arrays"]:
        begin = start + entry["at"]
        end = begin + _padded(entry["bytes"])
        array = data[begin : begin + entry["bytes"]]
        if len(data) < end or data[begin + entry["bytes"] : end].any() or checksum(array) != entry["sum"]:
            raise CacheMismatch(f"{path} is damaged: the checksum of {entry['name']} does not match")
        arrays[entry["name"]] = array.view(entry["dtype"])
    if len(data) != end:
        raise CacheMismatch(f"{path} is damaged: there is something behind its end")
    return arrays


def checksum(data: Bytes) -> int:
    """32 bits over bytes, in a fifth of the time that a CRC takes: for damage, not against an attacker.

    Column by column over rows of 64 KiB, h = (h xor word) * K, h = h xor (h >> 29) in 64 bits; what
    ends in no whole row, and the columns' h, go into a CRC-32.
    """
    state = np.full(_LANES, _FACTOR, np.uint64)
    rows = data.size // _ROW_BYTES
    if rows:
        shifted = np.empty_like(state)
        for row in data[: rows * _ROW_BYTES].view("<u8").reshape(rows, _LANES):
            np.bitwise_xor(state, row, out=state)
            np.multiply(state, _FACTOR, out=state)
            np.right_shift(state, _SHIFT, out=shifted)
            np.bitwise_xor(state, shifted, out=state)
    return zlib.crc32(data[rows * _ROW_BYTES :].data, zlib.crc32(state.astype("<u8").data))


def _read(path: Path) -> Bytes:
    """The file's bytes, read-only and aligned, as they were at one moment or shorter."""
    descriptor = open_private(path, os.O_RDONLY)
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        size = os.fstat(descriptor).st_size
        room = np.empty(size + _ALIGNMENT, np.uint8)
        first = -room.ctypes.data % _ALIGNMENT
        data = room[first : first + size]
        view, at = data.data, 0
        while at < size and (count := file.readinto(view[at:])):
            at += count
    data = data[:at]
    data.flags.writeable = False
    return data


def _parts(kind: str, key: str, arrays: Mapping[str, NDArray[Any]]) -> Iterator[bytes | memoryview]:
    """The whole file, in order."""
    entries: list[dict[str, object]] = []
    at = 0
    plain = {name: np.ascontiguousarray(array).reshape(-1).view(np.uint8) for name, array in arrays.items()}
    for name, data in plain.items():
        dtype = arrays[name].dtype.str
        entries.append({"name": name, "dtype": dtype, "bytes": data.size, "at": at, "sum": checksum(data)})
        at += _padded(data.size)
    header = {"version": FORMAT_VERSION, "kind": kind, "key": key, "arrays": entries}
    text = json.dumps(header).encode()
    text += b" " * (-(_PREFIX.size + len(text)) % _ALIGNMENT)
    rest = struct.pack("<Q", len(text)) + text
    yield MAGIC + struct.pack("<I", zlib.crc32(rest)) + rest
    for data in plain.values():
        yield data.data
        yield bytes(_padded(data.size) - data.size)


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _checked_header(path: Path, data: Bytes) -> tuple[dict[str, Any], int]:
    """(header, where the arrays begin), once the checksum says that it is the written one."""
    if data.size < _PREFIX.size:
        raise CacheMismatch(f"{path} is cut short")
    magic, crc, length = _PREFIX.unpack(data[: _PREFIX.size].tobytes())
    if magic != MAGIC:
        raise CacheMismatch(f"{path} is no cache file of pi_rank")
    start = _PREFIX.size + length
    if start > data.size or zlib.crc32(data[_CRC_END:start].data) != crc:
        raise CacheMismatch(f"{path} is damaged: the checksum of its header does not match")
    return json.loads(data[_PREFIX.size : start].tobytes()), start
