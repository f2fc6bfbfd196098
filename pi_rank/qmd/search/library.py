"""Everything that one command reads: configuration, index and stores, opened when they are first needed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pi_rank.files.locks import holder, is_held
from pi_rank.folding import count_unspaced
from pi_rank.names import names_in
from pi_rank.qmd import config as configuration
from pi_rank.qmd.config import MARKDOWN, Collection, Config
from pi_rank.qmd.index.index import open_index, translated
from pi_rank.qmd.paths import Places
from pi_rank.qmd.shelves.files import FilesShelf
from pi_rank.qmd.shelves.found import Found, Ranked, StoredDocument, merged
from pi_rank.qmd.shelves.memory import MemoryShelf, opened
from pi_rank.qmd.shelves.query_language import MAX_CHARACTERS, Lexical, natural_language, parse_lexical
from pi_rank.store.schema import transaction

if TYPE_CHECKING:
    from pi_rank.qmd.warm.warm import Warm
    from pi_rank.ranking.analysis import FtsAnalyzer


class Library:
    """What one command reads, in one version: updates that end meanwhile are not seen.

    Made by `opened_library`. `warm` is what a long-lived process keeps between commands; without it,
    searches are lexical, by FTS5.
    """

    def __init__(self, places: Places, warm: Warm | None, stack: ExitStack) -> None:
        self.places = places
        self.warm = warm
        self.config: Config = configuration.load(places.config)
        self._stack = stack
        self._analyzer: FtsAnalyzer | None = None
        self._files: FilesShelf | None = None
        self._memories: dict[str, MemoryShelf | None] = {}

    @property
    def files(self) -> FilesShelf | None:
        """The Markdown files; None where nothing has been indexed yet."""
        if self._files is None:
            connection = self._stack.enter_context(_reading(self.places.database))
            self._files = FilesShelf(connection, self.analyzer) if connection else None
        return self._files

    def memory(self, collection: Collection) -> MemoryShelf | None:
        """The records of a memory collection; None where they have not been read yet."""
        if collection.name not in self._memories:
            shelf = self._stack.enter_context(opened(collection.name, Path(collection.store), self.analyzer))
            self._memories[collection.name] = shelf
        return self._memories[collection.name]

    def analyzer(self) -> FtsAnalyzer:
        """FTS5's analysis of words, as the engine uses it."""
        if self.warm is not None:
            return self.warm.analyzer
        if self._analyzer is None:
            from pi_rank.ranking.analysis import FtsAnalyzer

            self._analyzer = FtsAnalyzer()
            self._stack.callback(self._analyzer.close)
        return self._analyzer

    def lexical(self, text: str, collections: list[Collection], k: int, *, sentence: bool = False) -> Ranked:
        """The best k documents by their words, of any collection.

        :param sentence: any of the words will do from the start; the text is no lexical query.
        """
        lexical = None if sentence else parse_lexical(text)
        text = text[:MAX_CHARACTERS]
        lists = [
            self._memory_lexical(each, text, k, lexical) for each in collections if each.kind != MARKDOWN
        ]
        names = [each.name for each in collections if each.kind == MARKDOWN]
        if names and self.files:
            lists.append(self._files_lexical(self.files, names, text, k, lexical))
        return merged(lists, k)

    def semantic(self, text: str, collections: list[Collection], k: int) -> Ranked:
        """The best k documents by meaning; `why` says what that could not be told of, and the reason."""
        if self.warm is None:
            return Ranked("none", [], self._why_cold())
        lists = [self.warm.memory_semantic(each, text, k) for each in collections if each.kind != MARKDOWN]
        names = [each.name for each in collections if each.kind == MARKDOWN]
        if names:
            lists.append(self.warm.files_semantic(names, text, k))
        return merged(lists, k)

    def hybrid(self, text: str, collections: list[Collection], k: int) -> Ranked:
        """The best k records of one memory collection in the engine's own order; `none` for anything else."""
        if self.warm is None or len(collections) != 1 or collections[0].kind == MARKDOWN:
            return Ranked("none", [])
        return self.warm.memory_hybrid(collections[0], text, k)

    def named(self, text: str, collections: list[Collection]) -> list[Found]:
        """The active records that a text names by their ids."""
        names = names_in(text)
        shelves = (self.memory(each) for each in collections if each.kind != MARKDOWN) if names else ()
        return [found for shelf in shelves if shelf for found in shelf.named(names)]

    def _why_cold(self) -> str:
        if not is_held(self.places.daemon_lock):
            return "no daemon runs ('qmd daemon start'; --wait loads the model for one answer)"
        pid = holder(self.places.daemon_lock)
        return f"the daemon (PID {pid}) was not asked, is another directory's, or gave no answer in time"

    def body(self, found: Found) -> str:
        """The whole text of a document that was found; empty where it has gone since."""
        return found.body or (self.files.body(found.hash) if self.files else "")

    def documents(self, collections: list[Collection]) -> list[StoredDocument]:
        """All documents of the collections, in the order of the collections.

        Those of files come without text.
        """
        documents: list[StoredDocument] = []
        for each in collections:
            if each.kind == MARKDOWN:
                documents += self.files.documents([each.name]) if self.files else []
            elif shelf := self.memory(each):
                documents += shelf.documents()
        return documents

    def text_of(self, document: StoredDocument) -> str:
        """The whole text of a stored document."""
        return document.body or (self.files.body(document.hash) if self.files else "")

    def _memory_lexical(self, collection: Collection, text: str, k: int, lexical: Lexical | None) -> Ranked:
        shelf = self.memory(collection)
        if shelf is None:
            return Ranked("none", [])
        if lexical is not None:
            every = shelf.all_words(lexical, k)
            # FTS5 keeps a run of Han, kana or Thai in one piece: its parts are never found as words.
            if every or not (natural_language(text) or count_unspaced(text)):
                return Ranked("all", every)
        if self.warm is None:
            return shelf.any_word(text, k)
        return self.warm.memory_lexical(collection, text, k)

    def _files_lexical(
        self, files: FilesShelf, names: list[str], text: str, k: int, lexical: Lexical | None
    ) -> Ranked:
        if lexical is not None:
            every = files.all_words(lexical, names, k)
            if every or not natural_language(text) or len(lexical.wanted) < 2:
                return Ranked("all", every)
        if self.warm is None:
            return files.any_word(text, names, k)
        return self.warm.files_lexical(names, text, k)


@contextmanager
def opened_library(places: Places, warm: Warm | None = None) -> Iterator[Library]:
    """A library on the present version of everything.

    :raises QmdError: the configuration or the index cannot be used.
    """
    with ExitStack() as stack:
        yield Library(places, warm, stack)


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection | None]:
    connection = open_index(path)
    if connection is None:
        yield None
        return
    try:
        with translated(path), transaction(connection, write=False):
            yield connection
    finally:
        connection.close()
