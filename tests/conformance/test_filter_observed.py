"""Which prompts get a block, and which get the day's sessions, against PI."""

from __future__ import annotations

from datetime import date

import pytest

from pi_rank import SessionContext
from pi_rank.block.triviality import is_trivial
from tests.conformance.observed import observed
from tests.support.memory import engine_on

# prompt -> (what is right, why). PI answers the opposite.
BLOCK_DIFFERS = {
    "done!": (False, "fault 11: an acknowledgement with closing punctuation"),
    "great!": (False, "fault 11: an acknowledgement with closing punctuation"),
    "yes..": (False, "fault 11: any closing punctuation"),
    "👍👍": (False, "fault 11: emoji only"),
    "👌🏽": (False, "§6: one character as a reader counts"),
    "好的吗": (True, "§6: a CJK request of two characters or more is a request"),
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


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sessions")
    index = folder / "root" / "sessions" / "session-index.jsonl"
    index.parent.mkdir(parents=True)
    index.write_text('{"id": "ses_1", "date": "2026-06-30", "project": "shop", "name": "Fixed the cart"}\n')
    with engine_on(folder, []) as engine:
        yield engine


@pytest.mark.parametrize("case", CASES, ids=_id)
def test_sessions(engine, case):
    """PI has a filter for sessions, observed as `inject_session`, that its extension never asks: it shows the
    day's sessions on every turn. Ours are on every turn that has a block at all.
    """
    block = engine.build_retrieval_context(
        SessionContext(latest_user_message=case["prompt"]), today=date(2026, 6, 30)
    ).markdown
    assert ("- [shop] Fixed the cart\n" in block) is not is_trivial(case["prompt"])


def test_every_difference_is_a_case():
    prompts = {case["prompt"] for case in CASES}
    assert prompts >= BLOCK_DIFFERS.keys()
