from __future__ import annotations

import hashlib

import pytest

from pi_rank.errors import ConfigError, ContextError
from pi_rank.memory.project import resolve_project, slug

URL = "git@example.com:acme/app.git"
GIT_ID = "git-" + hashlib.sha256(URL.encode()).hexdigest()[:16]


def settings(folder, text):
    (folder / ".pi").mkdir(parents=True, exist_ok=True)
    (folder / ".pi" / "settings.json").write_text(text, encoding="utf-8")


def repository(folder, config=f'[core]\n\tbare = false\n[remote "origin"]\n\turl = {URL}\n'):
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text(config, encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("项目", "项目"),
        ("Проект Альфа", "проект-альфа"),
        ("ＡＢＣ", "abc"),
        ("Café", "café"),
        ("Cafe\u0301", "café"),
        ("हिन्दी", "हिन्दी"),
        ("Straße", "strasse"),
        ("🚀", "🚀"),
        ("🚀 app", "app"),
        ("???", ""),
        ("", ""),
        ("my_app2", "my-app2"),
    ],
)
def test_slug(text, expected):
    assert slug(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        '{"pi-persistent-intelligence": {"projectIdentity": {"project_id": "My App"}}}',
        '{"projectIdentity": "My App"}',
        '\ufeff{"projectIdentity": "my-app"}',
    ],
)
def test_explicit_identity_comes_first(tmp_path, text):
    repository(tmp_path)
    settings(tmp_path, text)
    (tmp_path / "src").mkdir()
    for folder in (tmp_path, tmp_path / "src"):
        project = resolve_project(folder)
        assert (project.id, project.source) == ("my-app", "settings")


def test_settings_above_the_git_root_are_another_projects(tmp_path):
    settings(tmp_path, '{"projectIdentity": "outer"}')
    repository(tmp_path / "inner")
    assert resolve_project(tmp_path / "inner").id == GIT_ID


def test_origin_url_then_git_root(tmp_path):
    repository(tmp_path / "app")
    (tmp_path / "app" / "package.json").write_text('{"name": "ui"}')
    project = resolve_project(tmp_path / "app" / "src" / "deep")  # need not exist
    assert (project.id, project.source, project.name) == (GIT_ID, "git-remote", "ui")
    assert project.root == (tmp_path / "app").resolve()
    repository(tmp_path / "local", "[core]\n")
    root = str((tmp_path / "local").resolve())
    expected = "gitroot-" + hashlib.sha256(root.encode()).hexdigest()[:16]
    assert resolve_project(tmp_path / "local").id == expected


@pytest.mark.parametrize(
    "config",
    [
        f'[remote "upstream"]\n\turl = x\n[Remote "origin"]\n\tfetch = +refs\n\tURL={URL}\n\turl = second\n',
        f'[remote "origin"]\r\n  url = "{URL}"\r\n',
    ],
)
def test_the_origin_is_found_however_the_config_is_written(tmp_path, config):
    repository(tmp_path, config)
    assert resolve_project(tmp_path).id == GIT_ID


def test_a_worktree_has_the_origin_of_its_repository(tmp_path):
    repository(tmp_path / "main")
    private = tmp_path / "main" / ".git" / "worktrees" / "wt"
    private.mkdir(parents=True)
    (private / "commondir").write_text("../..\n")
    (tmp_path / "wt").mkdir()
    (tmp_path / "wt" / ".git").write_text(f"gitdir: {private}\n")
    assert resolve_project(tmp_path / "wt").id == GIT_ID


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("package.json", '{"name": "@Acme/App"}', "acme-app"),
        ("package.json", "not json", "folder"),
        ("package.json", '["a"]', "folder"),
        ("pyproject.toml", '[project]\nname = "My.Lib"\n', "my-lib"),
        ("pyproject.toml", '[tool.poetry]\nname = "verse"\n', "verse"),
        ("pyproject.toml", "[broken", "folder"),
    ],
)
def test_package_name(tmp_path, file, text, expected):
    folder = tmp_path / "Folder"
    folder.mkdir()
    (folder / file).write_text(text)
    project = resolve_project(folder)
    assert (project.id, project.source) == (expected, "package")


def test_folder_name_last(tmp_path):
    project = resolve_project(tmp_path / "не репозиторий")
    assert (project.id, project.source) == ("не-репозиторий", "folder")
    assert resolve_project("/").id == "folder-" + hashlib.sha256(b"/").hexdigest()[:16]


def test_a_package_file_in_the_home_folder_names_no_other_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "package.json").write_text('{"name": "stray"}')
    assert resolve_project(tmp_path / "notes").id == "notes"


@pytest.mark.parametrize("text", ["{", "[]", ""])
def test_settings_that_cannot_be_read_are_not_passed_over(tmp_path, text):
    settings(tmp_path, text)
    with pytest.raises(ConfigError, match=r"settings\.json"):
        resolve_project(tmp_path)


def test_a_path_that_cannot_be_one(tmp_path):
    with pytest.raises(ContextError, match="not a usable path"):
        resolve_project("a\0b")
