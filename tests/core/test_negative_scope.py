"""The compiled negative-scope matcher: its rules by example, and equality with the plain-Python reference."""

from __future__ import annotations

import itertools
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi_rank._core.negative_scope import (
    PhraseAutomaton,
    content_keys,
    is_unspaced,
    prefix_key,
    tokenize,
)
from tests.reference import negative_scope as reference


def matches(phrase: str, *segments: str) -> bool:
    rows, _ = PhraseAutomaton.build([[phrase]]).match(segments)
    return rows.tolist() == [0]


def found(automaton: PhraseAutomaton, *segments: str) -> list[tuple[int, int]]:
    rows, indexes = automaton.match(segments)
    return list(zip(rows.tolist(), indexes.tolist(), strict=True))


# Tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        ("   \t\n", []),
        ("???", []),
        ("🚀", []),
        ("Hello, World", ["hello", "world"]),
        ("don't", ["don", "t"]),
        ("snake_case camelCase", ["snake", "case", "camelcase"]),
        ("python3.11", ["python3", "11"]),
        ("x\0y", ["x", "y"]),
        ("a\ud800b", ["a", "b"]),
        ("\udfff", []),
        ("caf\u00e9 cafe\u0301", ["caf\u00e9", "caf\u00e9"]),
        ("Straße", ["strasse"]),
        ("ﬁle ＡＢＣ", ["file", "abc"]),
        ("ΣΊΣΥΦΟΣ σίσυφος", ["σίσυφοσ", "σίσυφοσ"]),
        ("部署api", ["部", "署", "api"]),
        ("3月", ["3", "月"]),
        ("ｻｰﾊﾞｰ", ["サ", "ー", "バ", "ー"]),
        ("서버 배포", ["서버", "배포"]),
        ("ปฏิบัติ", ["ป", "ฏิ", "บั", "ติ"]),
        ("๑๒", ["๑๒"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("\u0301x", ["x"]),
        ("1\ufe0f\u20e3", ["1"]),
        ("публикация", ["публикация"]),
        ("𝐁𝐨𝐥𝐝 𠮷野", ["bold", "𠮷", "野"]),
    ],
)
def test_tokenize(text, tokens):
    assert tokenize(text) == tokens
    assert reference.tokenize(text) == tokens


# Prefix keys


@pytest.mark.parametrize(
    "family",
    [
        "publish publishes published publishing publisher publishers",
        "deploy deploys deployed deploying deployment deployments",
        "release releases released releasing",
        "migrate migrates migrated migrating",
        "query queries queried querying",
        "cache caches cached caching",
        "scope scopes scoped scoping",
        "state states stated stating",
        "plan plans planned planning planner",
        "write writes writing writer writers",
        "filter filters filtered filtering",
        "install installs installed installing installer",
        "control controls controlled controlling controller",
        "process processes processed processing",
        "transfer transferred transferring",
        "document documents documented documenting",
        "manage manages managed managing manager management",
        "status statuses",
        "apply applies applied applying",
        "route routes routed routing router",
        "style styles styled styling",
        "engineer engineers engineering",
        "test tests tested testing tester",
    ],
)
def test_inflections_of_one_word_share_a_key(family):
    assert len({prefix_key(word) for word in family.split()}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("product", "production"),
        ("publish", "publication"),
        ("public", "publication"),
        ("interactive", "internal"),
        ("test", "latest"),
        ("plan", "plane"),
        ("stats", "state"),
        ("policy", "police"),
        ("story", "store"),
        ("engine", "engineer"),
        ("run", "running"),  # "run" has three letters
        ("code", "coding"),  # three letters would be left
        ("as", "a"),
        ("ci", "cis"),
        ("string", "str"),
    ],
)
def test_other_words_have_other_keys(one, other):
    assert prefix_key(one) != prefix_key(other)


@pytest.mark.parametrize("token", ["", "a", "is", "run", "c3po", "部", "x\0", "1000s", "v2ing", "публикация"])
def test_a_token_without_an_ending_or_of_few_letters_is_its_own_key(token):
    assert prefix_key(token) == token


def test_content_keys_drop_function_words_and_keep_order():
    assert content_keys("When publishing the releases, when publishing") == ["publish", "releas", "publish"]


def test_is_unspaced():
    assert [is_unspaced(c) for c in "部のไa서๑。"] == [True, True, True, False, False, False, False]


# Phrases


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("publish", "It was Published."),
        ("npm publish", "run `npm  publish`!"),
        ("when working on the billing service", "we work in billing services"),
        ("ci/cd", "our CI CD setup"),
        ("部署", "请部署到生产环境"),
        ("when in", "what to do when in doubt"),
        ("the", "the"),
        ("café", "CAFE\u0301"),
        ("a", "what a day"),
        ("x", "plan x"),
        ("one two", "one one two"),
        ("\ud800deploy", "deploy"),
    ],
)
def test_matches(phrase, text):
    assert matches(phrase, text)


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("test", "find the latest"),
        ("ci", "decide"),
        ("production", "update product copy"),
        ("quarterly billing reports", "billing table"),
        ("npm publish", "publish npm"),
        ("npm publish", "npm run publish"),
        ("部署", "部门署名"),
        ("when in", "when we are in"),
        ("when in", "when deploy in"),
        ("if", "stiff"),
        ("authentication", "write a poem"),
        ("???", "anything ???"),
        ("🚀", "🚀"),
        ("", ""),
        (" ", " "),
        ("\ud800", "\ud800"),
        ("without tests", "tests"),
    ],
)
def test_does_not_match(phrase, text):
    assert not matches(phrase, text)


def test_a_phrase_never_spans_two_fields():
    assert not matches("npm publish", "run npm", "publish it")
    assert not matches("when in", "when", "in")
    assert matches("npm publish", "", "npm publish", "")


def test_the_first_matching_phrase_in_list_order_is_reported():
    automaton = PhraseAutomaton.build([["gamma", "alpha", "beta", "alpha"], ["beta"], [], ["alphas", "beta"]])
    assert found(automaton, "beta then alpha") == [(0, 1), (1, 0), (3, 0)]


def test_a_phrase_inside_another_and_its_suffixes_are_all_found():
    automaton = PhraseAutomaton.build(
        [["blue green deployment"], ["green deploy"], ["deploy"], ["green red"]]
    )
    assert found(automaton, "a blue-green deployment") == [(0, 0), (1, 0), (2, 0)]


def test_failure_links_carry_a_walk_into_another_phrase():
    automaton = PhraseAutomaton.build([["one two three four"], ["two three five"]])
    assert found(automaton, "one two three five") == [(1, 0)]


def test_one_phrase_in_many_records():
    rows, indexes = PhraseAutomaton.build([["legacy"]] * 5_000).match(["legacy " * 50])
    assert rows.tolist() == list(range(5_000))
    assert not indexes.any()


def test_a_phrase_of_500_words():
    words = [f"word{i}x" for i in range(500)]
    automaton = PhraseAutomaton.build([[" ".join(words)]])
    assert found(automaton, "x " + " ".join(words)) == [(0, 0)]
    assert found(automaton, " ".join(words[:-1])) == []


def test_nested_repeats_stay_linear():
    # Every suffix of the text is a phrase: without the stop at reported nodes, 2,000 * 2,000 reports.
    phrases = [["ab " * n] for n in range(1, 2_001)]
    assert len(found(PhraseAutomaton.build(phrases), "ab " * 2_000)) == 2_000


@pytest.mark.parametrize("phrases", [[], [[]], [[], []], [["", "???"]]])
def test_nothing_to_find(phrases):
    automaton = PhraseAutomaton.build(phrases)
    assert automaton.n_rows == len(phrases)
    assert found(automaton) == []
    assert found(automaton, "", "anything at all") == []


def test_results_are_int32_arrays():
    for array in PhraseAutomaton.build([["alpha"]]).match(["alpha"]):
        assert array.dtype == np.int32
        assert array.shape == (1,)


@pytest.mark.parametrize("text", ["deploy", "déploy deploy", "deploy 部署", "deploy 𠮷"])
def test_strings_of_every_width(text):
    assert matches("deploy", text)


# Updates


def test_updated_numbers_new_rows_from_n_rows_and_drops_dead_ones():
    old = PhraseAutomaton.build([["alpha"], ["beta"]])
    new = old.updated(np.array([0], dtype=np.int32), [["alpha beta"], [], ["beta"]])
    assert new.n_rows == 5
    assert found(new, "alpha beta") == [(1, 0), (2, 0), (4, 0)]


def test_the_old_value_is_not_disturbed():
    old = PhraseAutomaton.build([["alpha"], ["beta"]])
    old.updated([0, 1], [["alpha"]])
    assert old.n_rows == 2
    assert found(old, "alpha beta") == [(0, 0), (1, 0)]


def test_a_thousand_single_updates_equal_one_build():
    phrases = [[f"word{i % 97}x", f"other{i % 13}x"] for i in range(1_000)]
    automaton = PhraseAutomaton.build([])
    for row, row_phrases in enumerate(phrases):
        automaton = automaton.updated([row - 1] if row % 3 == 1 else [], [row_phrases])
    alive = [[] if row % 3 == 0 and row + 1 < 1_000 else p for row, p in enumerate(phrases)]
    text = "word5x and other7x, word96x"
    assert found(automaton, text) == found(PhraseAutomaton.build(alive), text) != []


def test_merging_gives_back_the_memory_of_dead_rows():
    automaton = PhraseAutomaton.build([])
    for row in range(2_000):
        automaton = automaton.updated([row - 1] if row else [], [[f"only in row {row} of many"]])
    assert automaton.nbytes < PhraseAutomaton.build([[f"only in row {i} of many"] for i in range(200)]).nbytes


# Bad input


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tokenize(b"x"), TypeError, "str"),
        (lambda: prefix_key(None), TypeError, "None"),
        (lambda: PhraseAutomaton(), TypeError, "build"),
        (lambda: PhraseAutomaton.build(["npm publish"]), TypeError, "row 0: .* got a single str"),
        (lambda: PhraseAutomaton.build([[], ["a", 3]]), TypeError, "row 1: phrase 1 must be str, got int"),
        (lambda: PhraseAutomaton.build([[]]).match("text"), TypeError, "got a single str"),
        (
            lambda: PhraseAutomaton.build([[]]).match(["a", b"b"]),
            TypeError,
            "segment 1 must be str, got bytes",
        ),
        (lambda: PhraseAutomaton.build([[]]).updated([1], []), IndexError, r"dead row 1 is not in \[0, 1\)"),
        (lambda: PhraseAutomaton.build([[]]).updated([-1], []), IndexError, "dead row -1"),
        (lambda: PhraseAutomaton.build([[]]).updated([], ["x"]), TypeError, "row 1: .* single str"),
    ],
)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_refused_update_leaves_the_automaton_as_it_was():
    automaton = PhraseAutomaton.build([["alpha"]])
    with pytest.raises(TypeError):
        automaton.updated([0], [["beta"], [None]])
    assert found(automaton, "alpha beta") == [(0, 0)]


# Against the reference

# Few words, so that phrases meet texts; each stands for a rule: function words, inflection, scripts, marks.
WORDS = (
    "a",
    "in",
    "when",
    "the",
    "test",
    "tests",
    "tested",
    "plan",
    "planned",
    "ci",
    "x",
    "query",
    "queries",
)
ATOMS = (
    *WORDS,
    "部",
    "署",
    "の",
    "ไ",
    "é",
    "e\u0301",
    "İ",
    "3",
    "_",
    "'",
    "?",
    "🚀",
    "\0",
    "\ud800",
    "\ufe0f",
)
texts = st.builds(str.join, st.sampled_from(["", " "]), st.lists(st.sampled_from(ATOMS), max_size=8))
row_phrases = st.lists(texts, max_size=3)
english = st.text("abeinprtsxyz", max_size=5)
endings = st.sampled_from(["", "s", "es", "ed", "er", "ers", "ing", "ings", "ment", "ments", "e", "ies", "y"])


@given(st.text())
def test_tokenize_equals_the_reference_on_any_text(text):
    assert tokenize(text) == reference.tokenize(text)


@given(st.one_of(st.builds(str.__add__, english, endings), texts))
def test_keys_equal_the_reference(text):
    assert content_keys(text) == reference.content_keys(text)
    assert [prefix_key(token) for token in tokenize(text)] == [
        reference.prefix_key(token) for token in reference.tokenize(text)
    ]


@given(st.lists(row_phrases, max_size=6), st.lists(texts, max_size=3))
def test_match_equals_the_reference(phrases, segments):
    assert found(PhraseAutomaton.build(phrases), *segments) == reference.match(phrases, segments)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.lists(row_phrases, max_size=5), st.sets(st.integers(0, 30))), max_size=6),
    st.lists(texts, max_size=3),
)
def test_any_updates_equal_a_build_of_the_final_state(updates, segments):
    automaton = PhraseAutomaton.build([])
    state: list[list[str]] = []
    for added, numbers in updates:
        dead = sorted(row for row in numbers if row < len(state))
        automaton = automaton.updated(dead, added)
        for row in dead:
            state[row] = []
        state.extend(added)
    assert automaton.n_rows == len(state)
    assert found(automaton, *segments) == found(PhraseAutomaton.build(state), *segments)


def test_every_code_point_is_classified_as_in_the_reference():
    step = 4_096
    for start in range(0, sys.maxunicode + 1, step):
        # "a" before each, so that marks have a base; a space after, so that one cannot hide the next.
        text = "".join(f"a{chr(code)} " for code in range(start, start + step))
        assert tokenize(text) == reference.tokenize(text)


def test_matching_releases_the_gil():
    automaton = PhraseAutomaton.build([["alpha"]])
    walker = threading.Thread(target=automaton.match, args=(["beta " * 4_000_000],))
    ticks = [time.perf_counter()]
    walker.start()
    while walker.is_alive():
        ticks.append(time.perf_counter())
    longest_wait = max(later - earlier for earlier, later in itertools.pairwise(ticks))
    # With the GIL held, one wait would be the whole walk.
    assert longest_wait < 0.5 * (ticks[-1] - ticks[0])
