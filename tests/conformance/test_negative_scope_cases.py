"""PI's observed negative-scope decisions: equal where the contract agrees, else the right value."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pi_rank._core.negative_scope import PhraseAutomaton

SHARED = os.environ.get("PI_RANK_SHARED")
pytestmark = pytest.mark.skipif(SHARED is None, reason="PI_RANK_SHARED names no folder with the cases")

# Where PI is wrong: its case -> the numbered fault of the memory contract (section 7). In each, PI excludes a
# record that the right rules keep; a case that is not here must come out as PI has it.
ONE_LETTER_ONE_WORD_OR_SUBSTRING = 1
NO_LATIN_LETTER_MATCHES_EVERYTHING = 2
FAULTS = {
    "substring inside a longer word": ONE_LETTER_ONE_WORD_OR_SUBSTRING,
    "7-char prefix collision: production vs product": ONE_LETTER_ONE_WORD_OR_SUBSTRING,
    "any one token of a multi-word phrase suffices": ONE_LETTER_ONE_WORD_OR_SUBSTRING,
    "short phrase still matches by substring": ONE_LETTER_ONE_WORD_OR_SUBSTRING,
    "one-letter context token 'a' matches any phrase token starting with a": ONE_LETTER_ONE_WORD_OR_SUBSTRING,
    "two-letter token 'de' matches deployment": ONE_LETTER_ONE_WORD_OR_SUBSTRING,
    "two-letter token 'in' matches infrastructure": ONE_LETTER_ONE_WORD_OR_SUBSTRING,
    "one-letter file name": ONE_LETTER_ONE_WORD_OR_SUBSTRING,
    "phrase word 'working' matches 'work' prefix? textToken 'work' is prefix of phraseToken": (
        ONE_LETTER_ONE_WORD_OR_SUBSTRING
    ),
    "punctuation-only phrase matches everything (normalises to empty)": NO_LATIN_LETTER_MATCHES_EVERYTHING,
    "CJK phrase, CJK message without the phrase": NO_LATIN_LETTER_MATCHES_EVERYTHING,
    "Cyrillic phrase matches everything": NO_LATIN_LETTER_MATCHES_EVERYTHING,
    "accented phrase 'é' only letters outside a-z split tokens": NO_LATIN_LETTER_MATCHES_EVERYTHING,
    "empty context, CJK phrase": NO_LATIN_LETTER_MATCHES_EVERYTHING,
}


def observed() -> list[dict]:
    if SHARED is None:
        return []
    text = (Path(SHARED) / "cases" / "pi-observed.json").read_text(encoding="utf-8")
    return json.loads(text)["negative_scope"]


def fields(context: dict) -> list[str]:
    return [part for value in context.values() for part in (value if isinstance(value, list) else [value])]


def reason(record: dict, context: dict) -> str | None:
    kinds = ("does_not_apply_when", "known_exceptions")
    named = [(kind, phrase) for kind in kinds for phrase in record.get(kind, [])]
    rows, indexes = PhraseAutomaton.build([[phrase for _, phrase in named]]).match(fields(context))
    return ":".join(named[indexes[0]]) if rows.size else None


@pytest.mark.parametrize("case", observed(), ids=lambda case: case["name"])
def test_decision(case):
    expected = None if case["name"] in FAULTS else case["reason"]
    assert reason(case["record"], case["context"]) == expected


def test_every_fault_names_a_case_that_pi_excludes():
    excluded = {case["name"] for case in observed() if case["excluded"]}
    assert excluded >= FAULTS.keys()
