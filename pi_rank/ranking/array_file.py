"""A cache file of named arrays: versioned header, checksum, read back memory-mapped, replaced atomically.

Layout, little-endian: MAGIC, crc32 of all that follows the crc, header length, the header as JSON (format
version, kind, key, and name, dtype, size, position of each array), then the arrays, each on a 64-byte border.
"""

from __future__ import annotations

import json
import os
import secrets
import struct
import time
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pi_rank.errors import StoreError

MAGIC = b"PIRANKAR"
FORMAT_VERSION = 1
_PREFIX = struct.Struct("<8sIQ")  # magic, crc32, header length
_CRC_END = 12
_ALIGNMENT = 64
ABANDONED_SECONDS = 3600.0  # a temporary file older than this belongs to no writer that still runs


class CacheMismatch(StoreError):
    """A cache file is absent, damaged, of another format or for other contents: build it again."""


def write_arrays(path: Path, kind: str, key: str, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write the arrays under `key`, so that a reader sees the old file or the whole new one.

    :raises OSError: the file cannot be written; the old one is untouched.
    """
    _remove_abandoned(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("wb") as file:
            crc = 0
            file.write(_PREFIX.pack(MAGIC, 0, 0)[:_CRC_END])
            for part in _parts(kind, key, arrays):
                crc = zlib.crc32(part, crc)
                file.write(part)
            file.seek(len(MAGIC))
            file.write(struct.pack("<I", crc))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_directory(path.parent)


def read_arrays(path: Path, kind: str, key: str) -> dict[str, NDArray[Any]]:
    """The arrays that write_arrays wrote under this kind and key, read-only, mapped from the file.

    :raises CacheMismatch: no such file, or not that content.
    """
    try:
        data = np.memmap(path, np.uint8, "r")
    except (OSError, ValueError) as error:  # ValueError: an empty file cannot be mapped
        raise CacheMismatch(f"no usable cache in {path}: {error}") from error
    header, start = _checked_header(path, data)
    found = (header.get("version"), header.get("kind"), header.get("key"))
    if found != (FORMAT_VERSION, kind, key):
        raise CacheMismatch(f"{path} holds {found}, not {(FORMAT_VERSION, kind, key)}")
    plain = data.view(np.ndarray)
    return {
        entry["name"]: plain[start + entry["at"] :][: entry["bytes"]].view(entry["dtype"])
        for entry in header["arrays"]
    }


def _parts(kind: str, key: str, arrays: Mapping[str, NDArray[Any]]) -> Iterator[bytes | memoryview]:
    """Everything after the checksum, in order."""
    entries: list[dict[str, object]] = []
    at = 0
    for name, array in arrays.items():
        entries.append({"name": name, "dtype": array.dtype.str, "bytes": array.nbytes, "at": at})
        at += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
    header = {"version": FORMAT_VERSION, "kind": kind, "key": key, "arrays": entries}
    text = json.dumps(header).encode()
    text += b" " * (-(_PREFIX.size + len(text)) % _ALIGNMENT)
    yield struct.pack("<Q", len(text)) + text
    for array in arrays.values():
        yield np.ascontiguousarray(array).view(np.uint8).data
        yield bytes(-array.nbytes % _ALIGNMENT)


def _checked_header(path: Path, data: NDArray[np.uint8]) -> tuple[dict[str, Any], int]:
    """(header, where the arrays begin), once the checksum says that every byte is the written one."""
    if data.size < _PREFIX.size:
        raise CacheMismatch(f"{path} is cut short")
    magic, crc, length = _PREFIX.unpack(data[: _PREFIX.size].tobytes())
    if magic != MAGIC:
        raise CacheMismatch(f"{path} is no cache file of pi_rank")
    if zlib.crc32(data[_CRC_END:].data) != crc:
        raise CacheMismatch(f"{path} is damaged: its checksum does not match")
    start = _PREFIX.size + length
    return json.loads(data[_PREFIX.size : start].tobytes()), start


def _remove_abandoned(path: Path) -> None:
    """Remove what writers left behind that were killed before they could replace the file."""
    for temporary in path.parent.glob(f".{path.name}.*.tmp"):
        try:
            if time.time() - temporary.stat().st_mtime > ABANDONED_SECONDS:
                temporary.unlink()
        except FileNotFoundError:
            continue  # another process removed or renamed it first


def _sync_directory(directory: Path) -> None:
    """Make the new name durable. Windows has no such call and needs none."""
    if os.name == "nt":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
