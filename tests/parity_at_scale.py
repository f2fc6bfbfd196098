"""BM25 against FTS5 at full size, too slow for the suite: python -m tests.parity_at_scale [records] [queries]

Compares the top 50 of random prompts, after the first sync and again after 1,000 random inserts, updates and
deletes, and says how much faster the index is. Exit status 1 on the first difference.
"""

from __future__ import annotations

import random
import statistics
import sys
import time

import numpy as np

from pi_rank.ranking.analysis import FtsAnalyzer
from pi_rank.ranking.lexical import LexicalIndex
from tests.reference.bm25 import Fts5
from tests.reference.memory import Writer

PROMPT_WORDS = (3, 12, 60)
VOCABULARY = 50_000
WRITES = 1_000


def compare(index, fts5, analyzer, writer, n_queries):
    """Exit on a difference; otherwise print the median times of both, by length of prompt."""
    # All of one engine before the other: FTS5 sweeps the caches, and the index would pay for that.
    prompts = [writer.prompt(PROMPT_WORDS[number % len(PROMPT_WORDS)]) for number in range(n_queries)]
    tie_rank = np.arange(index.n_rows, dtype=np.int32)
    theirs, their_seconds = timed(lambda prompt: fts5.search(analyzer.fts_query(prompt), 50), prompts)
    ours, our_seconds = timed(
        lambda prompt: index.search(analyzer.query_terms(prompt), 50, eligible=None, tie_rank=tie_rank),
        prompts,
    )
    for prompt, expected, (rows, scores) in zip(prompts, theirs, ours, strict=True):
        if list(zip(rows.tolist(), scores.tolist(), strict=True)) != expected:
            sys.exit(f"different for {prompt!r}:\n{expected}\n{rows.tolist()}\n{scores.tolist()}")
    print(f"{n_queries} prompts: rows and scores equal")
    for place, n_words in enumerate(PROMPT_WORDS):
        fts5_ms = 1e3 * statistics.median(their_seconds[place :: len(PROMPT_WORDS)])
        index_ms = 1e3 * statistics.median(our_seconds[place :: len(PROMPT_WORDS)])
        ratio = fts5_ms / index_ms
        print(f"  {n_words:2} words: FTS5 {fts5_ms:7.2f} ms, index {index_ms:6.3f} ms, ratio {ratio:.0f}")


def timed(search, prompts):
    """(results, seconds of process time) for each prompt."""
    results, seconds = [], []
    for prompt in prompts:
        start = time.process_time()
        results.append(search(prompt))
        seconds.append(time.process_time() - start)
    return results, seconds


def write(index, fts5, analyzer, writer, chooser):
    """WRITES single writes: a third inserts, a third updates, a third deletes."""
    live = list(range(index.n_rows))
    times = []
    for number in range(WRITES):
        dead = [live.pop(chooser.randrange(len(live)))] if number % 3 else []
        added = writer.texts(1) if number % 3 < 2 else []
        fts5.remove(dead)
        fts5.add(index.n_rows, added)
        live += range(index.n_rows, index.n_rows + len(added))
        packed = analyzer.document_terms(added)
        start = time.process_time()
        index = index.updated(np.array(dead, np.int32), packed)
        times.append(time.process_time() - start)
    times.sort()
    print(f"{WRITES} writes: median {1e3 * times[WRITES // 2]:.2f} ms, longest {1e3 * times[-1]:.2f} ms")
    return index


def main(n_records=100_000, n_queries=500):
    """Build both, compare, write, compare."""
    writer, analyzer, fts5 = Writer(seed=1, n_words=VOCABULARY), FtsAnalyzer(), Fts5()
    texts = writer.texts(n_records)
    start = time.perf_counter()
    packed = analyzer.document_terms(texts)
    middle = time.perf_counter()
    index = LexicalIndex.build(packed)
    end = time.perf_counter()
    print(
        f"{n_records} records: stems {middle - start:.2f} s, index {end - middle:.2f} s, "
        f"{index.nbytes / 1e6:.1f} MB"
    )
    fts5.add(0, texts)
    compare(index, fts5, analyzer, writer, n_queries)
    index = write(index, fts5, analyzer, writer, random.Random(2))
    compare(index, fts5, analyzer, writer, n_queries)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
