"""The term dictionary: open addressing with linear probing over a blob of UTF-8 stems, ready to be mapped.

`slots` has a power of two of entries, at most half of them used; an entry is a term id, or -1. The text of
term t is blob[ends[t]:ends[t + 1]].
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp


cdef inline uint64_t term_hash(const uint8_t* text, Py_ssize_t length) noexcept nogil:
    """64-bit FNV-1a, finished with MurmurHash3's mixer because probing uses the low bits."""
    cdef uint64_t value = <uint64_t>0xCBF29CE484222325
    cdef Py_ssize_t i
    for i in range(length):
        value = (value ^ text[i]) * <uint64_t>0x100000001B3
    value = (value ^ (value >> 33)) * <uint64_t>0xFF51AFD7ED558CCD
    return value ^ (value >> 33)


cdef inline int32_t find_term(
    const uint8_t* text, Py_ssize_t length, const int32_t* slots, int64_t n_slots,
    const int64_t* ends, const uint8_t* blob, int64_t* slot,
) noexcept nogil:
    """The term's id, or -1; `slot` is where it is or would go."""
    cdef int64_t mask = n_slots - 1
    cdef int64_t at = <int64_t>(term_hash(text, length) & <uint64_t>mask)
    cdef int32_t term = slots[at]
    while term >= 0:
        if ends[term + 1] - ends[term] == length and memcmp(blob + ends[term], text, length) == 0:
            break
        at = (at + 1) & mask
        term = slots[at]
    slot[0] = at
    return term
