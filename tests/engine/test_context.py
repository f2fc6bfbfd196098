from __future__ import annotations

import pytest

from pi_rank.context import SessionContext, context_from_json, project_keys, resolve_context
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


def test_resolving_fills_in_profile_and_project_but_overrides_nothing(tmp_path):
    (tmp_path / "package.json").write_text('{"name": "@acme/app"}')
    folder = tmp_path / "src"
    folder.mkdir()
    turn = resolve_context("hi", folder, thread_id="t1", task_intent=None)
    assert turn.profile_id == "project:acme-app"
    assert turn.repository_id == "@acme/app"
    assert turn.project_root == str(tmp_path.resolve())
    assert turn.working_directory == str(folder)
    assert turn.thread_id == "t1"
    assert resolve_context("hi", folder, profile_id="project:mine").profile_id == "project:mine"


def test_without_a_working_directory_nothing_is_resolved():
    assert resolve_context("hi") == SessionContext(latest_user_message="hi")


def test_an_unknown_field_is_refused():
    with pytest.raises(ContextError, match="mood"):
        resolve_context("hi", mood="good")


@pytest.mark.parametrize(
    ("fields", "keys"),
    [
        ({"repository_id": "acme my-app"}, {"acme-my-app"}),
        ({"project_root": "C:\\code\\App\\"}, {"app"}),
        ({"project_root": "/src/app", "working_directory": "/src/app/packages/ui/"}, {"app", "ui"}),
        ({"working_directory": "/work/项目"}, {"项目"}),
        ({"working_directory": "/"}, set()),
        ({"repository_id": "???"}, set()),
        ({}, set()),
    ],
)
def test_project_keys(fields, keys):
    assert project_keys(SessionContext(latest_user_message="x", **fields)) == keys
