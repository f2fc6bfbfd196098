"""A client's request as the daemon reads it, and the answer that it sends back."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from typing import NamedTuple

from pi_rank.daemon.client import NUMBER_BYTES, PROTOCOL

MAX_REQUEST_BYTES = 40 << 20
MAX_DESCRIPTORS = 4


class Request(NamedTuple):
    """What a client wants, and what its answer may depend on.

    `folder` is a descriptor of its working directory, which whoever has the request closes. `began` is when
    its process did, on the clock of `time.monotonic`; `terminals` whether its stdout and stderr are some.
    """

    words: list[str]
    environment: dict[str, str]
    mask: int
    began: float
    terminals: tuple[bool, bool]
    stdin: bytes
    folder: int


def received(line: socket.socket) -> Request | None:
    """The request that comes in on a line; None for what is none, or of another version.

    :raises OSError: the client went away, or says nothing for too long.
    """
    data, folders, _, _ = socket.recv_fds(line, 1 << 16, MAX_DESCRIPTORS)
    try:
        parts = [data]
        size = len(data)
        while data := line.recv(1 << 20):
            size += len(data)
            if size > MAX_REQUEST_BYTES:
                break
            parts.append(data)
        found = _parsed(b"".join(parts), folders)
    except BaseException:
        close(folders)
        raise
    if found is None:
        close(folders)
    return found


def _parsed(data: bytes, folders: Sequence[int]) -> Request | None:
    if not data.startswith(PROTOCOL) or len(folders) != 1:
        return None
    start = len(PROTOCOL) + NUMBER_BYTES
    end = start + int.from_bytes(data[len(PROTOCOL) : start], "big")
    fields = data[start:end].decode("utf-8", "surrogateescape").split("\0")
    try:
        mask, began, terminals, count = int(fields[0]), float(fields[1]), fields[2], int(fields[3])
    except (ValueError, IndexError):
        return None
    if len(data) < end or len(fields) < 5 + count or len(terminals) != 2:
        return None
    return Request(
        words=fields[4 + count :],
        environment=dict(field.split("=", 1) for field in fields[4 : 4 + count] if "=" in field),
        mask=mask,
        began=began,
        terminals=(terminals[0] == "1", terminals[1] == "1"),
        stdin=data[end:],
        folder=folders[0],
    )


def close(folders: Sequence[int]) -> None:
    """Close descriptors that came with a request."""
    for folder in folders:
        os.close(folder)


def packed(code: int, out: bytes, err: bytes) -> bytes:
    """An answer, after the byte that said that work was begun."""
    numbers = (code, len(out), len(err))
    return b"".join(number.to_bytes(NUMBER_BYTES, "big") for number in numbers) + out + err
