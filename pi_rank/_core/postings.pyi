from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Segment = dict[str, NDArray[Any]]

FIELDS: dict[str, tuple[type[np.generic], str]]

def build(packed: Iterable[bytes], first_row: int = 0) -> Segment:
    """A segment of the packed documents, which are the rows from `first_row` on.

    :raises TypeError: a document is not bytes.
    :raises ValueError: a document is not what pack_terms writes, or the rows pass 2**31 - 1.
    """

def merge(first: Segment, second: Segment) -> Segment:
    """One segment of both; `second` begins at the row at which `first` ends.

    :raises ValueError: the segments do not meet.
    """

def selected(segment: Segment, chosen: NDArray[np.int32], new_first_row: int = 0) -> Segment:
    """A segment of some of the rows alone, which are its rows from `new_first_row` on.

    :param chosen: int32[m], ascending, each at most once.
    :raises ValueError: rows that do not ascend, or are not the segment's.
    """

def live_frequencies(segment: Segment, live: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Per term, how many rows with live[row] == 1 have it; `live` is indexed by row.

    :raises ValueError: `live` ends before the segment does.
    """
