"""Installing and uninstalling in files with content of others: equal to the byte afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pi_rank.agents.hosts import HOSTS
from pi_rank.agents.install.targets import Request, targets
from pi_rank.cli.program import main

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SETTINGS = """\
{
  // what I changed
  "model": "opus", /* , */
  "hooks": {
    "UserPromptSubmit": [
      { "hooks": [{ "type": "command", "command": "date" }] }, // mine
    ],
    "BeforeAgent": [{ "hooks": [] }]
  },
  "mcpServers": { "other": { "command": "x" } },
  "mcp": {},
}
"""
TOML = """\
model = "gpt" # mine

[[hooks.UserPromptSubmit]]
[[hooks.UserPromptSubmit.hooks]]
type = "command"
command = "date"

[mcp_servers.other]
command = "x"
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    folder = tmp_path / "home"
    project = tmp_path / "project"
    for each in (folder, project):
        each.mkdir()
    for name in (
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "PI_CODING_AGENT_DIR",
        "XDG_CONFIG_HOME",
        "PI_MEMORY_ROOT",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(project)
    return folder


def wanted(agent, scope, mcp=True):
    return targets(Request(agent, scope, Path.cwd(), os.environ, mcp=mcp))


def paths(agent, scope="user"):
    return list(dict.fromkeys(target.path for target in wanted(agent, scope)))


def configs(agent, scope="user"):
    """The agent's configuration files, of JSON or TOML, with content of others."""
    found = [target.path for target in wanted(agent, scope) if not target.whole]
    for path in dict.fromkeys(found):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((TOML if path.suffix == ".toml" else SETTINGS).encode())
    return list(dict.fromkeys(found))


def snapshot(folder):
    return {path: path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))}


every = pytest.mark.parametrize("agent", HOSTS)
scopes = pytest.mark.parametrize("scope", ["user", "project"])


@every
@scopes
def test_into_an_empty_home_and_out_again(home, tmp_path, agent, scope, capsys):
    before = snapshot(home), snapshot(Path.cwd())
    assert main(["install", agent, f"--{scope}"]) == 0
    diff = capsys.readouterr().out
    for path in paths(agent, scope):
        assert path.exists()
        assert f"+++ {path}" in diff
        assert path.stat().st_mode & 0o077 == 0
    installed = snapshot(home), snapshot(Path.cwd())
    assert main(["install", agent, f"--{scope}"]) == 0
    said = capsys.readouterr()
    assert (said.out, snapshot(home), snapshot(Path.cwd())) == ("", *installed)
    assert "has it already" in said.err
    assert main(["uninstall", agent, f"--{scope}"]) == 0
    assert (snapshot(home), snapshot(Path.cwd())) == before
    capsys.readouterr()
    assert main(["uninstall", agent, f"--{scope}"]) == 0
    assert "has nothing of pi-rank" in capsys.readouterr().err


@every
@scopes
def test_into_files_of_others_and_out_again(home, agent, scope, capsys):
    files = configs(agent, scope)
    before = snapshot(home), snapshot(Path.cwd())
    assert main(["install", agent, f"--{scope}", "--dry-run"]) == 0
    dry = capsys.readouterr().out
    assert (snapshot(home), snapshot(Path.cwd())) == before
    assert main(["install", agent, f"--{scope}"]) == 0
    assert capsys.readouterr().out == dry
    for path in files:
        rest = iter(path.read_text("utf-8"))
        assert all(sign in rest for sign in (TOML if path.suffix == ".toml" else SETTINGS))
        assert "pi_rank" in path.read_text("utf-8")
    assert main(["uninstall", agent, f"--{scope}"]) == 0
    assert (snapshot(home), snapshot(Path.cwd())) == before


@every
def test_what_others_wrote_meanwhile_stays(home, agent):
    files = configs(agent)
    assert main(["install", agent]) == 0
    expected = {}
    for path in files:
        text = path.read_text("utf-8")
        line, more = (
            ("model = ", "# later\nmodel = ")
            if path.suffix == ".toml"
            else ("  // what", '  "later": [1],\n  // what')
        )
        path.write_text(text.replace(line, more, 1), "utf-8")
        expected[path] = (TOML if path.suffix == ".toml" else SETTINGS).replace(line, more, 1)
    assert main(["uninstall", agent]) == 0
    assert {path: path.read_text("utf-8") for path in files} == expected


def test_a_file_that_the_agent_wrote_anew_is_found_by_its_commands(home):
    (settings, _) = configs("claude-code")
    assert main(["install", "claude-code"]) == 0
    from pi_rank.agents.install.jsonc import parse

    value = parse(settings.read_text("utf-8")).value
    settings.write_text(json.dumps(value, indent=4), "utf-8")
    assert main(["uninstall", "claude-code"]) == 0
    left = json.loads(settings.read_text("utf-8"))
    assert left == parse(SETTINGS).value


def test_another_installation_is_replaced_and_no_hook_stands_twice(home, capsys):
    assert main(["install", "claude-code", "--no-mcp"]) == 0
    settings = home / ".claude" / "settings.json"
    settings.write_text(settings.read_text("utf-8").replace(sys.executable, "/old/python"), "utf-8")
    assert main(["installed"]) == 0
    assert "installed by another version or place" in capsys.readouterr().out
    assert main(["install", "claude-code", "--no-mcp"]) == 0
    text = settings.read_text("utf-8")
    assert "/old/python" not in text
    assert text.count("hook claude-code") == 2  # of two events
    assert main(["install", "claude-code", "--no-mcp", "--deadline-ms", "9000"]) == 0
    value = json.loads(settings.read_text("utf-8"))
    (entry,) = value["hooks"]["UserPromptSubmit"]
    assert "--deadline-ms 9000" in entry["hooks"][0]["command"]
    assert entry["hooks"][0]["timeout"] == 11


def test_the_command_runs_as_the_shell_of_an_agent_runs_it(home):
    assert main(["install", "claude-code", "--no-mcp"]) == 0
    value = json.loads((home / ".claude" / "settings.json").read_text("utf-8"))
    command = value["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"]
    for line in (
        command,
        command.replace("launch.py", "gone.py"),
        command.replace(sys.executable, "/nowhere/python"),
    ):
        done = subprocess.run(["/bin/sh", "-c", line], input=b"{}", capture_output=True, cwd=home)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_repository_cannot_put_its_modules_in_our_place(home):
    """An agent starts hooks and servers in a folder that others have filled."""
    for name in ("pi_rank", "site", "io", "_socket", "argparse"):
        Path(f"{name}.py").write_text("open('taken', 'w')\n")
    assert main(["install", "claude-code", "--project"]) == 0
    hooks = json.loads(Path(".claude/settings.local.json").read_text("utf-8"))["hooks"]
    line = hooks["UserPromptSubmit"][0]["hooks"][0]["command"]
    event = b'{"hook_event_name": "UserPromptSubmit", "prompt": "How do we deploy?"}'
    assert subprocess.run(["/bin/sh", "-c", line], input=event, capture_output=True).returncode == 0
    server = json.loads(Path(".mcp.json").read_text("utf-8"))["mcpServers"]["pi-rank"]
    words = [server["command"], *server["args"][:-1], "--version"]
    assert subprocess.run(words, capture_output=True, text=True).stdout.startswith("pi-rank ")
    assert not Path("taken").exists()


def test_codex_reads_what_was_written(home):
    (config,) = configs("codex")
    assert main(["install", "codex"]) == 0
    value = tomllib.loads(config.read_text("utf-8"))
    assert value["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"] == "date"
    assert len(value["hooks"]["UserPromptSubmit"]) == 2
    assert value["mcp_servers"].keys() == {"other", "pi-rank"}


REFUSED = {
    "no JSON": (b'{"hooks": [', "line 1"),
    "not UTF-8": (b'{"a": "\xff"}', "not UTF-8"),
    "hooks is a list": (b'{"hooks": []}', "hooks is not an object"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_file_that_cannot_be_changed_safely_is_left_alone(home, kind, capsys):
    data, message = REFUSED[kind]
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_bytes(data)
    before = snapshot(home)
    assert main(["install", "claude-code"]) == 1
    said = capsys.readouterr().err
    assert str(settings) in said
    assert message in said
    assert snapshot(home) == before


def test_toml_that_leaves_no_room_is_left_alone(home, capsys):
    config = home / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text("hooks = {}\n")
    assert main(["install", "codex"]) == 1
    assert "add them yourself" in capsys.readouterr().err
    assert config.read_text() == "hooks = {}\n"


def test_a_read_only_file_stays_as_it_is(home, capsys):
    settings, _ = configs("claude-code")
    settings.chmod(0o444)
    assert main(["install", "claude-code", "--no-mcp"]) == 1
    assert "read-only" in capsys.readouterr().err
    assert settings.read_text("utf-8") == SETTINGS


def test_a_link_stays_a_link_and_a_broken_one_is_named(home, tmp_path, capsys):
    settings, _ = configs("claude-code")
    real = tmp_path / "dotfiles.json"
    settings.rename(real)
    real.chmod(0o640)
    settings.symlink_to(real)
    assert main(["install", "claude-code", "--no-mcp"]) == 0
    assert settings.is_symlink()
    assert "pi_rank" in real.read_text("utf-8")
    assert real.stat().st_mode & 0o777 == 0o640
    assert main(["uninstall", "claude-code", "--no-mcp"]) == 0
    assert real.read_text("utf-8") == SETTINGS
    assert settings.is_symlink()
    real.unlink()
    assert main(["install", "claude-code", "--no-mcp"]) == 1
    assert "is a link to" in capsys.readouterr().err


def test_an_extension_that_is_not_ours_is_left_alone(home, capsys):
    (path,) = paths("pi")
    path.parent.mkdir(parents=True)
    path.write_text("export default 1;\n")
    assert main(["install", "pi"]) == 1
    assert "not ours" in capsys.readouterr().err
    assert main(["uninstall", "pi"]) == 0
    assert path.read_text() == "export default 1;\n"


def test_an_extension_that_its_user_changed_is_kept_aside(home, tmp_path):
    (path,) = paths("pi")
    assert main(["install", "pi"]) == 0
    changed = path.read_text("utf-8") + "// mine\n"
    path.write_text(changed, "utf-8")
    assert main(["uninstall", "pi"]) == 0
    assert not path.exists()
    assert changed in [copy.read_text("utf-8") for copy in (tmp_path / "data").rglob("*.ts")]


def test_what_is_installed_is_listed(home, capsys):
    assert main(["install", "pi", "--project"]) == 0
    capsys.readouterr()
    assert main(["installed", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["agents"]
    assert [(row["agent"], row["for"]) for row in rows if row["state"] == "installed"] == [("pi", "project")]
    assert {row["state"] for row in rows} == {"installed", "not installed"}


def test_as_json_the_changes_are_one_value(home, capsys):
    for command in ("install", "uninstall"):
        assert main([command, "pi", "--json"]) == 0
        (change,) = json.loads(capsys.readouterr().out)
        assert change["file"].endswith("pi-rank.ts")
        assert change["diff"]
