from __future__ import annotations

import random
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_rank import pieces
from pi_rank._core.pieces import piece_ends
from pi_rank.pieces import cut
from tests.memory_files import line


def plain_hash(text):
    factor = 0x9E3779B97F4A7C15
    result = (len(text) + 1) * factor % 2**64
    for place in range(0, len(text) // 8 * 8 + 1, 8):
        result = (result ^ int.from_bytes(text[place : place + 8], sys.byteorder)) * factor % 2**64
    return result


@given(st.lists(st.binary(max_size=20), max_size=200), st.integers(1, 8))
def test_pieces_end_where_the_plain_way_ends_them(lines, lines_per_piece):
    ends, place = [], 0
    data = b"\n".join(lines)
    for each in re.findall(rb"[^\n]*\n|[^\n]+", data):
        place += len(each)
        if place == len(data) or plain_hash(each.removesuffix(b"\n")) <= (2**64 - 1) // lines_per_piece:
            ends.append(place)
    assert piece_ends(data, lines_per_piece) == ends


@given(st.lists(st.binary(max_size=20), max_size=200), st.integers(1, 8))
def test_pieces_are_the_lines_of_a_file_in_order(lines, lines_per_piece):
    data = b"\n".join(lines)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "LINES_PER_PIECE", lines_per_piece)
        found = list(cut(data))
    assert b"".join(piece.text for piece in found) == data
    assert all(piece.text for piece in found)
    assert all(bytes(piece.text).endswith(b"\n") for piece in found[:-1])
    whole = data.removesuffix(b"\n").split(b"\n") if data else []
    assert [each for piece in found for each in piece.lines()] == whole
    assert len({piece.digest for piece in found}) == len({bytes(piece.text) for piece in found})


def test_a_line_that_comes_or_goes_changes_one_piece_or_two():
    chance = random.Random(1)
    lines = [line(f"mem_{chance.random()}").encode() for _ in range(5_000)]
    before = {piece.digest for piece in cut(b"\n".join(lines))}
    assert 40 < len(before) < 120
    for place in (0, 1, 2_500, 4_999, 5_000):
        more = cut(b"\n".join([*lines[:place], line("mem_new").encode(), *lines[place:]]))
        less = cut(b"\n".join([*lines[:place], *lines[place + 1 :]]))
        assert len({piece.digest for piece in more} - before) <= 2
        assert len({piece.digest for piece in less} - before) <= 2


def test_a_piece_has_at_least_a_line():
    with pytest.raises(ValueError, match="1 or more, got 0"):
        piece_ends(b"a", 0)
