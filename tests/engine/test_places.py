from __future__ import annotations

import pytest

from pi_rank.context import SessionContext
from pi_rank.places import Place, Places, find_place


def asked(**fields):
    return SessionContext(latest_user_message="hi", **fields)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "package.json").write_text('{"name": "@acme/app"}')
    made = tmp_path / "src"
    made.mkdir()
    return made


def test_a_working_directory_fills_in_profile_and_project(folder):
    turn = Places().placed(asked(working_directory=str(folder), thread_id="t1"))
    assert turn.profile_id == "project:acme-app"
    assert turn.repository_id == "@acme/app"
    assert turn.project_root == str(folder.parent.resolve())
    assert (turn.working_directory, turn.thread_id) == (str(folder), "t1")


@pytest.mark.parametrize("field", ["profile_id", "project_root", "repository_id"])
@pytest.mark.parametrize("said", ["mine", ""])
def test_what_the_turn_says_itself_is_kept(folder, field, said):
    turn = Places().placed(asked(working_directory=str(folder), **{field: said}))
    assert getattr(turn, field) == said
    assert None not in (turn.profile_id, turn.project_root, turn.repository_id)


@pytest.mark.parametrize("nowhere", [None, ""])
def test_without_a_working_directory_nothing_is_filled_in(nowhere):
    turn = asked(working_directory=nowhere)
    assert Places().placed(turn) is turn


@pytest.mark.parametrize(
    "path", ["C:\\work\\Orchard API", "C:/work/Orchard API/", "\\\\server\\share\\Orchard API"]
)
def test_a_folder_of_another_system_says_its_name_and_is_not_looked_up(path, tmp_path, monkeypatch):
    (tmp_path / "package.json").write_text('{"name": "the-one-of-this-process"}')
    monkeypatch.chdir(tmp_path)
    assert find_place(path) == Place("project:orchard-api", path, "Orchard API", None)


def test_pis_own_id_comes_along_where_it_is_another_one(tmp_path):
    folder = str(tmp_path / "заметки")
    assert find_place(folder) == Place("project:заметки", folder, "заметки", "default")
    assert find_place("C:\\work\\项目").pi_project_id == "default"
    assert find_place(str(tmp_path / "plain")).pi_project_id is None


@pytest.mark.parametrize(
    ("profile_id", "pi_project_id"),
    [(None, "default"), ("project:заметки", "default"), ("project:other", None), ("", None)],
)
def test_pis_own_id_belongs_to_the_folders_profile(tmp_path, profile_id, pi_project_id):
    turn = Places().placed(asked(working_directory=str(tmp_path / "заметки"), profile_id=profile_id))
    assert turn.pi_project_id == pi_project_id


def test_a_project_that_is_given_a_name_is_known_under_it_soon(folder, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("time.perf_counter", lambda: clock[0])
    places = Places()
    turn = asked(working_directory=str(folder))
    assert places.placed(turn).profile_id == "project:acme-app"
    (folder.parent / "package.json").write_text('{"name": "renamed"}')
    assert places.placed(turn).profile_id == "project:acme-app"
    clock[0] += 1.0
    assert places.placed(turn).profile_id == "project:renamed"
