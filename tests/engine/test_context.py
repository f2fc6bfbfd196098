from __future__ import annotations

import pytest

from pi_rank.context import SessionContext, context_from_json, project_keys
from pi_rank.errors import ContextError


def test_a_turn_from_json_ignores_keys_it_does_not_know():
    turn = context_from_json({"latest_user_message": "hi", "recent_files_touched": ["a.py"], "mood": "good"})
    assert turn == SessionContext(latest_user_message="hi", recent_files_touched=("a.py",))


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ({}, "latest_user_message"),
        ({"latest_user_message": 5}, "latest_user_message"),
        ({"latest_user_message": "x", "recent_files_touched": "a.py"}, "recent_files_touched"),
        ({"latest_user_message": "x", "thread_id": 3}, "thread_id"),
        ([], "array"),
        ("hi", "str"),
    ],
)
def test_a_turn_that_is_none_is_refused_by_name(value, named):
    with pytest.raises(ContextError, match=named):
        context_from_json(value)


@pytest.mark.parametrize(
    "fields",
    [
        {"latest_user_message": None},
        {"latest_user_message": b"hi"},
        {"latest_user_message": "hi", "project_root": 3},
        {"latest_user_message": "hi", "detected_domain_tags": "ui"},
        {"latest_user_message": "hi", "detected_domain_tags": [1]},
    ],
)
def test_wrong_types_are_refused_in_python_too(fields):
    with pytest.raises(ContextError, match="expected a"):
        SessionContext(**fields)


def test_lists_become_tuples_and_half_emoji_become_encodable():
    turn = SessionContext(latest_user_message="ship \ud83d it 😀", recent_files_touched=["a\udcff.py"])
    assert turn.latest_user_message == "ship \ufffd it 😀"
    assert turn.recent_files_touched == ("a\ufffd.py",)


@pytest.mark.parametrize(
    ("fields", "keys"),
    [
        ({"repository_id": "acme my-app"}, {"acme-my-app"}),
        ({"project_root": "C:\\code\\App\\"}, {"app"}),
        ({"project_root": "/src/app", "working_directory": "/src/app/packages/ui/"}, {"app", "ui"}),
        ({"working_directory": "/work/项目"}, {"项目"}),
        ({"working_directory": "/"}, set()),
        ({"repository_id": "???"}, set()),
        ({"profile_id": "project:Orchard API"}, {"orchard-api"}),
        ({"profile_id": "project:项目", "working_directory": "/work/ui"}, {"项目", "ui"}),
        ({"profile_id": "user:orchard-api"}, set()),
        ({"profile_id": "project:"}, set()),
        ({}, set()),
    ],
)
def test_project_keys(fields, keys):
    assert project_keys(SessionContext(latest_user_message="x", **fields)) == keys
