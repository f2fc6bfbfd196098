# cython: freethreading_compatible=True
"""Names (identifiers, paths, versions, tickets): what of a text is one, and which records hold a query's.

    keys, rows = build(["JIRA-4521 tracks the flaky upload test.", "getUserById is slow"])
    find(((keys, rows),), "user by id?", eligible)      # rows, shares, whole

kernels/names.hpp says what a name is and by which keys it is found, kernels/name_search.hpp what it is worth.
"""

from unicodedata import category, normalize

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp cimport bool as cpp_bool
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from arrays cimport Array, NewArray, array_of, import_numpy
from scope_native cimport (
    Interner,
    PyUnicode_DATA,
    PyUnicode_GET_LENGTH,
    PyUnicode_IS_ASCII,
    hash_bytes,
    string_view,
)

from pi_rank._core.negative_scope import is_unspaced
from pi_rank.words import FUNCTION_WORDS


cdef extern from "kernels/names.hpp" namespace "pi_rank" nogil:
    cdef cppclass NameText:
        NameText(string_view, const Interner&)


cdef extern from "kernels/name_search.hpp" namespace "pi_rank" nogil:
    cdef cppclass NameEntries:
        const int64_t* keys
        const int32_t* rows
        size_t count

    cdef cppclass NameTable:
        NameTable()
        NameTable(const NameEntries&) except +
        size_t bytes()

    cdef cppclass NamedRow:
        int32_t row
        double share
        cpp_bool whole

    cdef cppclass NameSearch:
        NameSearch(const vector[const NameTable*]&, const uint8_t*)
        vector[NamedRow] find(const NameText&) except +

    void merge_names(const NameEntries&, const NameEntries&, int64_t*, int32_t*)


cdef extern from "kernels/named_first.hpp" namespace "pi_rank" nogil:
    cdef cppclass LedOrder:
        vector[int32_t] rows
        vector[int32_t] places
        vector[double] shares

    vector[int32_t] missing(const int32_t*, size_t, const int32_t*, size_t) except +
    LedOrder led_order(
        const int32_t*, size_t, const int32_t*, size_t, const double* shares, const uint8_t* returning
    ) except +


cdef extern from *:
    """
    #include <algorithm>
    #include "kernels/name_search.hpp"

    using NameKeys = std::vector<std::pair<std::int64_t, std::int32_t>>;

    static void add_record_keys(const pi_rank::NameText& text, std::int32_t row, NameKeys& found) {
        text.pieces([&](const pi_rank::NamePiece& piece) {
            if (piece.is_name) text.record_keys(piece, [&](std::int64_t key) { found.emplace_back(key, row); });
            return true;
        });
    }

    static void sort_keys(NameKeys& found) {
        std::sort(found.begin(), found.end());
        found.erase(std::unique(found.begin(), found.end()), found.end());
    }

    static std::vector<std::pair<std::size_t, std::size_t>> name_spans(const pi_rank::NameText& text) {
        std::vector<std::pair<std::size_t, std::size_t>> spans;
        text.pieces([&](const pi_rank::NamePiece& piece) {
            if (piece.is_name) spans.emplace_back(piece.whole.begin, piece.whole.end);
            return true;
        });
        return spans;
    }
    """
    void add_record_keys(const NameText&, int32_t, vector[pair[int64_t, int32_t]]&) except + nogil
    void sort_keys(vector[pair[int64_t, int32_t]]&) except + nogil
    vector[pair[size_t, size_t]] name_spans(const NameText&) except + nogil


cdef Interner FUNCTION_WORD_SET


cdef void _prepare() except *:
    cdef bytes encoded
    for word in FUNCTION_WORDS:
        encoded = word.encode()
        FUNCTION_WORD_SET.add(string_view(encoded, len(encoded)), hash_bytes(string_view(encoded, len(encoded))))


_prepare()


class _Letters(dict):
    """For str.translate: letters and their marks folded, everything else beyond ASCII as a blank."""

    def __missing__(self, code):
        character = chr(code)
        if code < 0x80:
            folded = character
        elif category(character) == "Cf":
            folded = ""
        elif character.isalnum() or category(character)[0] == "M":
            folded = character.casefold()
        else:
            folded = " "
        self[code] = folded
        return folded


_LETTERS = _Letters()


cdef object _prepared(str text):
    """The text as `NameText` reads it: str where it is ASCII, else UTF-8."""
    if PyUnicode_IS_ASCII(text):
        return text
    return normalize("NFKC", text).translate(_LETTERS).encode("utf-8", "replace")


cdef string_view _view(object prepared):
    if isinstance(prepared, str):
        return string_view(<const char*>PyUnicode_DATA(prepared), PyUnicode_GET_LENGTH(prepared))
    return string_view(<const char*><bytes>prepared, len(<bytes>prepared))


def names_in(str text not None):
    prepared = _prepared(text)
    cdef string_view view = _view(prepared)
    cdef vector[pair[size_t, size_t]] spans = name_spans(NameText(view, FUNCTION_WORD_SET))
    cdef size_t i
    return [view.data()[spans[i].first:spans[i].second].decode() for i in range(spans.size())]


def build(texts, int32_t first_row=0):
    import_numpy()
    cdef vector[pair[int64_t, int32_t]] found
    cdef string_view view
    cdef int32_t row = first_row
    cdef size_t i
    for text in texts:
        prepared = _prepared(<str?>text)
        view = _view(prepared)
        add_record_keys(NameText(view, FUNCTION_WORD_SET), row, found)
        row += 1
    with nogil:
        sort_keys(found)
    keys, rows = NewArray[int64_t](found.size()), NewArray[int32_t](found.size())
    for i in range(found.size()):
        keys[i], rows[i] = found[i].first, found[i].second
    return keys.object(), rows.object()


def merge(tuple first, tuple second):
    import_numpy()
    first_keys, first_rows = Array[int64_t](first[0], "keys"), Array[int32_t](first[1], "rows")
    second_keys, second_rows = Array[int64_t](second[0], "keys"), Array[int32_t](second[1], "rows")
    cdef NameEntries one = _entries(first_keys, first_rows), other = _entries(second_keys, second_rows)
    keys, rows = NewArray[int64_t](one.count + other.count), NewArray[int32_t](one.count + other.count)
    with nogil:
        merge_names(one, other, keys.data(), rows.data())
    return keys.object(), rows.object()


cdef NameEntries _entries(const Array[int64_t]& keys, const Array[int32_t]& rows) except *:
    cdef NameEntries entries
    if keys.size() != rows.size():
        raise ValueError(f"{keys.size()} keys of names, but {rows.size()} rows")
    entries.keys, entries.rows, entries.count = keys.data(), rows.data(), keys.size()
    return entries


cdef class Segment:
    """Entries of adjacent rows, ready to be looked up."""

    cdef Array[int64_t] keys
    cdef Array[int32_t] rows
    cdef NameTable table

    def __init__(self, tuple entries):
        import_numpy()
        self.keys, self.rows = Array[int64_t](entries[0], "keys"), Array[int32_t](entries[1], "rows")
        self.table = NameTable(_entries(self.keys, self.rows))

    @property
    def nbytes(self) -> int:
        return self.keys.size() * 8 + self.rows.size() * 4 + self.table.bytes()


def find(tuple segments, str query not None, eligible):
    cdef vector[const NameTable*] tables
    cdef vector[NamedRow] found
    cdef size_t i
    flags = Array[uint8_t](eligible, "eligible")
    for segment in segments:
        tables.push_back(&(<Segment?>segment).table)
    prepared = _prepared(query)
    cdef string_view view = _view(prepared)
    cdef NameSearch* search = new NameSearch(tables, flags.data())
    try:
        found = search.find(NameText(view, FUNCTION_WORD_SET))
    finally:
        del search
    if not found.size():
        return None
    named, shares, whole = NewArray[int32_t](found.size()), NewArray[double](found.size()), NewArray[uint8_t](found.size())
    for i in range(found.size()):
        named[i], shares[i], whole[i] = found[i].row, found[i].share, found[i].whole
    return named.object(), shares.object(), whole.object()


def joined(found_rows, named_rows):
    found, named = Array[int32_t](found_rows, "found_rows"), Array[int32_t](named_rows, "named_rows")
    cdef vector[int32_t] others
    cdef Py_ssize_t i
    if not (found.size() and named.size()):
        return named_rows if not found.size() else found_rows
    with nogil:
        others = missing(found.data(), found.size(), named.data(), named.size())
    if not others.size():
        return found_rows
    both = NewArray[int32_t](found.size() + others.size())
    for i in range(found.size()):
        both[i] = found[i]
    for i in range(<Py_ssize_t>others.size()):
        both[found.size() + i] = others[i]
    return both.object()


def put_first(ranked_rows, named_rows, shares, returning):
    ranked, named = Array[int32_t](ranked_rows, "ranked_rows"), Array[int32_t](named_rows, "named_rows")
    worth, back = Array[double](shares, "shares"), Array[uint8_t](returning, "returning")
    if not named.size() == worth.size() == back.size():
        raise ValueError(f"{named.size()} rows, but {worth.size()} shares and {back.size()} flags")
    cdef LedOrder order
    with nogil:
        order = led_order(ranked.data(), ranked.size(), named.data(), named.size(), worth.data(), back.data())
    return array_of(order.rows), array_of(order.places), array_of(order.shares)


def taken(values, places):
    at = Array[int32_t](places, "places")
    if values.dtype == "int32":
        return _taken_int32(Array[int32_t](values, "values"), at)
    return _taken_double(Array[double](values, "values"), at)


cdef object _taken_int32(const Array[int32_t]& values, const Array[int32_t]& places):
    cdef Py_ssize_t i
    new = NewArray[int32_t](places.size())
    for i in range(places.size()):
        new[i] = values[places[i]] if 0 <= places[i] < values.size() else 0
    return new.object()


cdef object _taken_double(const Array[double]& values, const Array[int32_t]& places):
    cdef Py_ssize_t i
    new = NewArray[double](places.size())
    for i in range(places.size()):
        new[i] = values[places[i]] if 0 <= places[i] < values.size() else 0.0
    return new.object()
