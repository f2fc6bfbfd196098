# cython: freethreading_compatible=True
"""How many content stems a query shares with each of a few rows: counted over these rows' own postings.

    index = OverlapIndex(segment, rows)                # a segment of the rows, numbered 0, 1, 2, …
    rows, ratios = index.best(("bun", "test"), 2, 0.15, eligible, tie_rank)
"""

cimport numpy as cnp
from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.vector cimport vector

from terms cimport find_term
from topk cimport Hit, finish, hit_arrays

cnp.import_array()


cdef class OverlapIndex:
    cdef const uint8_t[::1] blob
    cdef const int64_t[::1] ends
    cdef const int32_t[::1] slots
    cdef const uint8_t[::1] function
    cdef const int64_t[::1] offsets
    cdef const int32_t[::1] numbers
    cdef const int32_t[::1] content
    cdef const int32_t[::1] rows

    def __init__(self, dict segment, const int32_t[::1] rows):
        self.blob = segment["blob"]
        self.ends = segment["ends"]
        self.slots = segment["slots"]
        self.function = segment["function"]
        self.offsets = segment["offsets"]
        self.numbers = segment["rows"]
        self.content = segment["content"]
        self.rows = rows
        if segment["first_row"][0] != 0 or self.content.shape[0] != rows.shape[0]:
            raise ValueError(f"the segment has {self.content.shape[0]} documents for {rows.shape[0]} rows")

    def best(
        self, tuple terms, Py_ssize_t k, double least, const uint8_t[::1] eligible, const int32_t[::1] tie_rank
    ):
        cdef vector[int32_t] counts, found
        cdef vector[Hit] hits
        cdef int32_t term
        cdef Py_ssize_t n_rows = self.rows.shape[0], n_terms = len(terms)
        cdef int64_t slot
        if n_rows and self.rows[n_rows - 1] >= min(eligible.shape[0], tie_rank.shape[0]):
            raise ValueError("eligible and tie_rank must have an entry for every row of the index")
        for text in terms:
            encoded = (<str?>text).encode("utf-8", "replace")
            term = find_term(
                <const uint8_t*><const char*>encoded, len(encoded), &self.slots[0], self.slots.shape[0],
                &self.ends[0], &self.blob[0], &slot,
            )
            if term >= 0 and not self.function[term]:
                found.push_back(term)
        if found.size():
            counts.assign(n_rows, 0)
            with nogil:
                self.count(found, counts)
                self.collect(counts, n_terms, least, eligible, tie_rank, hits)
                finish(hits, max(k, 0))
        return hit_arrays(hits)

    cdef void count(self, const vector[int32_t]& terms, vector[int32_t]& counts) noexcept nogil:
        cdef size_t i
        cdef int64_t at
        for i in range(terms.size()):
            for at in range(self.offsets[terms[i]], self.offsets[terms[i] + 1]):
                counts[self.numbers[at]] += 1

    cdef void collect(
        self, const vector[int32_t]& counts, Py_ssize_t n_terms, double least,
        const uint8_t[::1] eligible, const int32_t[::1] tie_rank, vector[Hit]& hits,
    ) noexcept nogil:
        """A hit for each eligible row whose share of the smaller set is more than `least`."""
        cdef Hit hit
        cdef double smaller, enough = least * (1.0 - 1e-9)  # so near to `least` that the quotient has to decide
        cdef size_t i
        for i in range(counts.size()):
            smaller = <double>min(n_terms, self.content[i])
            # Few rows come this far, and only they are looked up in the arrays of all rows.
            if counts[i] and counts[i] >= enough * smaller and eligible[self.rows[i]]:
                hit.row = self.rows[i]
                hit.score = counts[i] / smaller
                hit.tie = tie_rank[hit.row]
                if hit.score > least:
                    hits.push_back(hit)
