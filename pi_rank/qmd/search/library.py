"""Everything that one command reads: configuration, index and stores, opened when they are first needed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pi_rank.qmd import config as configuration
from pi_rank.qmd.config import MARKDOWN, Collection, Config
from pi_rank.qmd.index.index import open_index, translated
from pi_rank.qmd.paths import Places
from pi_rank.qmd.shelves.files import FilesShelf
from pi_rank.qmd.shelves.found import Found, Ranked, StoredDocument, merged
from pi_rank.qmd.shelves.memory import MemoryShelf, needs_core, opened
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
        lists = [
            self._memory_lexical(each, text, k, sentence) for each in collections if each.kind != MARKDOWN
        ]
        names = [each.name for each in collections if each.kind == MARKDOWN]
        if names and self.files:
            lists.append(self._files_lexical(self.files, names, text, k, sentence))
        return merged(lists, k)

    def semantic(self, text: str, collections: list[Collection], k: int) -> Ranked | None:
        """The best k documents by meaning; None where that cannot be told: no warm process, or no vectors."""
        if self.warm is None:
            return None
        lists = [self.warm.memory_semantic(each, text, k) for each in collections if each.kind != MARKDOWN]
        names = [each.name for each in collections if each.kind == MARKDOWN]
        if names:
            lists.append(self.warm.files_semantic(names, text, k))
        known = [ranked for ranked in lists if ranked is not None]
        return merged(known, k) if known else None

    def hybrid(self, text: str, collections: list[Collection], k: int) -> Ranked | None:
        """The best k records of one memory collection in the engine's own order; None for anything else."""
        if self.warm is None or len(collections) != 1 or collections[0].kind == MARKDOWN:
            return None
        return self.warm.memory_hybrid(collections[0], text, k)

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

    def _memory_lexical(self, collection: Collection, text: str, k: int, sentence: bool) -> Ranked:
        shelf = self.memory(collection)
        if shelf is None:
            return Ranked("none", [])
        if not sentence:
            ranked = shelf.lexical(text, k)
            if ranked.found or not needs_core(text):
                return ranked
        if self.warm is not None or needs_core(text):
            return self._core().memory_lexical(collection, text, k)
        return shelf.any_word(text, k)

    def _files_lexical(
        self, files: FilesShelf, names: list[str], text: str, k: int, sentence: bool
    ) -> Ranked:
        if not sentence:
            ranked = files.lexical(text, names, k)
            if ranked.mode == "all" or self.warm is None:
                return ranked
        return (
            files.any_word(text, names, k) if self.warm is None else self.warm.files_lexical(names, text, k)
        )

    def _core(self) -> Warm:
        """The ranking core, loaded for this one command where no warm process has it."""
        if self.warm is None:
            from pi_rank.qmd.warm.warm import Warm

            return self._stack.enter_context(Warm.opened(self.places, models=False))
        return self.warm


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
