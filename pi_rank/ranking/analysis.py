"""Text to stems, exactly as SQLite FTS5 makes them of folded text: FTS5 itself is asked, once per word.

analyzer = FtsAnalyzer()
analyzer.document_terms([("Run bun tests", "testing")])  # [b"run bun test:2\\n"]
analyzer.query_terms("how do I run the tests?")          # ("run", "test")
"""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from pi_rank.errors import StoreError
from pi_rank.folding import TOKENIZER, document_text, query_text
from pi_rank.words import FUNCTION_WORDS

__all__ = ["FUNCTION_WORDS", "FtsAnalyzer", "pack_terms", "unpack_terms"]

STEM_CACHE_WORDS = 65_536  # about 10 MB of words and stems
CHUNK_DOCUMENTS = 2_000  # documents whose new words are stemmed in one round trip to FTS5
_BLOCK = 256  # code points classified in one round trip


def pack_terms(content: Mapping[str, int], function: Mapping[str, int]) -> bytes:
    """One document's stems with their counts, as UTF-8: `content stems \\n function-word stems`.

    Stems are separated by a space; a count other than one follows its stem after a colon (`test:2`). A stem
    holds letters and digits only, so the three separators are never part of one.
    """
    return f"{_pack_part(content)}\n{_pack_part(function)}".encode()


def _pack_part(counts: Mapping[str, int]) -> str:
    return " ".join([stem if count == 1 else f"{stem}:{count}" for stem, count in counts.items()])


def unpack_terms(packed: bytes) -> tuple[dict[str, int], dict[str, int]]:
    """The inverse of pack_terms: (content stems, function-word stems), each with counts."""
    content, _, function = packed.decode().partition("\n")
    return _unpack_part(content), _unpack_part(function)


def _unpack_part(part: str) -> dict[str, int]:
    counts = {}
    for entry in part.split(" ") if part else ():
        stem, _, count = entry.partition(":")
        counts[stem] = int(count or 1)
    return counts


class FtsAnalyzer:
    """FTS5's tokeniser and stemmer on a private in-memory database; safe to share between threads.

    FTS5 is asked what it does with each character (a separator, or which folded character) and with each
    word (its stem). Both answers depend on nothing else and are kept, so that a warm query costs a
    dictionary look-up per word.

    :raises StoreError: this Python's SQLite has no FTS5.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stemmer = _Tokenizer(TOKENIZER)
        self._folds = _FoldTable(_Tokenizer(TOKENIZER.removeprefix("porter ")), self._lock)
        # Two generations stand in for an LRU list: a look-up takes no lock and moves nothing.
        self._young: dict[str, str] = {}
        self._old: dict[str, str] = {}
        self._last_query: tuple[str, tuple[str, ...]] = "", ()  # each part of a turn asks for the same stems
        self._function_stems = frozenset(self._stems(FUNCTION_WORDS).values())

    def document_terms(self, texts: Sequence[tuple[str, str]]) -> list[bytes]:
        """The stems of each (statement, tags), both columns counted together, as pack_terms writes them."""
        packed: list[bytes] = []
        for start in range(0, len(texts), CHUNK_DOCUMENTS):
            parts = texts[start : start + CHUNK_DOCUMENTS]
            chunk = [self._words(document_text(f"{text} {tags}")) for text, tags in parts]
            stems = self._stems({word for words in chunk for word in words})
            packed += [self._pack(Counter([stems[word] for word in words])) for words in chunk]
        return packed

    def query_terms(self, text: str) -> tuple[str, ...]:
        """The stems to search for, in order of their words' first occurrence.

        Each distinct word counts once. Function words are dropped, unless the text holds nothing else:
        "to be or not to be" should find something. Two words with one stem give that stem twice, as the
        two phrases of an ORed FTS5 query would count it.
        """
        last, terms = self._last_query
        if text != last:
            words = self._query_words(text)
            stems = self._stems(words)
            terms = tuple([stems[word] for word in words])
            self._last_query = text, terms
        return terms

    def fts_query(self, text: str) -> str:
        """The FTS5 MATCH expression over the same words, quoted and ORed; "" when there is none."""
        return " OR ".join([f'"{word}"' for word in self._query_words(text)])

    def close(self) -> None:
        """Close the private database. The analyzer cannot be used afterwards."""
        with self._lock:
            self._stemmer.close()
            self._folds.close()

    def _query_words(self, text: str) -> list[str]:
        words = dict.fromkeys(self._words(query_text(text)))
        return [word for word in words if word not in FUNCTION_WORDS] or list(words)

    def _words(self, text: str) -> list[str]:
        if not text.isascii():
            self._folds.learn(text)
        return text.translate(self._folds).split()

    def _pack(self, counts: Mapping[str, int]) -> bytes:
        function = self._function_stems & counts.keys()
        if not function:
            return pack_terms(counts, {})
        content = {stem: count for stem, count in counts.items() if stem not in function}
        return pack_terms(content, {stem: counts[stem] for stem in counts if stem in function})

    def _stems(self, words: Iterable[str]) -> dict[str, str]:
        """The stem of every word, from the cache where it is there."""
        stems: dict[str, str] = {}
        missing: list[str] = []
        young, old = self._young, self._old
        for word in words:
            stem = young.get(word)
            if stem is None and (stem := old.get(word)) is not None:
                young[word] = stem
            if stem is None:
                missing.append(word)
            else:
                stems[word] = stem
        if missing:
            self._stem_new(missing, stems)
        return stems

    def _stem_new(self, words: list[str], stems: dict[str, str]) -> None:
        with self._lock:
            found = {words[row]: token for row, token in self._stemmer.tokens(words)}
            if len(self._young) + len(found) > STEM_CACHE_WORDS // 2:
                self._old, self._young = self._young, {}
            if len(found) <= STEM_CACHE_WORDS // 2:
                self._young.update(found)
        stems.update(found)


class _FoldTable(dict[int, str]):
    """For str.translate: code point to what FTS5 makes of it, a space for a separator; filled on demand.

    Combining marks fold to nothing: FTS5 reads over them inside a word and skips them before one.
    """

    def __init__(self, tokenizer: _Tokenizer, lock: threading.Lock) -> None:
        self._tokenizer = tokenizer
        self._lock = lock
        self.close = tokenizer.close

    def learn(self, text: str) -> None:
        """Ask at once for all characters of the text that are not known yet: Chinese fills 80 blocks."""
        unknown = {code for code in map(ord, set(text)) if code not in self}  # `-` would go through all known
        if unknown:
            self._ask(unknown)

    def __missing__(self, code_point: int) -> str:
        start = code_point - code_point % _BLOCK
        self._ask(range(start, start + _BLOCK))
        return self[code_point]

    def _ask(self, code_points: Iterable[int]) -> None:
        # A lone surrogate is no character and cannot be bound: it separates, as U+FFFD does.
        folds = dict.fromkeys(code_points, " ")
        bound = [code for code in folds if not 0xD800 <= code <= 0xDFFF]
        with self._lock:
            tokens = list(self._tokenizer.tokens([f"a{chr(code)}b" for code in bound]))
        split = Counter(row for row, _ in tokens)
        folds.update({bound[row]: token[1:-1] for row, token in tokens if split[row] == 1})
        self.update(folds)


class _Tokenizer:
    """One FTS5 tokeniser, asked through a table that is rolled back and the table's vocabulary."""

    def __init__(self, tokenizer: str) -> None:
        # No autocommit bookkeeping of Python's own: every call is one explicit transaction.
        self._database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        # FTS5 cuts a token at 32,768 bytes, possibly inside a character.
        self._database.text_factory = lambda raw: raw.decode("utf-8", "replace")
        try:
            self._database.execute(
                "CREATE VIRTUAL TABLE word USING fts5"
                f"(text, tokenize=\"{tokenizer}\", content='', columnsize=0, detail=none)"
            )
            self._database.execute("CREATE VIRTUAL TABLE token USING fts5vocab(word, instance)")
        except sqlite3.OperationalError as error:
            raise StoreError(
                f"SQLite {sqlite3.sqlite_version} of this Python cannot make an FTS5 table ({error}); "
                "use a Python whose SQLite is built with FTS5"
            ) from error

    def tokens(self, texts: Sequence[str]) -> list[tuple[int, str]]:
        """(index of the text, token), each distinct token of a text once, in no particular order."""
        self._database.execute("BEGIN")
        try:
            self._database.executemany("INSERT INTO word(rowid, text) VALUES (?, ?)", enumerate(texts))
            return self._database.execute("SELECT doc, term FROM token").fetchall()
        finally:
            self._database.execute("ROLLBACK")

    def close(self) -> None:
        self._database.close()
