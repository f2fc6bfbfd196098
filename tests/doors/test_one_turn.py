"""One turn gives one answer at every door: one memory, one folder, one prompt, all optional arguments left
out.

What a door does not say is listed here with its reason; what it says is the same, to the byte.
"""

from __future__ import annotations

import pytest

from pi_rank.clock import utc_day
from tests.doors import ways
from tests.doors.world import Answer, make_world

TEXT_ALONE = "prints the block and nothing else"
A_CONVERSATION = (
    "a conversation holds the block; in it, hard rules carry their ids, so that they can be withdrawn"
)
COUNTS = "gives what was left out as counts; /explain and --explain name the records"
ONE_PLACE = "a server of one place counts what is of other profiles and projects, and does not name it"
OTHERS = ("ProfileScopeProcessor", "BasicScopeProcessor")
SAYS_LESS = {
    "shell_text": TEXT_ALONE,
    "shell_pi_message": TEXT_ALONE,
    "pi_message_of_a_turn": TEXT_ALONE,
    "shell_batch": COUNTS,
    "shell_batch_parquet": COUNTS,
    "http_context": COUNTS,
    "http_of_a_folder": ONE_PLACE,
    "hook_of_pi": A_CONVERSATION,
    "hook_of_claude_code": A_CONVERSATION,
    "injector": A_CONVERSATION,
    "strands": A_CONVERSATION,
    "langchain": A_CONVERSATION,
    "openai_agents": A_CONVERSATION,
    "pydantic_ai": A_CONVERSATION,
    "anthropic_client": A_CONVERSATION,
    "openai_chat_client": A_CONVERSATION,
    "openai_responses_client": A_CONVERSATION,
}


@pytest.fixture(scope="module")
def day():
    return utc_day()


@pytest.fixture(scope="module")
def made(tmp_path_factory, day):
    return make_world(tmp_path_factory.mktemp("doors"), day.isoformat())


@pytest.fixture
def world(made, monkeypatch):
    """The folder and the environment are this process's own as well."""
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(made.folder)
    return made


@pytest.fixture
def right(world, day):
    """The turn with nothing left out: day, profile, project and place given by hand."""
    from pi_rank import SessionContext

    with ways.engine_of(world) as engine:
        turn = SessionContext(
            latest_user_message=ways.PROMPT,
            working_directory=str(world.folder),
            project_root=str(world.folder),
            repository_id="orchard-api",
            profile_id="project:orchard-api",
        )
        result = engine.build_retrieval_context(turn, today=day, max_bytes=14_000, max_records=12)
    return ways.answer(result.to_dict())


def test_the_turn_itself_is_right(right, day):
    assert right.rules == ["mem_secrets"] and right.contested == ["mem_disputed"]
    assert set(right.selected) == {"mem_who", "mem_here", "mem_mine", "mem_unheard"}
    assert (
        f"\n## Daily Log ({day.isoformat()})\n" in right.block
        and "settled the ledger incident" in right.block
    )
    assert "\n## Today's Sessions\n- [orchard-api] Ledger; run it twice\n" in right.block
    assert "⚠️ AVOID: [conf 0.90] Print tokens" in right.block
    assert "⚠️ CONTESTED: [mem_disputed, conf 0.90] AVOID: Settle payments" in right.block
    assert " [anti_pattern]] Settle ledger payments by hand" in right.block
    assert [trace[3] for trace in right.traces] == [
        {"mem_disputed": "status:contested", "mem_gone": "status:superseded"},
        {"mem_yours": "profile_mismatch:project:lumen-app"},
        {"mem_elsewhere": "project_scope_mismatch:lumen-app"},
        {"mem_quiet": "does_not_apply_when:print tokens"},
    ]


@pytest.mark.parametrize("door", ways.DOORS, ids=lambda door: door.__name__)
def test_every_door_gives_the_same_turn(door, world, right, day):
    found = door(world)
    if utc_day() != day:
        pytest.skip("the day changed during the test")
    why = SAYS_LESS.get(door.__name__)
    assert found.block.strip() == right.block.strip()
    if why in (TEXT_ALONE, A_CONVERSATION):
        assert found == Answer(found.block)
        return
    assert (found.selected, found.rules, found.contested) == (right.selected, right.rules, right.contested)
    assert found.traces == _told(right.traces, why)


def _told(traces, why):
    """What a door tells of the traces, where it tells less than all."""
    if why == COUNTS:
        return [trace[:3] for trace in traces]
    if why == ONE_PLACE:
        return [(*trace[:3], {} if trace[0] in OTHERS else trace[3]) for trace in traces]
    return traces


def test_no_reason_is_left_over():
    assert SAYS_LESS.keys() <= {door.__name__ for door in ways.DOORS}
