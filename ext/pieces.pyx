"""Where a file of lines is cut into pieces: after each line that a hash of its own bytes chooses.

    ends = piece_ends(b"one\ntwo\nthree", 64)

The hash only spreads the cuts: it tells no two lines apart.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint64_t
from libc.string cimport memchr, memcpy
from libcpp.vector cimport vector

cdef enum:
    WORD = 8

cdef uint64_t FACTOR = 0x9E3779B97F4A7C15u  # odd, its bits without a pattern: 2**64 over the golden ratio


cdef uint64_t hash_of(const char* line, size_t length) noexcept nogil:
    """Each product carries a word's bits upwards: the highest depend on all."""
    cdef uint64_t result = (length + 1) * FACTOR, word
    cdef size_t place = 0
    while place + WORD <= length:
        memcpy(&word, line + place, WORD)
        result = (result ^ word) * FACTOR
        place += WORD
    word = 0
    memcpy(&word, line + place, length - place)
    return (result ^ word) * FACTOR


def piece_ends(bytes data not None, int lines_per_piece):
    if lines_per_piece < 1:
        raise ValueError(f"lines_per_piece must be 1 or more, got {lines_per_piece}")
    cdef const char* line = PyBytes_AS_STRING(data)
    cdef const char* first = line
    cdef const char* end = line + PyBytes_GET_SIZE(data)
    cdef const char* stop
    cdef uint64_t chosen = <uint64_t>-1 // lines_per_piece
    cdef vector[Py_ssize_t] ends
    with nogil:
        while line < end:
            stop = <const char*>memchr(line, b"\n", end - line)
            if stop == NULL:
                break
            if hash_of(line, stop - line) <= chosen:
                ends.push_back(stop + 1 - first)
            line = stop + 1
        if first < end and (ends.empty() or ends.back() != end - first):
            ends.push_back(end - first)
    return ends
