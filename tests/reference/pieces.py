"""Where a file is cut into pieces, line by line in plain integers."""

from __future__ import annotations

import re
import sys

WORD = 8
FACTOR = 0x9E3779B97F4A7C15


def plain_piece_ends(data, lines_per_piece):
    """What `piece_ends` gives."""
    ends, end = [], 0
    for line in re.findall(rb"[^\n]*\n|[^\n]+", data):
        end += len(line)
        if end == len(data) or hash_of(line.removesuffix(b"\n")) <= (2**64 - 1) // lines_per_piece:
            ends.append(end)
    return ends


def hash_of(line):
    words = [line[place : place + WORD] for place in range(0, len(line) // WORD * WORD + 1, WORD)]
    result = (len(line) + 1) * FACTOR
    for word in words:
        result = (result ^ int.from_bytes(word, sys.byteorder)) * FACTOR % 2**64
    return result % 2**64
