from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Entries = tuple[NDArray[np.int64], NDArray[np.int32]]

def names_in(text: str) -> list[str]:
    """The names of a text, in its order, repeats included, with the marks before them: `#4521`, `foo_bar`.

    A name has letters and digits, three digits, marks (`_ . / \\ - : # @ + ~ $`) between its words, or
    capital letters inside a word. Words joined by a mark that are all function words, or single letters, are
    none. Beyond ASCII a name is as it is compared: NFKC, casefolded.
    """

def build(texts: Sequence[str], first_row: int = 0) -> Entries:
    """The keys of the names of each text, ascending, and the row of each; texts are rows first_row, …

    :raises TypeError: a text is no str.
    """

def merge(first: Entries, second: Entries) -> Entries:
    """The entries of both, ascending by key; of equal keys those of `first` come first."""

class Segment:
    """Entries, ready to be looked up."""

    def __init__(self, entries: Entries) -> None:
        """
        :param entries: of `build` or `merge`; kept.
        :raises ValueError: another number of keys than of rows.
        """

    @property
    def nbytes(self) -> int:
        """Bytes of memory held."""

def find(
    segments: tuple[Segment, ...], query: str, eligible: NDArray[np.uint8]
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.uint8]] | None:
    """The eligible rows that hold names of the query: (int32 rows, ascending; float64 shares; uint8 whole).

    None where there are none.

    :param eligible: an entry for every row of the segments, which is not checked.
    """

def joined(found_rows: NDArray[np.int32], named_rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """`found_rows`, then those of `named_rows` (ascending) that are not among them; itself for none."""

def put_first(
    ranked_rows: NDArray[np.int32],
    named_rows: NDArray[np.int32],
    shares: NDArray[np.float64],
    returning: NDArray[np.uint8],
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """A ranking with the named rows first: (int32 rows, int32 places, float64 shares of the first ones).

    Rows with a share come first, the greatest first, equal ones in the ranking's order. Of rows that the
    ranking lacks, those with returning[i] != 0 come: behind their equals, without a share at the very end. A
    place is the row's old one, -1 for a row that the ranking lacked.

    :param named_rows: ascending, each once; `shares` and `returning` have an entry for each.
    :raises ValueError: another number of entries.
    """

def taken(values: NDArray[np.int32] | NDArray[np.float64], places: NDArray[np.int32]) -> NDArray[Any]:
    """values[places] as a new array of the same dtype, 0 where a place is -1."""
