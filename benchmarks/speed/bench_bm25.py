"""How long does the best 100 of a query's words take, next to FTS5, bm25s and tantivy on the same records?"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from benchmarks.speed.common import DEPTH, PROMPT_WORDS, SIZES, corpus
from pi_rank.ranking.analysis import FtsAnalyzer, unpack_terms
from pi_rank.ranking.lexical import LexicalIndex
from tests.reference.bm25 import Fts5, bm25

if TYPE_CHECKING:
    from collections.abc import Callable

    Search = Callable[[str], Any]

ANALYZER = FtsAnalyzer()
PROMPTS = 20
REFERENCE_PROMPTS = 2  # the reference reads every document for every term


@cache
def texts(size: int) -> list[tuple[str, str]]:
    """(statement, tags) of each record."""
    return [(record["statement"], " ".join(record["tags"])) for record in corpus(size).records()]


@cache
def terms(size: int) -> list[bytes]:
    """The packed terms of each record."""
    return ANALYZER.document_terms(texts(size))


@cache
def pi_rank(size: int) -> Search:
    """The prompt to stems to the best rows."""
    index, tie_rank = LexicalIndex.build(terms(size)), np.arange(size, dtype=np.int32)
    return lambda prompt: index.search(ANALYZER.query_terms(prompt), DEPTH, eligible=None, tie_rank=tie_rank)


@cache
def reference(size: int) -> Search:
    """BM25 by its definition, in Python."""
    documents, rows = dict(enumerate(terms(size))), range(size)
    everyone = np.ones(size, np.uint8)
    return lambda prompt: bm25(
        documents, ANALYZER.query_terms(prompt), DEPTH, eligible=everyone, tie_rank=rows
    )


@cache
def fts5(size: int) -> Search:
    """SQLite, in memory, with the words ORed and `ORDER BY bm25()`."""
    index = Fts5()
    index.add(0, texts(size))
    return lambda prompt: index.search(ANALYZER.fts_query(prompt), DEPTH)


@cache
def bm25s(size: int) -> Search:
    """bm25s with its numba backend, given stems: its own tokenising is not counted."""
    library = pytest.importorskip("bm25s", reason="bm25s is not installed: pip install 'pi-rank[bench]'")
    index = library.BM25(k1=1.2, b=0.75, backend="numba")
    index.index([_repeated(packed) for packed in terms(size)], show_progress=False)
    return lambda prompt: index.retrieve([list(ANALYZER.query_terms(prompt))], k=DEPTH, show_progress=False)


@cache
def tantivy(size: int) -> Search:
    """tantivy in memory, with its English stemmer, one segment."""
    library = pytest.importorskip("tantivy", reason="tantivy is not installed: pip install 'pi-rank[bench]'")
    schema = library.SchemaBuilder()
    schema.add_text_field("text", stored=False, tokenizer_name="en_stem")
    index = library.Index(schema.build())
    writer = index.writer(heap_size=100_000_000, num_threads=1)
    for statement, tags in texts(size):
        writer.add_document(library.Document(text=[f"{statement} {tags}"]))
    writer.commit()
    index.reload()
    searcher = index.searcher()
    return lambda prompt: searcher.search(index.parse_query(prompt, ["text"]), DEPTH).hits


def _repeated(packed: bytes) -> list[str]:
    content, function = unpack_terms(packed)
    return [stem for stem, count in (content | function).items() for _ in range(count)]


@pytest.mark.parametrize("words", PROMPT_WORDS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("library", [pi_rank, bm25s, tantivy, fts5], ids=lambda library: library.__name__)
def bench_search(over, library, size, words):
    over(library(size), corpus(size).prompts(PROMPTS, words), question="bm25", library=library.__name__)


def bench_reference(over):
    size, words = SIZES[0], 12
    prompts = corpus(size).prompts(REFERENCE_PROMPTS, words)
    over(reference(size), prompts, question="bm25", library="reference", size=size, words=words)
