"""How long does a whole turn take, its vector given, by records, prompt length and eligible share?"""

from __future__ import annotations

import pytest

from benchmarks.speed.common import PROMPT_WORDS, SHARES, SIZES, TODAY, turns

PROMPTS = 60


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("words", PROMPT_WORDS)
@pytest.mark.parametrize("size", SIZES)
def bench_turn(over, memories, size, words, share):
    engine = memories.engine(size)

    def turn(each):
        return engine.build_retrieval_context(each.context, today=TODAY, query_vector=each.vector)

    over(turn, turns(size, PROMPTS, words, share), question="turn")
