"""The file of an HNSW graph: a header of ours, a checksum, then hnswlib's bytes.

hnswlib writes without noticing a full disk and loads anything: a wrong dimension reads past its buffers, a
flipped bit crashes the process. It is therefore given only bytes whose checksum and header are verified.

Layout: MAGIC, uint32 length of the header (little-endian), header (JSON, UTF-8), blake2b-256 of the header,
payload. The header holds the payload's own checksum and size.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import BinaryIO

import msgspec

from pi_rank.errors import PiRankError
from pi_rank.ranking.hnsw import SPACE, Graph, empty_index

MAGIC = b"pi-rank-graph\r\n\x1a"  # the line end and the control character show a file altered by text tools
FORMAT = 1
_LENGTH = struct.Struct("<I")
_MAX_HEADER = 65536
_CHECKSUM_BYTES = 32
_BLOCK = 1 << 20
_WORKING = ".pi-rank-graph-"
_ABANDONED_SECONDS = 3600.0


class GraphFileError(PiRankError):
    """A graph file is missing, damaged, or of other vectors: build the graph again."""


class GraphKey(msgspec.Struct, frozen=True):
    """What a graph is of. `content` stands for the vectors in their order: a hash of their texts' hashes."""

    model_id: str
    dimension: int
    count: int
    content: str


class _Header(msgspec.Struct, frozen=True):
    format: int
    space: str
    writer: str
    m: int
    key: GraphKey
    payload_bytes: int
    payload_blake2b: str


def save_graph(graph: Graph, path: Path, key: GraphKey) -> None:
    """Writes `graph` to `path`; whoever reads sees the old file or the new one, whole.

    :raises GraphFileError: the graph is not what `key` says, or could not be written whole.
    """
    if (graph.dimension, graph.count) != (key.dimension, key.count):
        raise GraphFileError(
            f"the graph has {graph.count} vectors of dimension {graph.dimension}, "
            f"its key says {key.count} of {key.dimension}"
        )
    with _errors_about(path), _working_folder(path) as folder:
        payload, whole = Path(folder, "payload"), Path(folder, "whole")
        size = graph.save_payload(str(payload))
        if not payload.exists() or payload.stat().st_size != size:
            raise GraphFileError(f"{path}: hnswlib did not write the whole graph: is the disk full?")
        _write_whole(payload, whole, graph.m, key)
        whole.replace(path)
        _sync_folder(path.parent)


def _write_whole(payload: Path, whole: Path, m: int, key: GraphKey) -> None:
    """Header and payload in one file, on the disk before it returns."""
    with payload.open("rb") as source, whole.open("wb") as target:
        digest = _copied(source, None)
        header = _Header(FORMAT, SPACE, _writer(), m, key, source.tell(), digest)
        body = msgspec.json.encode(header)
        target.write(MAGIC + _LENGTH.pack(len(body)) + body + _checksum(body))
        source.seek(0)
        _copied(source, target)
        target.flush()
        os.fsync(target.fileno())


def load_graph(path: Path, key: GraphKey) -> Graph:
    """The graph saved at `path` for `key`. hnswlib reads a private copy, whose bytes are the verified ones.

    :raises GraphFileError: no file, another format or key, or a damaged file.
    """
    with _errors_about(path), path.open("rb") as source:
        header = _read_header(source, path)
        if header.key != key:
            raise GraphFileError(f"{path}: a graph of {header.key}, wanted one of {key}")
        if (header.format, header.space, header.writer) != (FORMAT, SPACE, _writer()):
            raise GraphFileError(
                f"{path}: format {header.format}, space {header.space}, by {header.writer}; "
                f"read here: {FORMAT}, {SPACE}, {_writer()}"
            )
        if os.fstat(source.fileno()).st_size != source.tell() + header.payload_bytes:
            raise GraphFileError(f"{path}: cut short, or longer than its header says")
        with _working_folder(path) as folder:
            payload = Path(folder, "payload")
            with payload.open("wb") as target:
                digest = _copied(source, target)
            if digest != header.payload_blake2b:
                raise GraphFileError(f"{path}: damaged (its checksum does not match)")
            return _load_verified(payload, header)


def _load_verified(payload: Path, header: _Header) -> Graph:
    """Only for bytes that this module wrote and has just checked: hnswlib checks nothing."""
    index = empty_index(header.key.dimension)
    index.load_index(str(payload))
    graph = Graph(index)
    if graph.count != header.key.count:
        raise GraphFileError(f"the graph holds {graph.count} vectors, its header says {header.key.count}")
    return graph


def _writer() -> str:
    """Whose layout a payload has: hnswlib writes its memory as it is."""
    return f"hnswlib {version('hnswlib')} {sys.byteorder}-endian {struct.calcsize('P') * 8} bit"


def _checksum(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_CHECKSUM_BYTES).digest()


def _read_header(source: BinaryIO, path: Path) -> _Header:
    start = source.read(len(MAGIC) + _LENGTH.size)
    if not start.startswith(MAGIC) or len(start) < len(MAGIC) + _LENGTH.size:
        raise GraphFileError(f"{path}: not a graph file of pi_rank")
    (length,) = _LENGTH.unpack(start[len(MAGIC) :])
    body = source.read(min(length, _MAX_HEADER))
    if source.read(_CHECKSUM_BYTES) != _checksum(body):
        raise GraphFileError(f"{path}: damaged (the header's checksum does not match)")
    try:
        return msgspec.json.decode(body, type=_Header)
    except msgspec.MsgspecError as error:
        raise GraphFileError(f"{path}: written by another version ({error})") from error


def _copied(source: BinaryIO, target: BinaryIO | None) -> str:
    """The checksum of the rest of `source`, which is written to `target`."""
    digest = hashlib.blake2b(digest_size=_CHECKSUM_BYTES)
    while block := source.read(_BLOCK):
        digest.update(block)
        if target is not None:
            target.write(block)
    return digest.hexdigest()


@contextmanager
def _errors_about(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise GraphFileError(f"{path}: {error.strerror or error}") from error


def _working_folder(path: Path) -> tempfile.TemporaryDirectory[str]:
    """A folder beside `path`, on the same disk. What killed processes left of theirs is removed."""
    for left in path.parent.glob(f"{_WORKING}*"):
        with suppress(FileNotFoundError):  # another process removed it first
            if time.time() - left.stat().st_mtime > _ABANDONED_SECONDS:
                shutil.rmtree(left)
    return tempfile.TemporaryDirectory(prefix=_WORKING, dir=path.parent)


def _sync_folder(folder: Path) -> None:
    """Makes the rename itself durable, where a folder can be opened (not on Windows)."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
