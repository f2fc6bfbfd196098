def piece_ends(data: bytes, lines_per_piece: int) -> list[int]:
    """Where the pieces of a file end, the last at its end; every other one just past a newline.

    A line ends a piece, about one in `lines_per_piece` does, by what is in it alone.

    :raises ValueError: `lines_per_piece` is less than 1.
    """
