from __future__ import annotations

import pytest

from pi_rank.turn.subject import has_subject


@pytest.mark.parametrize(
    "prompt",
    [
        "and then?",
        "what is it",
        "How do I do that?",
        "do it again",
        "why?",
        "...",
        "tell me more",
        "What's that?",
    ],
)
def test_prompts_of_grammar_and_of_words_that_point_back_name_nothing(prompt):
    assert not has_subject(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "deploy it again",
        "k8s?",
        "42",
        "what is mem_1",
        "备份",
        "и потом деплой",
        "and " * 60,
        "why does CI fail?",
    ],
)
def test_one_word_of_content_is_a_subject(prompt):
    assert has_subject(prompt)
