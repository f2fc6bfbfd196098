"""What a turn and an update cost with 100,000 phrases, each against its yardstick in the same run."""

from __future__ import annotations

import itertools
import random
import time

import pytest

from pi_rank._core.negative_scope import PhraseAutomaton, content_keys
from tests.reference.negative_scope import has_run

RANDOM = random.Random(1)
SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprst" for vowel in "aeiou"]
VOCABULARY = sorted({"".join(RANDOM.choices(SYLLABLES, k=RANDOM.randint(2, 4))) for _ in range(20_000)})
ZIPF = list(itertools.accumulate(1 / (rank + 10) for rank in range(len(VOCABULARY))))
RANDOM.shuffle(VOCABULARY)


def text(words: int) -> str:
    return " ".join(RANDOM.choices(VOCABULARY, cum_weights=ZIPF, k=words))


TURN = [text(480), text(20)]
PHRASES = [[text(RANDOM.randint(2, 5))] for _ in range(100_000)]


def best_of(repeats: int, call) -> float:
    """Least process CPU seconds: what other programs do meanwhile does not count."""
    spans = []
    for _ in range(repeats):
        start = time.process_time_ns()
        call()
        spans.append(time.process_time_ns() - start)
    return min(spans) / 1e9


@pytest.fixture(scope="module")
def automaton():
    return PhraseAutomaton.build(PHRASES)


def test_a_turn_costs_its_own_length_not_the_number_of_phrases(automaton):
    small = PhraseAutomaton.build(PHRASES[:1_000])
    assert best_of(100, lambda: automaton.match(TURN)) <= 3 * best_of(100, lambda: small.match(TURN))


def test_a_turn_is_far_cheaper_than_a_loop_over_phrases():
    small = PhraseAutomaton.build(PHRASES[:500])
    keys = [content_keys(phrase) for (phrase,) in PHRASES[:500]]

    def loop():
        fields = [content_keys(field) for field in TURN]
        return [row for row, run in enumerate(keys) if any(has_run(field, run) for field in fields)]

    assert loop() == small.match(TURN)[0].tolist()
    assert best_of(50, lambda: small.match(TURN)) * 50 <= best_of(2, loop)


def test_an_update_costs_what_was_added(automaton):
    build = best_of(1, lambda: PhraseAutomaton.build(PHRASES))
    assert best_of(50, lambda: automaton.updated([7], PHRASES[:1])) * 500 <= build


def test_updates_leave_the_turn_as_cheap(automaton):
    updated = automaton
    for row in range(500):
        updated = updated.updated([row], [PHRASES[row]])
    assert best_of(100, lambda: updated.match(TURN)) <= 2 * best_of(100, lambda: automaton.match(TURN))
