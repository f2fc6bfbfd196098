"""Negative scope: which records' phrases occur in a turn, whatever the number of records.

    automaton = PhraseAutomaton.build([["npm publish"], [], ["legacy code", "during incidents"]])
    rows, phrase_indexes = automaton.match(["please run npm publish", "/src/legacy"])   # [0], [0]
    automaton = automaton.updated(dead, [["new phrase"]])                               # row 3

**Tokens.** Text is folded (`pi_rank.folding`). A token is a run of letters, digits and the combining marks
upon them; any other character separates, apostrophes, underscores and lone surrogates included. Han, kana, Thai,
Lao, Khmer and Myanmar are written without spaces: there each letter is a token, with its marks. Variation
selectors and enclosing marks choose a glyph, not a letter, and are passed over.

**Function words** (`pi_rank.words`) are dropped from both sides. A phrase of nothing else is compared as written,
with a run of the text's own tokens. A phrase without any token never matches.

**Prefix keys.** A token of fewer than four letters is its own key. A longer one loses English inflection, in this
order, and never so that fewer than four letters are left:

1. `s` (not after s or u: *class*, *status*);
2. `ing`, else `ed` (not after e: *exceed*); then `er` (not after e: *engineer*), so that *filter* meets
   *filtering*;
3. `ment`;
4. `e` (*release* meets *releasing*);
5. spelling: a doubled last consonant counts once (*planned*, *plan*), a last i is a y (*queries*, *query*), and a
   stem like *stat* regains or keeps its e (*stated*, *state*), for English would have doubled its t.

*Publish* so meets publishes, published, publishing and publisher; *deploy* meets deployment. These endings change
a word's form, or name who does it and what comes of it. Those that make another word (-ion, -al, -ive, -able, -ly)
are not listed: *product* is not *production*, nor *public* *publication*. The price of four letters: *running* is
not *run*, nor *coded* *code*.

**Matching** is Aho-Corasick over keys, one pass over the turn. An automaton is a few segments, each built once
and then only read; an update adds a small one and merges those of like size, so that a turn walks about log(rows)
of them and an update costs about what was added.
"""

from __future__ import annotations

from unicodedata import category

from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from arrays cimport array_of, import_numpy
from scope_native cimport (
    DIGIT,
    IGNORED,
    LETTER,
    MARK,
    SEPARATOR,
    UNKNOWN,
    UNSPACED,
    Interner,
    PhraseTrie,
    PyUnicode_DATA,
    PyUnicode_GET_LENGTH,
    PyUnicode_IS_ASCII,
    PyUnicode_KIND,
    TokenKind,
    TokenStream,
    first_per_row,
    hash_bytes,
    reduce_to_key,
    string_view,
)

from pi_rank.folding import UNSPACED_BLOCKS, folded
from pi_rank.words import FUNCTION_WORDS

_VARIATION_SELECTORS = ((0xFE00, 0xFE0F), (0xE0100, 0xE01EF))

# A merge takes in the segment before while that one has at most this many times the phrases of the new one.
# Larger: fewer segments to walk, and more merging. 4 keeps 100,000 phrases in at most about eight.
cdef enum:
    MERGE_RATIO = 4

# The class of each code point, filled in as characters are first seen: all of Unicode would cost 0.2 s at import.
cdef uint8_t[0x110000] CLASSES
cdef Interner FUNCTION_WORD_SET


cdef bint _is_among(uint32_t code, tuple blocks) except -1:
    cdef uint32_t low, high
    for low, high in blocks:
        if low <= code <= high:
            return True
    return False


cdef uint8_t _classify(str character) except 0:
    cdef uint32_t code = ord(character)
    if character.isalnum():
        if not character.isdecimal() and _is_among(code, UNSPACED_BLOCKS):
            return UNSPACED
        return LETTER if character.isalpha() else DIGIT
    kind = category(character)
    if kind == "Me" or _is_among(code, _VARIATION_SELECTORS):
        return IGNORED
    return MARK if kind in ("Mn", "Mc") else SEPARATOR


cdef void _prepare() except *:
    cdef bytes encoded
    for code in range(0x80):
        CLASSES[code] = _classify(chr(code))
    for word in FUNCTION_WORDS:
        encoded = word.encode()
        text = string_view(encoded, len(encoded))
        FUNCTION_WORD_SET.add(text, hash_bytes(text))


_prepare()


cdef str _normalised(str text):
    """The text as `TokenStream.scan` wants it, with the classes of all its characters known."""
    if PyUnicode_IS_ASCII(text):
        return text
    text = folded(text)
    for character in text:
        if CLASSES[<uint32_t>ord(character)] == UNKNOWN:
            CLASSES[<uint32_t>ord(character)] = _classify(character)
    return text


cdef struct Characters:
    const void* data
    size_t count
    int width


cdef Characters _characters(str text):
    return Characters(PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text), PyUnicode_KIND(text))


cdef int _scan(TokenStream& stream, Characters text) except -1 nogil:
    if text.width == 1:
        stream.scan(<const uint8_t*>text.data, text.count, CLASSES)
    elif text.width == 2:
        stream.scan(<const uint16_t*>text.data, text.count, CLASSES)
    else:
        stream.scan(<const uint32_t*>text.data, text.count, CLASSES)
    return 0


cdef str _decoded(string_view text):
    return text.data()[:text.size()].decode("utf-8")


def tokenize(str text not None) -> list[str]:
    """The tokens of `text` as written, normalised and casefolded, in order."""
    cdef TokenStream stream
    cdef size_t i
    text = _normalised(text)
    _scan(stream, _characters(text))
    return [_decoded(stream.text(stream.tokens()[i])) for i in range(stream.tokens().size())]


def content_keys(str text not None) -> list[str]:
    """The prefix keys of the tokens of `text` that are no function words, in order, repeats included."""
    cdef TokenStream stream = TokenStream(&FUNCTION_WORD_SET)
    cdef size_t i
    text = _normalised(text)
    _scan(stream, _characters(text))
    return [
        _decoded(stream.text(stream.tokens()[i]))
        for i in range(stream.tokens().size())
        if stream.tokens()[i].kind == TokenKind.CONTENT
    ]


def prefix_key(str token not None) -> str:
    """The prefix key of one token, as `tokenize` gives it. A function word has one as well."""
    cdef bytearray key = bytearray(token, "utf-8")
    cdef size_t letters = sum(map(str.isalpha, token))
    return key[: reduce_to_key(<char*>key, len(key), letters)].decode("utf-8")


def is_unspaced(str character not None) -> bool:
    """Whether the character is a letter of a script that is written without spaces."""
    return _classify(character) == UNSPACED


cdef class _Segment:
    """The phrases of some rows, compiled. Never changed after `finish`."""

    cdef PhraseTrie trie


cdef int _add_row(PhraseTrie& trie, TokenStream& stream, int32_t row, object phrases) except -1:
    cdef int32_t index = 0
    cdef str text
    if isinstance(phrases, str):
        raise TypeError(f"row {row}: phrases must be a sequence of str, got a single str")
    for phrase in phrases:
        if not isinstance(phrase, str):
            raise TypeError(f"row {row}: phrase {index} must be str, got {type(phrase).__name__}")
        text = _normalised(phrase)
        stream.clear()
        _scan(stream, _characters(text))
        trie.add(row, index, stream)
        index += 1
    return 0


cdef _Segment _compiled(int32_t first_row, object rows):
    cdef _Segment segment = _Segment()
    cdef TokenStream stream = TokenStream(&FUNCTION_WORD_SET)
    cdef int32_t row = first_row
    for phrases in rows:
        _add_row(segment.trie, stream, row, phrases)
        row += 1
    segment.trie.finish()
    return segment


cdef _Segment _merged(_Segment earlier, _Segment later, const vector[uint8_t]& dead):
    cdef _Segment segment = _Segment()
    segment.trie.absorb(earlier.trie, dead)
    segment.trie.absorb(later.trie, dead)
    segment.trie.finish()
    return segment


cdef class PhraseAutomaton:
    """The phrases of all rows of a snapshot. Immutable: `updated` returns a new value and shares what it can."""

    cdef tuple segments  # of _Segment, rows ascending from one to the next
    cdef vector[uint8_t] dead

    def __init__(self) -> None:
        raise TypeError("use PhraseAutomaton.build(phrases)")

    @staticmethod
    def build(phrases: Sequence[Sequence[str]]) -> PhraseAutomaton:
        """Compile the phrases of rows 0, 1, …: one sequence of str a row, in the record's own list order.

        Raises TypeError where a row is a single str or a phrase is not a str.
        """
        cdef PhraseAutomaton automaton = PhraseAutomaton.__new__(PhraseAutomaton)
        automaton.segments = (_compiled(0, phrases),)
        automaton.dead.resize(len(phrases), 0)
        return automaton

    @property
    def n_rows(self) -> int:
        """Rows, dead ones included."""
        return self.dead.size()

    @property
    def phrase_count(self) -> int:
        """Phrases that can match, those of rows that died since included."""
        cdef size_t total = 0
        for segment in self.segments:
            total += (<_Segment>segment).trie.phrase_count()
        return total

    @property
    def nbytes(self) -> int:
        """Bytes held, those shared with other values included."""
        cdef size_t total = self.dead.size()
        for segment in self.segments:
            total += (<_Segment>segment).trie.bytes()
        return total

    def updated(self, dead: Sequence[int], added: Sequence[Sequence[str]]) -> PhraseAutomaton:
        """A new automaton without the phrases of the rows in `dead`, and with `added` as rows from n_rows on.

        A dead row stays dead; to name it again is no error. Raises IndexError for a row that there is not.
        """
        cdef PhraseAutomaton automaton = PhraseAutomaton.__new__(PhraseAutomaton)
        cdef _Segment fresh = _compiled(<int32_t>self.dead.size(), added)
        cdef list segments = list(self.segments)
        cdef Py_ssize_t row
        automaton.dead = self.dead
        for row in dead:
            if not 0 <= row < <Py_ssize_t>self.dead.size():
                raise IndexError(f"dead row {row} is not in [0, {self.dead.size()})")
            automaton.dead[row] = 1
        automaton.dead.resize(self.dead.size() + len(added), 0)
        if fresh.trie.phrase_count():
            while segments and _is_like_size(segments[len(segments) - 1], fresh):
                fresh = _merged(segments.pop(), fresh, automaton.dead)
            segments.append(fresh)
        automaton.segments = tuple(segments)
        return automaton

    def match(self, segments: Sequence[str]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """The rows that have a phrase in the turn, ascending, and the index of each one's first such phrase.

        `segments` are the turn's fields; no phrase spans two of them. Both arrays are int32. Raises TypeError
        where `segments` is a single str or holds anything but str.
        """
        cdef list texts = [_normalised(text) for text in _fields(segments)]
        cdef vector[Characters] fields
        cdef vector[const PhraseTrie*] tries
        cdef vector[int32_t] rows, indexes
        for text in texts:
            fields.push_back(_characters(text))
        for segment in self.segments:
            tries.push_back(&(<_Segment>segment).trie)
        with nogil:
            _find(fields, tries, self.dead, rows, indexes)
        return _int32_array(rows), _int32_array(indexes)


cdef bint _is_like_size(_Segment earlier, _Segment fresh) noexcept:
    return earlier.trie.phrase_count() <= MERGE_RATIO * fresh.trie.phrase_count()


cdef object _fields(object segments):
    if isinstance(segments, str):
        raise TypeError("segments must be a sequence of str, one per field, got a single str")
    for position, text in enumerate(segments):
        if not isinstance(text, str):
            raise TypeError(f"segment {position} must be str, got {type(text).__name__}")
    return segments


cdef int _find(
    const vector[Characters]& fields,
    const vector[const PhraseTrie*]& tries,
    const vector[uint8_t]& dead,
    vector[int32_t]& rows,
    vector[int32_t]& indexes,
) except -1 nogil:
    cdef TokenStream stream = TokenStream(&FUNCTION_WORD_SET)
    cdef vector[uint64_t] hits
    cdef size_t i
    for i in range(fields.size()):
        _scan(stream, fields[i])
        stream.end_field()
    for i in range(tries.size()):
        tries[i].match(stream, dead, hits)
    first_per_row(hits, dead.size(), rows, indexes)
    return 0


cdef object _int32_array(const vector[int32_t]& values):
    import_numpy()  # not at the top: those who only tokenise need not wait for it
    return array_of(values)
