from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_rank._core.pieces import piece_ends
from tests.reference.pieces import plain_piece_ends


@given(st.lists(st.binary(max_size=40) | st.sampled_from([b"", b"\r"]), max_size=200), st.integers(1, 8))
def test_pieces_end_where_the_plain_way_ends_them(lines, lines_per_piece):
    data = b"\n".join(lines)
    assert piece_ends(data, lines_per_piece) == plain_piece_ends(data, lines_per_piece)


def test_about_one_line_in_so_many_ends_a_piece():
    for text in ("mem_%07d", '{"id": "mem_%d", "statement": "One of them", "status": "active"}', "%d"):
        data = b"".join(b"%s\n" % (text % number).encode() for number in range(64_000))
        assert 800 < len(piece_ends(data, 64)) < 1_200


def test_blank_lines_end_no_piece():
    assert piece_ends(b"\n" * 100 + b"\r\n" * 100, 64) == [300]


def test_a_piece_has_at_least_a_line():
    with pytest.raises(ValueError, match="1 or more, got 0"):
        piece_ends(b"a", 0)
