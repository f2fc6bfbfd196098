# cython: freethreading_compatible=True
"""A BERT encoder in int8, from token ids to unit vectors, on whatever the processor has for it.

    encoder = Encoder(mapped_file)
    vectors = encoder.encode(ids, starts)      # float32[texts, width]

A text has the same vector, to the bit, alone and among others, on every thread and with every kernel.
"""

from __future__ import annotations

from libc.stdint cimport int32_t, uint8_t, uint64_t, uintptr_t
from libcpp.memory cimport unique_ptr
from libcpp.utility cimport move

from arrays cimport Array, Buffer, NewArray, import_numpy

import_numpy()


cdef extern from "encoder/checksum.hpp" namespace "pi_encoder" nogil:
    void file_checksum "pi_encoder::checksum"(const uint8_t*, size_t, uint64_t*)

cdef extern from "encoder/kernels.hpp" namespace "pi_encoder" nogil:
    struct Texts:
        const int32_t* ids
        const int32_t* starts
        size_t count
    cppclass Model:
        size_t width, heads, inner, vocabulary, positions
        const char* strings
        size_t strings_size
    cppclass Scratch:
        pass
    cppclass ScratchPool:
        unique_ptr[Scratch] take() except +
        void give_back(unique_ptr[Scratch]) except +
    Model read_model(const uint8_t*, size_t) except +
    struct Kernel:
        const char* name
        void (*encode)(const Model&, const Texts&, Scratch&, float*) except + nogil
    struct Kernels:
        Kernel list[5]
        size_t count
    const Kernels& supported_kernels()


def kernels() -> tuple[str, ...]:
    """Names of the kernels that this processor can run, best first. All give the same bits."""
    cdef size_t i
    return tuple([supported_kernels().list[i].name.decode() for i in range(supported_kernels().count)])


def checksum(content) -> str:
    """128 bits of a buffer in hexadecimal, as `checksum.hpp` defines them: against damage, not forgery."""
    buffer = Buffer(content)
    cdef uint64_t[2] found
    with nogil:
        file_checksum(buffer.data(), buffer.size(), found)
    return f"{found[0]:016x}{found[1]:016x}"


cdef class Encoder:
    """An encoder file (pi_rank/embedding/making/encoder_file.py), read where it lies. Many threads may encode at once.

    :param content: a buffer with the file, which is kept and must not change; 4-byte aligned, as mappings are.
    :param kernel: one of `kernels()`; the first if None.
    :raises ValueError: the content is no such file, is cut short, or of another architecture; or the kernel is
        unknown here. The message has no subject: "is cut short".
    """

    cdef Buffer content
    cdef Model model
    cdef ScratchPool scratch
    cdef const Kernel* kernel

    def __init__(self, content, kernel=None):
        self.kernel = &supported_kernels().list[kernel_index(kernel)]
        self.content = Buffer(content)
        if self.content.size() == 0:
            raise ValueError("is empty")
        if <uintptr_t>self.content.data() % 4:
            raise ValueError("does not lie at a multiple of 4 bytes")
        self.model = read_model(self.content.data(), self.content.size())

    @property
    def kernel_name(self):
        """The kernel that it runs on."""
        return self.kernel.name.decode()

    @property
    def width(self):
        """Length of every vector."""
        return self.model.width

    @property
    def vocabulary(self):
        """Number of token ids."""
        return self.model.vocabulary

    @property
    def positions(self):
        """Most tokens of a text."""
        return self.model.positions

    @property
    def strings(self):
        """The tokens' strings by id, a line each, UTF-8; empty where another tokenizer is needed."""
        return self.model.strings[: self.model.strings_size]

    def encode(self, ids, starts):
        """Unit vectors, float32[texts, width], of texts whose tokens lie one after the other.

        :param ids: int32[tokens], each below `vocabulary`.
        :param starts: int32[texts + 1]; text i has the tokens [starts[i], starts[i + 1]), one at least and
            `positions` at most.
        :raises ValueError: anything else.
        """
        all_ids = Array[int32_t](ids, "ids")
        begins = Array[int32_t](starts, "starts")
        cdef Texts texts
        if begins.size() < 1 or begins[0] != 0:
            raise ValueError("starts must begin with 0")
        texts.count = begins.size() - 1
        vectors = NewArray[float](texts.count, self.model.width)
        if texts.count == 0:
            return vectors.object()
        self.check(all_ids, begins)
        texts.ids = all_ids.data()
        texts.starts = begins.data()
        cdef unique_ptr[Scratch] scratch
        with nogil:
            scratch = self.scratch.take()
            self.kernel.encode(self.model, texts, scratch.get()[0], vectors.data())
            self.scratch.give_back(move(scratch))
        return vectors.object()

    cdef int check(self, const Array[int32_t]& ids, const Array[int32_t]& starts) except -1:
        cdef Py_ssize_t i, count = starts.size() - 1
        for i in range(count):
            if not 1 <= starts[i + 1] - starts[i] <= <int32_t>self.model.positions:
                raise ValueError(
                    f"text {i} has {starts[i + 1] - starts[i]} tokens, "
                    f"which must be from 1 to {self.model.positions}"
                )
        if starts[count] != ids.size():
            raise ValueError(f"starts end at {starts[count]} of {ids.size()} ids")
        for i in range(ids.size()):
            if not 0 <= ids[i] < <int32_t>self.model.vocabulary:
                raise ValueError(f"ids[{i}] is {ids[i]}, but there are {self.model.vocabulary} tokens")
        return 0


cdef size_t kernel_index(name) except *:
    if name is None:
        return 0
    if name not in kernels():
        raise ValueError(f"unknown kernel {name!r}; this processor runs {', '.join(kernels())}")
    return kernels().index(name)
