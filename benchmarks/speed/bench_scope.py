"""How long does finding the silenced records of a 500-word turn take, next to pyahocorasick and a loop?"""

from __future__ import annotations

import random
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.speed.common import SEED, SIZES, corpus
from pi_rank._core.negative_scope import PhraseAutomaton, content_keys
from tests.reference.negative_scope import has_run

if TYPE_CHECKING:
    from collections.abc import Callable

    Match = Callable[[str], Any]

TURN_WORDS = 500
TURNS = 10
PHRASE_WORDS = (1, 2, 3)


@cache
def phrases(count: int) -> list[str]:
    """Phrases of one to three words that are not among the fifty most frequent."""
    draw, words = random.Random(SEED), corpus(count).words[50:]
    return [" ".join(draw.choices(words, k=draw.choice(PHRASE_WORDS))) for _ in range(count)]


@cache
def pi_rank(count: int) -> Match:
    """The automaton, the turn's tokenising included."""
    automaton = PhraseAutomaton.build([[phrase] for phrase in phrases(count)])
    return lambda turn: automaton.match([turn])


@cache
def reference(count: int) -> Match:
    """A loop over the phrases' keys, the turn tokenised by the compiled routine."""
    runs = [content_keys(phrase) for phrase in phrases(count)]

    def match(turn: str) -> list[int]:
        keys = content_keys(turn)
        return [row for row, run in enumerate(runs) if has_run(keys, run)]

    return match


@cache
def pyahocorasick(count: int) -> Match:
    """An Aho-Corasick automaton over keys joined by spaces, the turn tokenised by the compiled routine."""
    library = pytest.importorskip(
        "ahocorasick", reason="pyahocorasick is not installed: pip install 'pi-rank[bench]'"
    )
    automaton = library.Automaton()
    rows: dict[str, list[int]] = {}
    for row, phrase in enumerate(phrases(count)):
        rows.setdefault(f" {' '.join(content_keys(phrase))} ", []).append(row)
    for text, found in rows.items():
        automaton.add_word(text, found)
    automaton.make_automaton()

    def match(turn: str) -> set[int]:
        return {row for _, found in automaton.iter(f" {' '.join(content_keys(turn))} ") for row in found}

    return match


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("library", [pi_rank, pyahocorasick], ids=lambda library: library.__name__)
def bench_match(over, library, size):
    turns = corpus(size).prompts(TURNS, TURN_WORDS)
    over(library(size), turns, question="scope", library=library.__name__)


def bench_reference(over):
    turns = corpus(SIZES[0]).prompts(2, TURN_WORDS)
    over(reference(SIZES[0]), turns, question="scope", library="reference", size=SIZES[0])
