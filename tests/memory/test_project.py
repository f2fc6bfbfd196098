from __future__ import annotations

import hashlib
import json
import os

import pytest

from pi_rank.errors import ConfigError, ContextError
from pi_rank.memory.project import Project, resolve_project, slug

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


def worktree(folder, git_directory):
    private = git_directory / "worktrees" / folder.name
    private.mkdir(parents=True)
    (private / "commondir").write_text("../..\n")
    folder.mkdir()
    (folder / ".git").write_text(f"gitdir: {private}\n")
    return folder


def root_id(folder):
    return "gitroot-" + hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]


def test_a_worktree_is_its_repositorys(tmp_path):
    repository(tmp_path / "app")
    folder = worktree(tmp_path / "app-fix", tmp_path / "app" / ".git")
    project = resolve_project(folder / "src")
    assert project == Project(GIT_ID, "git-remote", folder.resolve(), "app", pi_id=root_id(folder))
    main = resolve_project(tmp_path / "app")
    assert (main.id, main.name, main.pi_id) == (project.id, project.name, project.id)


def test_a_worktree_of_a_repository_without_a_remote(tmp_path):
    repository(tmp_path / "app", "[core]\n")
    folder = worktree(tmp_path / "app-fix", tmp_path / "app" / ".git")
    project = resolve_project(folder)
    assert (project.id, project.source, project.name) == (root_id(tmp_path / "app"), "git-root", "app")
    assert project.pi_id == root_id(folder)
    assert resolve_project(tmp_path / "app").id == project.id


def test_a_worktree_of_a_bare_repository(tmp_path):
    bare = tmp_path / "app.git"
    bare.mkdir()
    (bare / "config").write_text(f'[remote "origin"]\n\turl = {URL}\n')
    project = resolve_project(worktree(tmp_path / "fix", bare))
    assert (project.id, project.name) == (GIT_ID, "app")


@pytest.mark.parametrize("text", ["", "gitdir: nowhere", "gitdir: \0", "gitdir: ."])
def test_a_git_file_that_leads_nowhere(tmp_path, text):
    (tmp_path / ".git").write_text(text)
    project = resolve_project(tmp_path)
    assert project.id == project.pi_id == root_id(tmp_path)
    assert project.name == tmp_path.name


def test_a_submodule_is_a_project_of_its_own(tmp_path):
    repository(tmp_path / "app", "[core]\n")
    modules = tmp_path / "app" / ".git" / "modules" / "lib"
    modules.mkdir(parents=True)
    (modules / "config").write_text(f'[remote "origin"]\n\turl = {URL}\n')
    folder = tmp_path / "app" / "lib"
    folder.mkdir()
    (folder / ".git").write_text("gitdir: ../.git/modules/lib\n")
    project = resolve_project(folder)
    assert (project.id, project.name, project.pi_id) == (GIT_ID, "lib", root_id(folder))


@pytest.mark.parametrize(
    ("name", "pi_id"),
    [
        ("заметки", "default"),
        ("项目", "default"),
        ("Café Müller", "caf-m-ller"),
        ("my_app2", "my-app2"),
        ("--", "default"),
        ("Straße", "stra-e"),
    ],
)
def test_pis_id_of_a_folder_has_latin_letters_only(tmp_path, name, pi_id):
    assert resolve_project(tmp_path / name).pi_id == pi_id
    (tmp_path / "package.json").write_text(json.dumps({"name": f" {name} "}), encoding="utf-8")
    project = resolve_project(tmp_path / "src")
    assert (project.id, project.pi_id) == (slug(name) or "src", pi_id)


def test_pi_looks_for_settings_in_the_folder_itself_and_under_its_own_name(tmp_path):
    settings(tmp_path, '{"pi-persistent-intelligence": {"projectIdentity": {"project_id": "Проект X"}}}')
    project = resolve_project(tmp_path)
    assert (project.id, project.pi_id) == ("проект-x", "x")
    below = resolve_project(tmp_path / "src")
    assert (below.id, below.pi_id) == ("src", "src")  # without a repository a folder is its own project
    settings(tmp_path, '{"projectIdentity": "My App"}')
    assert resolve_project(tmp_path).pi_id == slug(tmp_path.name)


def test_pi_knows_no_pyproject_and_no_end_of_a_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    lib = tmp_path / "lib"
    lib.mkdir()
    (lib / "pyproject.toml").write_text('[project]\nname = "My.Lib"\n')
    assert resolve_project(lib / "src").pi_id == "src"
    (tmp_path / "package.json").write_text('{"name": "stray"}')
    project = resolve_project(lib / "src")
    assert (project.id, project.pi_id) == ("my-lib", "stray")


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


def _pipe(path):
    os.mkfifo(path)


def _device(path):
    path.symlink_to("/dev/zero")


def _folder(path):
    path.mkdir()


def _sparse(path):
    with path.open("wb") as file:
        file.truncate(40 << 30)


def _nested(path):
    path.write_text("x = " + "[" * 5_000 + "]" * 5_000)


def _nul(path):
    path.write_text("gitdir: \0x")


def _upwards(path):
    path.write_text("gitdir: " + "../" * 3_000)


def _long_name(path):
    path.write_text('{"name": "' + "a" * 1_000 + '"}')


def _huge_name(path):
    path.write_text('{"name": "' + "a" * 10_000_000 + '"}')


def _half(path):
    path.write_text('{"name": "\\ud800"}')


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize(
    "make", [_pipe, _device, _folder, _sparse, _nested, _nul, _upwards, _long_name, _huge_name]
)
@pytest.mark.parametrize("name", ["package.json", "pyproject.toml", ".git", ".git/config"])
def test_whatever_a_folder_holds_it_only_names_nothing(tmp_path, name, make):
    folder = tmp_path / "app"
    (folder / name).parent.mkdir(parents=True)
    make(folder / name)
    project = resolve_project(folder)
    assert project.name == "app"
    assert project.id == "app" or project.id.startswith("gitroot-")
    assert project.root == folder


def test_half_a_character_in_a_name_is_no_error(tmp_path):
    _half(tmp_path / "package.json")
    resolve_project(tmp_path)
