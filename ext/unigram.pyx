# cython: freethreading_compatible=True
r"""A unigram tokenizer's best segmentation: token ids of texts that are normalised already.

    unigram = Unigram(content)                    # of a unigram file
    ids, starts = unigram.encode([b"\xe2\x96\x81hello"], head=32, limit=128)

What normalisation is, `pi_rank.embedding.tokenizer` says; the file's form, `pi_rank.embedding.fetched.unigram_file`.
"""

from __future__ import annotations

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, uint8_t, uintptr_t
from libcpp.memory cimport unique_ptr
from libcpp.vector cimport vector

from arrays cimport Buffer, array_of, import_numpy

import_numpy()


cdef extern from "unigram/unigram.hpp" namespace "pi_unigram" nogil:
    cppclass Vocabulary:
        Vocabulary(const uint8_t*, size_t) except +
        size_t size()
        int32_t first, last
    void cut(const uint8_t*, size_t, const Vocabulary&, vector[int32_t]&) except +


cdef class Unigram:
    """A vocabulary, read where it lies. Many threads may encode at once.

    :param content: the file, which is kept and must not change; 4-byte aligned.
    :raises ValueError: it is none or damaged. The message has no subject: "is cut short".
    """

    cdef Buffer content
    cdef unique_ptr[Vocabulary] vocabulary

    def __init__(self, content):
        self.content = Buffer(content)
        if <uintptr_t>self.content.data() % 4:
            raise ValueError("does not lie at a multiple of 4 bytes")
        self.vocabulary.reset(new Vocabulary(self.content.data(), self.content.size()))

    def __len__(self):
        return self.vocabulary.get().size()

    def tokens(self, bytes text not None):
        """int32 ids of a UTF-8 text, without marks and however many."""
        cdef vector[int32_t] ids
        cut(<const uint8_t*>PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text), self.vocabulary.get()[0], ids)
        return array_of(ids)

    def encode(self, list texts not None, *, size_t head, size_t limit):
        """Ids of UTF-8 texts, each between the marks, of a long one the first `head` and the last of `limit`.

        :return: int32[tokens], and int32[texts + 1]: text i has the ids from starts[i] to starts[i + 1].
        :raises ValueError: not 1 <= head < limit.
        :raises TypeError: one of the texts is no bytes.
        """
        if not 1 <= head < limit:
            raise ValueError(f"head must be from 1 to {limit - 1} (one less than limit), not {head}")
        cdef vector[const uint8_t*] lying
        cdef vector[size_t] sizes
        cdef vector[int32_t] ids, starts
        cdef size_t i, begin, count
        cdef Vocabulary* known = self.vocabulary.get()
        held = tuple(texts)  # so that none goes away if the list is changed meanwhile
        for text in held:
            if not isinstance(text, bytes):
                raise TypeError(f"a text must be bytes, not {type(text).__name__}")
            lying.push_back(<const uint8_t*>PyBytes_AS_STRING(text))
            sizes.push_back(PyBytes_GET_SIZE(text))
        with nogil:
            starts.push_back(0)
            for i in range(lying.size()):
                begin = ids.size()
                ids.push_back(known.first)
                cut(lying[i], sizes[i], known[0], ids)
                ids.push_back(known.last)
                count = ids.size() - begin
                if count > limit:
                    ids.erase(ids.begin() + begin + head, ids.begin() + begin + head + count - limit)
                starts.push_back(<int32_t>ids.size())
        return array_of(ids), array_of(starts)
