"""Records that PI wrote under its own id of a project apply where we know the project by another one."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from pi_rank import SessionContext
from pi_rank.memory.project import resolve_project
from tests.support.memory import engine_on


def ask(engine, folder, **fields):
    turn = SessionContext(latest_user_message="how do we deploy?", working_directory=str(folder), **fields)
    return engine.build_retrieval_context(turn)


def found(result):
    return sorted(hit.id for hit in result.selected)


def admitted(result):
    return {
        trace.processor: dict(trace.admission_reasons) for trace in result.traces if trace.admission_reasons
    }


RECORDS = [
    {"id": "mem_ours", "statement": "deploy ours", "profile_id": "project:заметки"},
    {"id": "mem_pis", "statement": "deploy as PI says", "profile_id": "project:default"},
    {"id": "mem_scope", "statement": "deploy here", "scope": {"type": "project", "project": "default"}},
    {"id": "mem_named", "statement": "deploy by name", "scope": {"type": "project", "project": "Заметки"}},
    {"id": "mem_other", "statement": "deploy elsewhere", "profile_id": "project:other"},
    {"id": "mem_open", "statement": "deploy maybe", "status": "contested", "profile_id": "project:default"},
]


def test_a_project_named_in_another_script(tmp_path):
    with engine_on(tmp_path, RECORDS) as engine:
        result = ask(engine, tmp_path / "заметки")
        assert found(result) == ["mem_named", "mem_ours", "mem_pis", "mem_scope"]
        assert admitted(result) == {
            "ProfileScopeProcessor": {"mem_pis": "pi_profile:project:default"},
            "BasicScopeProcessor": {"mem_scope": "pi_project:default"},
        }
        assert [record.id for record in result.contested] == ["mem_open"]
        assert result.to_dict()["traces"][1]["admission_reasons"] == {"mem_pis": "pi_profile:project:default"}
        assert "admission_reasons" not in result.to_dict()["traces"][0]


def test_a_project_that_pi_calls_as_we_do_is_not_widened(tmp_path):
    with engine_on(tmp_path, RECORDS) as engine:
        result = ask(engine, tmp_path / "notes")
        assert (found(result), admitted(result)) == ([], {})
        named = ask(engine, tmp_path / "заметки", profile_id="project:other")
        assert (found(named), admitted(named)) == (["mem_named", "mem_other"], {})


def test_a_batch_widens_the_same(tmp_path):
    with engine_on(tmp_path, RECORDS) as engine:
        turn = SessionContext(
            latest_user_message="how do we deploy?", working_directory=str(tmp_path / "заметки")
        )
        (batched,) = engine.retrieve_batch([turn])
        assert admitted(batched) == admitted(engine.build_retrieval_context(turn))


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_worktree_that_git_made(tmp_path):
    main, fix = tmp_path / "orchard", tmp_path / "orchard-fix"
    main.mkdir()
    identity = ["-c", "user.name=Mina", "-c", "user.email=mina@example.com"]
    for arguments in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "One"]):
        subprocess.run(["git", *identity, *arguments], cwd=main, check=True)
    subprocess.run(["git", "worktree", "add", "-q", str(fix)], cwd=main, check=True, capture_output=True)
    in_main, in_fix = resolve_project(main), resolve_project(fix)
    assert in_main.id == in_main.pi_id == in_fix.id != in_fix.pi_id
    records = [
        {"id": "mem_main", "statement": "deploy main", "profile_id": f"project:{in_main.pi_id}"},
        {"id": "mem_fix", "statement": "deploy the fix", "profile_id": f"project:{in_fix.pi_id}"},
        {
            "id": "mem_scope",
            "statement": "deploy anywhere",
            "scope": {"type": "project", "project": "orchard"},
        },
    ]
    with engine_on(tmp_path, records) as engine:
        assert found(ask(engine, main)) == ["mem_main", "mem_scope"]
        result = ask(engine, fix)
        assert found(result) == ["mem_fix", "mem_main", "mem_scope"]
        assert admitted(result) == {
            "ProfileScopeProcessor": {"mem_fix": f"pi_profile:project:{in_fix.pi_id}"}
        }
