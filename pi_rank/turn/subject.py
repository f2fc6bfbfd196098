"""Whether a prompt names anything that memory could know about."""

from __future__ import annotations

from pi_rank._core.negative_scope import tokenize
from pi_rank.words import FOLLOW_UP_WORDS, FUNCTION_WORDS

_LONGEST = 120  # characters: nobody says nothing at greater length


def has_subject(prompt: str) -> bool:
    """False for prompts of nothing but function words and words that point back, such as "and then?".

    What they share with a record is grammar: they mean the conversation, which its reader has before it.
    """
    if len(prompt) > _LONGEST:
        return True
    return any(word not in FUNCTION_WORDS and word not in FOLLOW_UP_WORDS for word in tokenize(prompt))
