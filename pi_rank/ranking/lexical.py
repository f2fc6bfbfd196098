"""BM25 over stems, equal to FTS5's bm25(): an immutable index of a large base segment and a small delta.

index = LexicalIndex.build(analyzer.document_terms(texts))
rows, scores = index.search(analyzer.query_terms(prompt), 12, eligible=eligible, tie_rank=tie_rank)
index = index.updated(dead_rows, analyzer.document_terms(new_texts))
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pi_rank._core import bm25, postings
from pi_rank.ranking.arrays import require_array

# FTS5's parameters (https://www.sqlite.org/fts5.html#the_bm25_function).
K1 = 1.2
B = 0.75

ARRAYS_VERSION = 2  # goes up when postings.FIELDS or what they mean changes
# The delta is copied at each update: small enough for a write to take about a millisecond, large enough for
# the whole to be copied seldom.
DELTA_ROWS = 1024
DELTA_SHARE = 1 / 16

Arrays = dict[str, NDArray[Any]]


class LexicalIndex:
    """Postings of all rows, dead ones included, with statistics over the live ones.

    Made by `build`, `updated` or `from_arrays`. Nothing in it changes: it can be searched from any thread
    while its successor is made.
    """

    def __init__(
        self, segments: Sequence[Arrays], frequencies: Sequence[NDArray[np.int32]], live: NDArray[np.uint8]
    ) -> None:
        """Use `build`, `updated` or `from_arrays`.

        :param segments: the arrays of adjacent segments, from row 0 on (_core.postings.FIELDS).
        :param frequencies: for each segment int32[terms], the live rows that have the term.
        :param live: uint8[n_rows], 1 for a row that counts.
        """
        self._segments = tuple(segments)
        self._frequencies = tuple(frequencies)
        self._live = live
        self._vocabulary: str | None = None
        self._n_live = int(np.count_nonzero(live))
        lengths = np.concatenate([segment["lengths"] for segment in segments])
        tokens = int(lengths.sum(dtype=np.int64, where=live.view(np.bool_)))
        average = tokens / self._n_live if tokens else 1.0  # without a token nothing can match
        self._scorers = tuple(
            bm25.Segment(segment, frequency, _impacts(segment, average))
            for segment, frequency in zip(self._segments, self._frequencies, strict=True)
        )

    @classmethod
    def build(cls, terms: Sequence[bytes]) -> LexicalIndex:
        """An index of the packed documents, which become rows 0, 1, 2, ….

        :param terms: what FtsAnalyzer.document_terms gave, in row order.
        :raises TypeError, ValueError: a document that pack_terms has not written.
        """
        segment = postings.build(terms)
        return cls([segment], [_static_frequencies(segment)], np.ones(len(terms), np.uint8))

    @property
    def n_rows(self) -> int:
        """Rows, dead ones included."""
        return self._live.size

    @property
    def n_live(self) -> int:
        """Rows that count in the statistics and can be found."""
        return self._n_live

    @property
    def nbytes(self) -> int:
        """Bytes of memory, or of mapped file, that the index holds."""
        arrays = [array for segment in self._segments for array in segment.values()]
        pairs = sum(segment["pair_length"].size for segment in self._segments)
        held = [*arrays, *self._frequencies, self._live]
        return sum(array.nbytes for array in held) + 8 * pairs

    def updated(self, dead: NDArray[np.int32], added: Sequence[bytes]) -> LexicalIndex:
        """The next version: rows `dead` no longer count, `added` documents follow at the end.

        Costs a pass over the postings of the segments that lose a row, and a copy of the delta; the base is
        shared with this version until the delta has grown to DELTA_SHARE of it.

        :raises TypeError: `dead` is no int32 array, or a document is not bytes.
        :raises ValueError: a row is listed twice, is not there or is dead already; a document is malformed.
        """
        live = self._next_live(require_array("dead", dead, np.int32), len(added))
        segments = list(self._segments)
        if added:
            segments.append(postings.build(added, self.n_rows))
        segments = _compacted(segments)
        frequencies = [
            self._frequencies[i]
            if i < len(self._segments) and segment is self._segments[i] and not _touches(segment, dead)
            else postings.live_frequencies(segment, live)
            for i, segment in enumerate(segments)
        ]
        return LexicalIndex(segments, frequencies, live)

    def search(
        self,
        terms: Sequence[str],
        k: int,
        *,
        eligible: NDArray[np.uint8] | None,
        tie_rank: NDArray[np.int32],
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The k best rows for the stems `terms`, best first: (int32 rows, float64 scores > 0).

        score = Σ idf · tf · (k1 + 1) / (tf + k1 · (1 − b + b · length / average length)) over the terms, a
        repeated one counted again, with idf = ln((N − df + 0.5) / (df + 0.5)), at least 1e-6: the negative
        of FTS5's bm25(), added up in the same order. N, df and the average length are of live rows.

        :param eligible: uint8[n_rows], not 0 where a row may be returned (never a dead one); None: all live.
        :param tie_rank: int32[n_rows]; equal scores are ordered by it, ascending.
        :raises TypeError: an array of another type.
        :raises ValueError: an array of another length or not contiguous; k is negative.
        """
        return self.search_batch([terms], k, eligible=[eligible], tie_rank=tie_rank)[0]

    def search_batch(
        self,
        queries: Sequence[Sequence[str]],
        k: int,
        *,
        eligible: Sequence[NDArray[np.uint8] | None],
        tie_rank: NDArray[np.int32],
    ) -> list[tuple[NDArray[np.int32], NDArray[np.float64]]]:
        """`search` for each of `queries`, with an `eligible` of its own, in their order.

        :raises TypeError, ValueError: as `search`; or other numbers of queries and of eligibility arrays.
        """
        if (k := operator.index(k)) < 0:
            raise ValueError(f"k must not be negative, not {k}")
        flags = [self._live if own is None else self._per_row("eligible", own, np.uint8) for own in eligible]
        self._per_row("tie_rank", tie_rank, np.int32)
        terms = [tuple(query) for query in queries]
        return bm25.search(self._scorers, terms, self._n_live, min(k, self.n_rows), flags, tie_rank)

    def score_rows(
        self, terms: Sequence[str], rows: NDArray[np.int32]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Two scores of each given row for the stems `terms`: (float64[m] BM25, float64[m] coverage 0 to 1).

        BM25 is that of `search` to the last bit, 0 for a row without any of the terms. Coverage is the row's
        share of the query's idf: 1 for a row that has every term, however often and however long it is.

        :param rows: int32[m], each in [0, n_rows).
        :raises TypeError: an array of another type.
        :raises ValueError: a row that is not there.
        """
        require_array("rows", rows, np.int32)
        if rows.size and (rows.min() < 0 or rows.max() >= self.n_rows):
            raise ValueError(f"rows must be from 0 to {self.n_rows - 1}")
        return bm25.score_rows(*self.scored_by(terms), rows)

    def scored_by(self, terms: Sequence[str]) -> tuple[tuple[bm25.Segment, ...], tuple[str, ...], int]:
        """What a compiled routine scores rows with: the segments, the terms, and the number of live rows."""
        return self._scorers, tuple(terms), self._n_live

    def vocabulary(self) -> str:
        """Every term, one a line, those of dead rows included. Made at the first call and kept."""
        if self._vocabulary is None:
            self._vocabulary = "\n".join(
                np.insert(segment["blob"], segment["ends"][1:-1], ord("\n")).tobytes().decode()
                for segment in self._segments
            )
        return self._vocabulary

    def selected(self, rows: NDArray[np.int32]) -> Arrays:
        """The arrays of one segment of these rows alone, which become rows 0, 1, 2, ….

        :param rows: int32[m], ascending, each at most once.
        :raises TypeError: an array of another type.
        :raises ValueError: rows that do not ascend, or are not there.
        """
        require_array("rows", rows, np.int32)
        starts = [int(segment["first_row"][0]) for segment in self._segments]
        parts = np.split(rows, np.searchsorted(rows, starts[1:]))
        chosen = postings.selected(self._segments[0], parts[0])
        for segment, part in zip(self._segments[1:], parts[1:], strict=True):
            chosen = postings.merge(chosen, postings.selected(segment, part, chosen["lengths"].size))
        return chosen

    def arrays(self) -> Arrays:
        """The live rows as named arrays, for a cache file; `from_arrays` makes an index of them alone."""
        if self._n_live < self.n_rows:
            segment = self.selected(np.flatnonzero(self._live).astype(np.int32))
        else:
            segment = self._segments[0]
            for delta in self._segments[1:]:
                segment = postings.merge(segment, delta)
        live = np.ones(self._n_live, np.uint8)
        return {**segment, "frequencies": _static_frequencies(segment), "live": live}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> LexicalIndex:
        """The index whose `arrays` these are, which it keeps: they may be mapped from a file.

        Nothing is checked: what comes from a file is proved by a checksum, and by ARRAYS_VERSION.
        """
        segment = {name: arrays[name] for name in postings.FIELDS}
        return cls([segment], [arrays["frequencies"]], arrays["live"])

    def _per_row(self, name: str, array: NDArray[Any], dtype: type[np.generic]) -> NDArray[Any]:
        return require_array(name, array, dtype, self.n_rows)

    def _next_live(self, dead: NDArray[np.int32], n_added: int) -> NDArray[np.uint8]:
        if dead.size and (dead.min() < 0 or dead.max() >= self.n_rows):
            raise ValueError(f"dead rows must be 0 to {self.n_rows - 1}; got {dead.min()} to {dead.max()}")
        if np.unique(dead).size != dead.size or not self._live[dead].all():
            raise ValueError("a row can die once; dead lists a row twice, or one that is dead already")
        live = np.concatenate((self._live, np.ones(n_added, np.uint8)))
        live[dead] = 0
        return live


def _impacts(segment: Arrays, average_length: float) -> NDArray[np.float64]:
    """BM25's quotient for each pair; the order of operations is FTS5's, so that the last bit agrees."""
    frequency = segment["pair_frequency"].astype(np.float64)
    norm = K1 * (1 - B + B * segment["pair_length"] / average_length)
    quotients: NDArray[np.float64] = frequency * (K1 + 1.0) / (frequency + norm)
    return quotients


def _static_frequencies(segment: Arrays) -> NDArray[np.int32]:
    return np.diff(segment["offsets"]).astype(np.int32)


def _touches(segment: Arrays, dead: NDArray[np.int32]) -> bool:
    first = int(segment["first_row"][0])
    return bool(((dead >= first) & (dead < first + segment["lengths"].size)).any())


def _compacted(segments: list[Arrays]) -> list[Arrays]:
    """At most a base and a delta; one segment once the delta has outgrown its share."""
    base, *deltas = segments
    if not deltas:
        return [base]
    delta = deltas[0]
    for newer in deltas[1:]:
        delta = postings.merge(delta, newer)
    if delta["lengths"].size > max(DELTA_ROWS, DELTA_SHARE * base["lengths"].size):
        return [postings.merge(base, delta)]
    return [base, delta]
