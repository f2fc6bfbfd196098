"""PI's observed negative-scope decisions: equal where the contract agrees, else the right value."""

from __future__ import annotations

import pytest

from pi_rank._core.negative_scope import PhraseAutomaton
from tests.conformance.observed import observed

# Where PI is wrong: its case -> the numbered fault of the memory contract (section 7). In each of them PI
# excludes a record that the right rules keep. A case that is not here must come out as PI has it.
FAULTS = {
    "substring inside a longer word": 1,
    "7-char prefix collision: production vs product": 1,
    "any one token of a multi-word phrase suffices": 1,
    "short phrase still matches by substring": 1,
    "one-letter context token 'a' matches any phrase token starting with a": 1,
    "two-letter token 'de' matches deployment": 1,
    "two-letter token 'in' matches infrastructure": 1,
    "one-letter file name": 1,
    "phrase word 'working' matches 'work' prefix? textToken 'work' is prefix of phraseToken": 1,
    "punctuation-only phrase matches everything (normalises to empty)": 2,
    "CJK phrase, CJK message without the phrase": 2,
    "Cyrillic phrase matches everything": 2,
    "accented phrase 'é' only letters outside a-z split tokens": 2,
    "empty context, CJK phrase": 2,
}
CASES = observed("negative_scope")


def fields(context):
    return [part for value in context.values() for part in (value if isinstance(value, list) else [value])]


def reason(record, context):
    kinds = ("does_not_apply_when", "known_exceptions")
    named = [(kind, phrase) for kind in kinds for phrase in record.get(kind, [])]
    rows, indexes = PhraseAutomaton.build([[phrase for _, phrase in named]]).match(fields(context))
    return ":".join(named[indexes[0]]) if rows.size else None


@pytest.mark.parametrize(
    "case", [case for case in CASES if case["name"] not in FAULTS], ids=lambda case: case["name"]
)
def test_as_pi_has_it(case):
    assert reason(case["record"], case["context"]) == case["reason"]


@pytest.mark.parametrize(
    "case", [case for case in CASES if case["name"] in FAULTS], ids=lambda case: case["name"]
)
def test_kept_where_pi_excludes(case):
    assert case["excluded"]
    assert reason(case["record"], case["context"]) is None


def test_the_table_of_faults_names_observed_cases_only():
    assert {case["name"] for case in CASES} >= FAULTS.keys()
