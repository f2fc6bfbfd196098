"""Which prompts get a block, and which get sessions, against PI."""

from __future__ import annotations

import pytest

from pi_rank.block.triviality import is_trivial, wants_sessions
from tests.conformance.observed import observed

# prompt -> (what is right, why). PI answers the opposite.
BLOCK_DIFFERS = {
    "done!": (False, "fault 11: an acknowledgement with closing punctuation"),
    "great!": (False, "fault 11: an acknowledgement with closing punctuation"),
    "yes..": (False, "fault 11: any closing punctuation"),
    "👍👍": (False, "fault 11: emoji only"),
    "👌🏽": (False, "§6: one character as a reader counts"),
    "好的吗": (True, "§6: a CJK request of two characters or more is a request"),
}
SESSIONS_DIFFER = {
    "hello there                                        ": (False, "§6: a reader does not count blanks"),
    "我们需要修改这个函数的实现方式并且增加测试用例来覆盖所有的边界情况以及错误处理": (
        True,
        "fault 12: long in a script without spaces is long",
    ),
}
CASES = [*observed("injection_filter"), *observed("session_filter_extra")]


def _id(case):
    return repr(case["prompt"])


@pytest.mark.parametrize("case", CASES, ids=_id)
def test_block(case):
    injected = not is_trivial(case["prompt"])
    if case["prompt"] in BLOCK_DIFFERS:
        right, why = BLOCK_DIFFERS[case["prompt"]]
        assert injected is right is not case["inject_memory"], why
    else:
        assert injected is case["inject_memory"]


@pytest.mark.parametrize("case", CASES, ids=_id)
def test_sessions(case):
    wanted = wants_sessions(case["prompt"])
    if case["prompt"] in SESSIONS_DIFFER:
        right, why = SESSIONS_DIFFER[case["prompt"]]
        assert wanted is right is not case["inject_session"], why
    else:
        assert wanted is case["inject_session"]


def test_every_difference_is_a_case():
    prompts = {case["prompt"] for case in CASES}
    assert prompts >= BLOCK_DIFFERS.keys() | SESSIONS_DIFFER.keys()
