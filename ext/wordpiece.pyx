# cython: freethreading_compatible=True
"""BERT's tokenizer: token ids straight from Python's strings.

    pieces = WordPiece(b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhello\n##s")
    ids, starts = pieces.encode(["Hello", "hellos"], head=32, limit=128)

The same ids as `tokenizers` gives for a BertNormalizer that lower-cases, a BertPreTokenizer and a WordPiece model;
ext/wordpiece/make_table.py asks it what becomes of each character. One thing is left out, because no vocabulary
has words that show it: the order of several marks at one letter that are no accents.
"""

from __future__ import annotations

from cpython.unicode cimport PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_KIND
from libc.stdint cimport int32_t
from libcpp.memory cimport unique_ptr
from libcpp.vector cimport vector

from arrays cimport array_of, import_numpy

import_numpy()


cdef extern from "wordpiece/wordpiece.hpp" namespace "pi_wordpiece" nogil:
    struct Text:
        const void* data
        size_t size
        int width
    cppclass Vocabulary:
        Vocabulary(const char*, size_t) except +
        size_t size()
        int32_t marks[5]
    void cut_text "pi_wordpiece::encode"(const Text&, const Vocabulary&, vector[int32_t]&) except +


cdef class WordPiece:
    """A vocabulary. Many threads may encode at once.

    :param strings: the tokens in the order of their ids, a line each, UTF-8, those inside words with "##" before.
    :raises ValueError: a token is empty or twice there, or [UNK], [CLS], [SEP], [PAD] or [MASK] is missing.
    """

    cdef bytes strings
    cdef unique_ptr[Vocabulary] vocabulary

    def __init__(self, bytes strings not None):
        self.strings = strings
        self.vocabulary.reset(new Vocabulary(<const char*>self.strings, len(self.strings)))

    def __len__(self):
        return self.vocabulary.get().size()

    def tokens(self, str text not None):
        """int32 ids of a text, without marks and however many."""
        cdef vector[int32_t] ids
        cut_text(as_it_lies(text), self.vocabulary.get()[0], ids)
        return array_of(ids)

    def encode(self, list texts not None, *, size_t head, size_t limit):
        """Ids of texts, each between [CLS] and [SEP], of a long one the first `head` and the last of `limit`.

        :return: int32[tokens], and int32[texts + 1]: text i has the ids from starts[i] to starts[i + 1].
        :raises ValueError: not 1 <= head < limit.
        :raises TypeError: one of the texts is no string.
        """
        if not 1 <= head < limit:
            raise ValueError(f"head must be from 1 to {limit - 1} (one less than limit), not {head}")
        cdef vector[Text] lying
        cdef vector[int32_t] ids, starts
        cdef size_t i, first, count
        cdef Vocabulary* known = self.vocabulary.get()
        held = tuple(texts)  # so that none goes away if the list is changed meanwhile
        for text in held:
            if not isinstance(text, str):
                raise TypeError(f"a text must be a str, not {type(text).__name__}")
            lying.push_back(as_it_lies(text))
        with nogil:
            starts.push_back(0)
            for i in range(lying.size()):
                first = ids.size()
                ids.push_back(known.marks[1])
                cut_text(lying[i], known[0], ids)
                ids.push_back(known.marks[2])
                count = ids.size() - first
                if count > limit:
                    ids.erase(ids.begin() + first + head, ids.begin() + first + head + count - limit)
                starts.push_back(<int32_t>ids.size())
        return array_of(ids), array_of(starts)


cdef Text as_it_lies(str text):
    """The string's own memory; the caller keeps the string."""
    cdef Text found
    found.data = PyUnicode_DATA(text)
    found.size = PyUnicode_GET_LENGTH(text)
    found.width = PyUnicode_KIND(text)
    return found
