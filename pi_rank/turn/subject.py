"""Whether a prompt names anything that memory could know about."""

from __future__ import annotations

from pi_rank._core.negative_scope import content_keys, prefix_key
from pi_rank.words import FOLLOW_UP_WORDS, FUNCTION_WORDS

_NO_SUBJECT = frozenset(map(prefix_key, FOLLOW_UP_WORDS))
_PASSED_OVER = FOLLOW_UP_WORDS | FUNCTION_WORDS
_LONGEST = 120  # characters: nobody says nothing at greater length


def has_subject(prompt: str) -> bool:
    """False for prompts of nothing but function words and words that point back, such as "and then?".

    What they share with a record is grammar: they mean the conversation, which its reader has before it.
    """
    if len(prompt) > _LONGEST:
        return True
    # Nearly every prompt has a plain word of content: the first one is found without any tokens.
    for word in prompt.split():
        if word.isascii() and word.isalpha() and word.casefold() not in _PASSED_OVER:
            return True
    return not _NO_SUBJECT.issuperset(content_keys(prompt))
