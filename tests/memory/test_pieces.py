from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_rank.memory import pieces
from pi_rank.memory.pieces import cut
from tests.support.memory_files import line


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
