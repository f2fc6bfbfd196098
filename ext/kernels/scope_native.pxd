# What ext/negative_scope.pyx takes from the C++ headers beside it, and from Python's str.
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

cdef extern from "<string_view>" namespace "std" nogil:
    cdef cppclass string_view:
        string_view()
        string_view(const char*, size_t)
        const char* data()
        size_t size()

cdef extern from "kernels/interner.hpp" namespace "pi_rank" nogil:
    uint64_t hash_bytes(string_view)

    cdef cppclass Interner:
        uint32_t add(string_view, uint64_t) except +

cdef extern from "kernels/english_key.hpp" namespace "pi_rank" nogil:
    size_t reduce_to_key(char*, size_t, size_t)

cdef extern from "kernels/token_stream.hpp" namespace "pi_rank" nogil:
    cdef enum CharacterClass:
        UNKNOWN, SEPARATOR, LETTER, DIGIT, MARK, IGNORED, UNSPACED

    cdef enum class TokenKind(uint8_t):
        CONTENT
        FUNCTION
        BREAK

    cdef cppclass Token:
        TokenKind kind

    cdef cppclass TokenStream:
        TokenStream()
        TokenStream(const Interner*)
        const vector[Token]& tokens()
        string_view text(const Token&)
        void clear()
        void scan[Character](const Character*, size_t, const uint8_t*) except +
        void end_field() except +

cdef extern from "kernels/phrase_trie.hpp" namespace "pi_rank" nogil:
    cdef cppclass PhraseTrie:
        void add(int32_t, int32_t, const TokenStream&) except +
        void absorb(const PhraseTrie&, const vector[uint8_t]&) except +
        void finish() except +
        void match(const TokenStream&, const vector[uint8_t]&, vector[uint64_t]&) except +
        size_t phrase_count()
        size_t bytes()

cdef extern from "kernels/first_per_row.hpp" namespace "pi_rank" nogil:
    void first_per_row(const vector[uint64_t]&, size_t, vector[int32_t]&, vector[int32_t]&) except +

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object)
    int PyUnicode_KIND(object)
    const void* PyUnicode_DATA(object)
    Py_ssize_t PyUnicode_GET_LENGTH(object)
