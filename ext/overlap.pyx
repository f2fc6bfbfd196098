# cython: freethreading_compatible=True
"""How many content stems a query shares with each of a few rows: counted over these rows' own postings.

    index = OverlapIndex(segment, rows)                # a segment of the rows, numbered 0, 1, 2, …
    rows, ratios = index.best(("bun", "test"), 2, 0.15, eligible, tie_rank)
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.vector cimport vector

from arrays cimport Array, import_numpy
from terms cimport Terms
from topk cimport Hit, hit_arrays

import_numpy()


cdef extern from "kernels/overlap.hpp" namespace "pi_rank" nogil:
    cdef cppclass Overlaps:
        const int64_t* offsets
        const int32_t* numbers
        const int32_t* content
        const int32_t* rows
        int64_t count
        vector[Hit] best(
            const vector[int32_t]& terms, int64_t n_terms, size_t k, double least, const uint8_t* eligible,
            const int32_t* tie_rank
        ) except +


cdef class OverlapIndex:
    cdef Array[uint8_t] blob
    cdef Array[int64_t] ends
    cdef Array[int32_t] slots
    cdef Array[uint8_t] function
    cdef Array[int64_t] offsets
    cdef Array[int32_t] numbers
    cdef Array[int32_t] content
    cdef Array[int32_t] rows
    cdef Terms terms
    cdef Overlaps overlaps

    def __init__(self, dict segment, rows):
        self.blob = Array[uint8_t](segment["blob"], "blob")
        self.ends = Array[int64_t](segment["ends"], "ends")
        self.slots = Array[int32_t](segment["slots"], "slots")
        self.function = Array[uint8_t](segment["function"], "function")
        self.offsets = Array[int64_t](segment["offsets"], "offsets")
        self.numbers = Array[int32_t](segment["rows"], "rows")
        self.content = Array[int32_t](segment["content"], "content")
        self.rows = Array[int32_t](rows, "rows")
        if segment["first_row"][0] != 0 or self.content.size() != self.rows.size():
            raise ValueError(f"the segment has {self.content.size()} documents for {self.rows.size()} rows")
        self.terms.slots, self.terms.n_slots = self.slots.data(), self.slots.size()
        self.terms.ends, self.terms.blob = self.ends.data(), self.blob.data()
        self.overlaps.offsets, self.overlaps.numbers = self.offsets.data(), self.numbers.data()
        self.overlaps.content, self.overlaps.rows = self.content.data(), self.rows.data()
        self.overlaps.count = self.rows.size()

    def best(self, tuple terms, Py_ssize_t k, double least, eligible, tie_rank):
        flags = Array[uint8_t](eligible, "eligible")
        ties = Array[int32_t](tie_rank, "tie_rank")
        cdef vector[int32_t] found
        cdef vector[Hit] hits
        cdef int32_t term
        cdef bytes encoded
        cdef Py_ssize_t n_rows = self.rows.size(), n_terms = len(terms)
        if n_rows and self.rows[n_rows - 1] >= min(flags.size(), ties.size()):
            raise ValueError("eligible and tie_rank must have an entry for every row of the index")
        for text in terms:
            encoded = (<str?>text).encode("utf-8", "replace")
            term = self.terms.find(<const uint8_t*><const char*>encoded, len(encoded))
            if term >= 0 and not self.function[term]:
                found.push_back(term)
        if found.size():
            with nogil:
                hits = self.overlaps.best(found, n_terms, max(k, 0), least, flags.data(), ties.data())
        return hit_arrays(hits)
